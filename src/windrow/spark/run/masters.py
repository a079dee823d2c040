"""Spark's masters: which of them mean a cluster, and what a run there needs. No Spark is loaded."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping

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


LIMITED = ("yarn", "k8s://")
"""Masters that end an executor whose processes take more memory than was asked for."""
OVERHEAD = "spark.executor.memoryOverhead"


def memory_for_python(master: str, settings: Mapping[str, str]) -> dict[str, str]:
    """What to ask for beside the virtual machine, if the user has not said it: 1 GB per core.

    Windows live in Python workers, one per core, while Spark would ask for a tenth of Java's.

    >>> memory_for_python("yarn", {"spark.executor.cores": "4"})
    {'spark.executor.memoryOverhead': '4g'}
    >>> memory_for_python("spark://h:7077", {}), memory_for_python("yarn", {OVERHEAD: "2g"})
    ({}, {})
    """
    given = OVERHEAD in settings or f"{OVERHEAD}Factor" in settings
    if given or not master.startswith(LIMITED):
        return {}
    cores = settings.get("spark.executor.cores", "1")
    return {OVERHEAD: f"{cores}g"} if cores.isdigit() else {}


def private_checkpoint(master: str) -> InputError:
    """What to say of a run on a cluster whose checkpoint would be in the driver's own directory."""
    return InputError(
        where=f"a run on {master}",
        expected="a checkpoint: workers keep the state of windows there",
        found="none",
        remedy="name a directory that driver and workers share, with --checkpoint or the argument "
        "`checkpoint`",
    )


STANDALONE = "spark://"
PATIENCE = 5.0
"""Seconds that a master may take to answer; Spark itself would wait for a minute."""


def refuse_silent_master(master: str) -> None:
    """InputError if nobody answers at any of the addresses of a standalone master."""
    if not master.startswith(STANDALONE):
        return
    reasons = []
    for address in master.removeprefix(STANDALONE).split(","):
        known = re.fullmatch(r"(.+):(\d+)/?", address.strip())
        if known is None:
            raise InputError(
                where="--master",
                expected="spark://HOST:PORT, or spark://HOST:PORT,HOST:PORT",
                found=repr(master),
            )
        try:
            socket.create_connection((known[1].strip("[]"), int(known[2])), PATIENCE).close()
        except (OSError, OverflowError) as failure:
            reasons.append(f"{address}: {getattr(failure, 'strerror', None) or failure}")
        else:
            return
    raise InputError(
        where=f"--master {master}",
        expected="a master of Spark's that answers",
        found="; ".join(reasons),
        remedy="copy the address from the master's web page or log, and see that it is reachable",
    )
