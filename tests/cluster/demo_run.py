"""The demo on a cluster that loses a worker, and embedded: both answers."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.standalone import Cluster
from tests.cluster.worker_host import DIES_WITH_US
from tests.cluster.worker_kill import Application, Kill, free_port, kill_busy_worker
from tests.spark.scripts import net_changes
from windrow.cli.demo import below, script
from windrow.plan.program import compile_script

LONGEST = 480.0
WINDROW = [sys.executable, "-c", "from windrow.cli.main import main; main()"]
QUERIES = ("transfers", "sources", "protocols")


@dataclass(frozen=True)
class Answers:
    """Per query the number of instants at which its answer changed, and whether both agree."""

    instants: dict[str, int]
    differing: list[str]


class DemoRun:
    """``windrow demo`` on the cluster, from a directory that workers do not know."""

    def __init__(self, cluster: Cluster, rows: int, *words: str) -> None:
        self.cluster = cluster
        self.directory = cluster.shared / "demo"
        self.application = Application(free_port())
        self._log = cluster.base / "driver.log"
        driver = cluster.base / "driver"
        driver.mkdir()
        command = [
            *DIES_WITH_US, *WINDROW, "demo", "--master", cluster.url,
            "--rows", str(rows), "--directory", str(self.directory),
            *self.application.settings(), *words,
        ]  # fmt: skip
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        environment.pop("PYSPARK_PYTHON", None)
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=driver, env=environment, stdout=log, stderr=log
            )

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def kill_busy_worker(self) -> Kill:
        return kill_busy_worker(self.cluster, self.application, self.ended)

    def finish(self) -> int:
        """Its exit code."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LONGEST)
        self.stop()
        return self.process.wait()

    def stop(self) -> None:
        if not self.ended():
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def compare_with_embedded(directory: Path, rows: int) -> Answers:
    """The changes in a demo's directory, and those of the same demo embedded."""
    other = directory.with_name("embedded")
    subprocess.run(
        [*WINDROW, "demo", "--runner", "embedded",
         "--rows", str(rows), "--directory", str(other)],
        check=True, capture_output=True,
    )  # fmt: skip
    ours, theirs = (below(compile_script(script()).catalog, d) for d in (directory, other))
    found = {q: (net_changes(ours, q), net_changes(theirs, q)) for q in QUERIES}
    return Answers(
        {query: len(embedded) for query, (_, embedded) in found.items()},
        [query for query, (cluster, embedded) in found.items() if cluster != embedded],
    )
