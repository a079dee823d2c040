"""Hypothesis profiles, and how tests are shared out among processes.

``ci`` is the default profile: the same examples on every run. ``all`` has more of them, for
`make test-all`. ``thorough`` looks for new ones: ``HYPOTHESIS_PROFILE=thorough pytest``.

No test waits for the disk. What a sync is for, no test in a process can bring about; disks that
forget what was not synced can (``tests/archive/support/disks.py``, ``tests/result_files/disk.py``).

With ``-n 2`` all files with tests that start Spark go to one process, so that it is started once,
and the others are dealt out one by one, those that take long first, so that no process ends much
later than the other.
"""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.support.altered import altered
from tests.support.thresholds import at_their_least
from windrow.archive.format import bucket_disk, disk
from windrow.object_store import local_copies
from windrow.result_files import atomic_files
from windrow.streams import quarantine

STARTING_SPARK = (
    "tests/spark/",
    "tests/cluster/",
    "tests/cli/test_commands.py",
    "tests/cli/test_rewind.py",
    "tests/docs/test_pages.py",
    "tests/conformance/test_conformance.py",
)
"""Where tests are that start Spark."""
ASKS_FOR_SPARK = re.compile(r"[(,]\s*spark\b[,:)]|^\s+spark[,:]|mark\.spark", re.MULTILINE)
"""In a file of theirs: the fixture, or the mark."""
PROPERTY = 50
"""How many times as long a test takes that Hypothesis repeats."""

for name, examples in {"ci": 40, "all": 200}.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.register_profile(
    "thorough",
    max_examples=1_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@cache
def share_of(file: str) -> str:
    """What must be in one process: all files that start Spark, or one file."""
    if file.startswith(STARTING_SPARK):
        text = (Path(__file__).parent.parent / file).read_text(encoding="utf-8")
        return "spark" if ASKS_FOR_SPARK.search(text) else file
    return file


class Shares(LoadScopeScheduling):
    """Tests that need Spark are one share, those of any other file another."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid.partition("::")[0])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In a process of several: long shares first, and that of Spark before all others."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    weights: Counter[str] = Counter()
    shares = {item: share_of(item.nodeid.partition("::")[0]) for item in items}
    for item, share in shares.items():
        repeated = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        weights[share] += PROPERTY if repeated else 1
    items.sort(key=lambda item: (shares[item] != "spark", -weights[shares[item]], shares[item]))


def pytest_collection_finish() -> None:
    """What modules and the list of tests hold stays; no collection of garbage looks at it again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At its end an interpreter frees what modules hold, and libraries look whether it does."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shares:
    """How tests are shared out among the processes of ``-n``: in the order that they are in."""
    config.option.loadscopereorder = False
    return Shares(config, log)


@pytest.fixture(autouse=True, scope="session")
def _no_waiting() -> Iterator[None]:
    """The modules that sync files open and close them, and do not wait."""
    unsynced = altered(os, fsync=lambda _: None)
    with pytest.MonkeyPatch.context() as patch:
        for module in (disk, bucket_disk, local_copies, atomic_files, quarantine):
            patch.setattr(module, "os", unsynced)
        yield


@pytest.fixture(scope="module")
def spark() -> Any:
    """One Spark for all modules; whoever stops it costs the next one a start."""
    from windrow.spark.run.session import spark_session  # noqa: PLC0415 - starts Java

    session = spark_session("local[2]", app="windrow-tests")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session


@pytest.fixture(params=["usual", "least"])
def sizes(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which values thresholds have."""
    if request.param == "usual":
        yield request.param
    else:
        with at_their_least():
            yield request.param
