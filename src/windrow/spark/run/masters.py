"""Spark's masters: which of them mean a cluster, and what a run there needs. No Spark is loaded."""

from __future__ import annotations

import os

from windrow.core.errors import InputError


def is_cluster(master: str) -> bool:
    """Whether workers may be on other machines, as far as the master's address says.

    >>> [is_cluster(m) for m in ("local[2]", "local-cluster[2,1,1024]", "spark://h:7077", "yarn")]
    [False, False, True, True]
    """
    return not master.startswith("local")


def is_submitted() -> bool:
    """Whether spark-submit has started this process: then Java and the master are as it says."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def private_checkpoint(master: str) -> InputError:
    """What to say of a run on a cluster whose checkpoint would be in the driver's own directory."""
    return InputError(
        where=f"a run on {master}",
        expected="a checkpoint: workers keep the state of windows there",
        found="none",
        remedy="name a directory that driver and workers share, with --checkpoint or the argument "
        "`checkpoint`",
    )
