"""Killing the worker that runs a task, while the task runs."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.request import urlopen

from tests.cluster.standalone import Cluster
from tests.cluster.worker_host import Host

PATIENCE = 400.0
"""Seconds, in which a busy machine has packed the environment and run the first tasks."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Application:
    """The running application as its own web interface on ``port`` tells of it."""

    port: int

    def settings(self) -> list[str]:
        """What the run has to be told for that."""
        given = {"enabled": "true", "port": str(self.port), "liveUpdate.period": "0"}
        pairs = [f"spark.ui.{name}={value}" for name, value in given.items()]
        return [word for pair in pairs for word in ("--conf", pair)]

    def ask(self, what: str) -> Any:
        """The answer, or nothing as long as there is none."""
        root = f"http://127.0.0.1:{self.port}/api/v1/applications"
        try:
            with urlopen(root, timeout=5) as answer:
                (known,) = json.load(answer)
            with urlopen(f"{root}/{known['id']}/{what}", timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return []

    def stages(self) -> list[str]:
        """The stages of micro-batches that run now, as words."""
        found = [(s, _batch(s)) for s in self.ask("stages?status=active")]
        return [f"{s['stageId']} of micro-batch {batch}" for s, batch in found if batch]

    def busy(self) -> dict[str, dict[str, Any]]:
        """The executors that run tasks, by the address of their worker."""
        found = [e for e in self.ask("executors") if e["id"] != "driver" and e["activeTasks"]]
        return {e["hostPort"].partition(":")[0]: e for e in found}


def _batch(stage: dict[str, Any]) -> str:
    found = re.search(r"batch = (\d+)", stage.get("description") or "")
    return found[1] if found else ""


@dataclass(frozen=True)
class Kill:
    """What was killed: the executor's worker, and the stages that it had tasks of."""

    address: str
    executor: str
    tasks: int
    stages: tuple[str, ...]


def kill_busy_worker(cluster: Cluster, application: Application, ended: Callable[[], bool]) -> Kill:
    """Halt a worker that runs a task of a micro-batch, see that it still does, and kill it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not ended():
        for address in application.busy() if application.stages() else {}:
            if (kill := _kill(cluster.workers[address], address, application)) is not None:
                return kill
        time.sleep(0.02)
    raise RuntimeError("no worker was seen to run a task")


def _kill(host: Host, address: str, application: Application) -> Kill | None:
    host.send(signal.SIGSTOP)
    time.sleep(0.3)  # what was on its way has arrived
    executor, stages = application.busy().get(address), application.stages()
    if executor is None or not stages:  # the task ended before
        host.send(signal.SIGCONT)
        return None
    host.kill()
    return Kill(address, executor["id"], executor["activeTasks"], tuple(stages))
