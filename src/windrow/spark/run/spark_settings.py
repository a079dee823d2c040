"""Settings, modules and masters that a user gives to Spark, checked before Spark is started.

Spark passes over what it does not know and reports the rest from deep inside; what can be told from
the text is told here: which masters mean a cluster, and what a run there needs. No Spark is loaded.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from windrow.core.errors import InputError
from windrow.core.paths import has_scheme

ELSEWHERE = {
    "spark.master": "give it with --master, or the argument `master`",
    "spark.app.name": "leave it out: it is windrow, or the argument `app`",
    "spark.submit.pyFiles": "give modules with --py-files, or the argument `py_files`",
}
"""Settings that have a place of their own."""
OURS = {
    "spark.sql.streaming.minBatchesToRetain": "as long as Windrow keeps state",
    "spark.sql.adaptive.enabled": "off, since buckets have fixed partitions",
    "spark.sql.streaming.checkpointFileManagerClass": "what suits the checkpoint",
}
"""Settings that Windrow depends on, and their values in words."""
PATHS = ("spark.archives", "spark.files", "spark.jars", "spark.eventLog.dir", "spark.local.dir")
"""Settings whose values are paths, or lists of them; relative ones mean the current directory."""
MODULES = (".py", ".zip", ".egg", ".jar")


def parse_settings(pairs: Iterable[str], where: str = "--conf") -> dict[str, str]:
    """``KEY=VALUE`` of the command line; the last one of a key counts.

    >>> parse_settings(["spark.executor.memory=2g", "spark.executor.extraJavaOptions=-Da=b"])
    {'spark.executor.memory': '2g', 'spark.executor.extraJavaOptions': '-Da=b'}
    """
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InputError(
                where=where,
                expected="KEY=VALUE, such as spark.executor.memory=2g",
                found=repr(pair),
            )
        found[name.strip()] = value.strip()
    return check_settings(found, where)


def check_settings(settings: Mapping[str, object], where: str = "conf") -> dict[str, str]:
    """The settings as text, relative paths made whole; InputError for what cannot be set here."""
    checked = {}
    for name, value in settings.items():
        if not re.fullmatch(r"spark\.\S+", name):
            raise InputError(
                where=where,
                expected="a setting of Spark, whose name begins with spark.",
                found=f"{name!r}",
                remedy=f"did you mean spark.{name}?" if re.fullmatch(r"[\w.]+", name) else "",
            )
        if name in ELSEWHERE:
            raise InputError(where=where, found=name, remedy=ELSEWHERE[name])
        if name in OURS:
            raise InputError(
                where=where, found=name, remedy=f"leave it out: it is {OURS[name]}, always"
            )
        text = _text(value)
        if name == "spark.submit.deployMode" and text != "client":
            raise InputError(
                where=where,
                expected="client: queries are driven from here",
                found=f"{name}={text}",
                remedy="use spark-submit --deploy-mode cluster to run the driver on the cluster",
            )
        checked[name] = _whole_paths(text) if name in PATHS else text
    return checked


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _whole_paths(text: str) -> str:
    """Spark's own process does not run in the current directory where it runs on a cluster."""
    parts = (part.strip() for part in text.split(","))
    whole = (part if has_scheme(part) else str(Path(part).absolute()) for part in parts if part)
    return ",".join(whole)


def check_modules(files: Iterable[str | Path], where: str = "--py-files") -> list[str]:
    """Files for the workers' Python path, lists of them taken apart."""
    checked = []
    for name in (part.strip() for file in files for part in str(file).split(",")):
        if not name.endswith(MODULES):
            raise InputError(
                where=where,
                expected="files that end in .py, .zip or .egg",
                found=repr(name),
                remedy="a package in a directory has to be a zip file; packages with compiled code "
                "belong into the environment that `windrow pack` packs",
            )
        if has_scheme(name):
            checked.append(name)
            continue
        path = Path(name).absolute()
        if not path.is_file():
            raise InputError(where=where, expected="a file", found=f"{name}, which is not there")
        checked.append(str(path))
    return checked


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
