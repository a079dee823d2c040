"""Spark's masters: which of them mean a cluster, and what a run there needs. No Spark is loaded."""

from __future__ import annotations

import os
import re
import socket

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
