"""``verify`` has nothing to say of any version that is published.

Of those in between either: after a day's switch and before what follows it, while a window moves on
by several days, before and after a migration, with an earlier layout that drains.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.archive.support.plain import SCHEMA, table
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.invariants import verify_grid
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    GridTechnique,
    Randomised,
    RoundRobin,
)
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.invariants import verify_window
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import KIND, TECHNIQUES


@pytest.fixture(scope="module", autouse=True)
def every_version_is_verified():
    publish = Versions.publish

    def publish_and_verify(self, manifest):
        publish(self, manifest)
        verify = verify_window if manifest.kind == KIND else verify_grid
        assert [str(problem) for problem in verify(self.disk, manifest)] == []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Versions, "publish", publish_and_verify)
        yield


def rows(dice, most=30):
    return table([(dice.choice("abc"), i) for i in range(dice.choice([0, 1, 2, 9, most]))])


def how(dice):
    return {
        "how": dice.choice(["drain", "rebuild"]),
        "format": dice.choice(["arrow", "arrow", "parquet"]),
    }


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_of_archives_of_days(seed):
    publish_versions_of_days(seed)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_of_many_more_archives_of_days(seed):
    publish_versions_of_days(seed)


def publish_versions_of_days(seed):
    dice = random.Random(seed)

    def layout():
        scheme, window = dice.choice(list(SCHEMES)), dice.randint(2, 12)
        n = dice.randint(SCHEMES[scheme].fewest, window)
        technique = dice.choice(TECHNIQUES)
        return {"scheme": scheme, "window": window, "n": n, "technique": technique}

    with tempfile.TemporaryDirectory() as folder:
        disk, growth = Disk(Path(folder)), dice.choice([1.1, 1.5, 2.0, 5.0])
        archive, now = Archive.create(disk, SCHEMA, "key", growth=growth, **layout()), 0
        for _ in range(20):
            step = dice.choices(["day", "ahead", "days", "migrate"], [12, 3, 3, 2])[0]
            if step == "day":
                archive.append(now + 1, rows(dice), now=now + 1)
                now += 1
            elif step == "ahead":
                archive.append(now + dice.randint(1, 6), rows(dice))
            elif step == "days":
                now += dice.choice([1, 2, 5, 9, 20])
                archive.advance(now)
            else:
                archive.migrate(**layout(), **how(dice))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_of_indexes_of_lifetimes(seed):
    publish_versions_of_lifetimes(seed)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_of_many_more_indexes_of_lifetimes(seed):
    publish_versions_of_lifetimes(seed)


def publish_versions_of_lifetimes(seed):
    dice = random.Random(seed)

    def grid():
        dealt = dice.choice([Chronological(), RoundRobin(), Randomised(5)])
        return Grid(dice.randint(1, 4), dice.randint(1, 4), dice.choice(list(GridTechnique)), dealt)

    with tempfile.TemporaryDirectory() as folder:
        disk, now, longest = Disk(Path(folder)), dice.randint(-30, 30), 20
        index = LifetimeIndex.create(
            disk, SCHEMA, "key", longest=20, interval=4, origin=dice.randint(-7, 7), grid=grid()
        )
        for _ in range(20):
            step = dice.choices(["insert", "advance", "migrate"], [14, 3, 3])[0]
            if step == "insert":
                now, records = now + dice.randint(0, 5), rows(dice, 40)
                ends = [now + dice.randint(-2, longest) for _ in range(len(records))]
                index.insert(now, records, pa.array(ends, pa.int64()))
            elif step == "advance":
                now += dice.choice([0, 1, 4, 8, 16, 40])
                index.advance(now)
            else:
                longest += dice.choice([0, 0, 4])
                index.migrate(grid=grid(), longest=longest, **how(dice))
