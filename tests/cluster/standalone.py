"""A standalone master and workers, each on a host of its own (``tests.cluster.worker_host``)."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.cluster.worker_host import Host
from windrow.spark.run import java

SPARK = Path(pyspark.__file__).parent
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
PATIENCE = 60.0


@dataclass(frozen=True)
class Cluster:
    """``workers`` by address; each has one core and 1 GB."""

    url: str
    base: Path
    workers: dict[str, Host]

    @property
    def shared(self) -> Path:
        return self.base / "shared"


@contextmanager
def standalone_cluster(base: Path, workers: int = 2) -> Iterator[Cluster]:
    """On loopback addresses, ports as they are free; ends with all that it has started."""
    (base / "shared").mkdir(parents=True)
    hosts: list[Host] = []

    def start(name: str, address: str, *command: str) -> Host:
        host = Host(base, name, SPARK, _java_home(base))
        hosts.append(host)
        host.start(*command, SPARK_LOCAL_IP=address)
        return host

    try:
        address = "127.0.0.1"
        ports = ("--host", address, "--port", "0", "--webui-port", "0")
        master = start("master", address, MASTER, *ports)
        url = _said(master, r"Starting Spark master at (spark://\S+)")
        found = {}
        for number in range(workers):
            address = f"127.0.0.{number + 2}"
            ports = ("--host", address, "--port", "0", "--webui-port", "0")
            sizes = ("--cores", "1", "--memory", "1g", "--work-dir", f"{base}/worker{number}/work")
            found[address] = start(f"worker{number}", address, WORKER, *ports, *sizes, url)
        for host in found.values():
            _said(host, r"(Successfully registered with master)")
        yield Cluster(url, base, found)
    finally:
        for host in reversed(hosts):
            host.kill()


def _said(host: Host, words: str) -> str:
    """What a host's log says, waited for."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := re.search(words, host.log.read_text(errors="replace")):
            return found[1]
        if host.process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(
        f"{host.name} did not start:\n{host.log.read_text(errors='replace')[-3000:]}"
    )


def _java_home(base: Path) -> Path:
    """A Java that hosts can have as a directory of their own."""
    found = java.find_java()
    if found.complete:
        return found.home.resolve()
    copy = base / "java"
    if not copy.exists():
        shutil.copytree(java._launcher_home(found), copy)
        shutil.copytree(found.home, copy / "runtime")
        launcher = copy / "bin" / "java"
        text = re.sub(r"exec \S+", 'exec "${0%/*}/../runtime/bin/java"', launcher.read_text())
        launcher.write_text(text)
    return copy
