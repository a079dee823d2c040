"""Hypothesis profiles, and how tests are shared out among processes.

``ci`` is the default profile: the same examples on every run. ``thorough`` looks for new ones:
``HYPOTHESIS_PROFILE=thorough pytest``.

No test waits for the disk. What a sync is for, no test in a process can bring about; disks that
forget what was not synced can (``tests/archive/support/disks.py``, ``tests/result_files/disk.py``).

With ``-n 2`` all files with tests that start Spark go to one process, so that it is started once,
and the others are dealt out one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
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

settings.register_profile(
    "ci",
    max_examples=60,
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


class Shares(LoadScopeScheduling):
    """Tests that need Spark are one share, those of any other file another."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "spark" if file.startswith(STARTING_SPARK) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shares:
    """How tests are shared out among the processes of ``-n``."""
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
