"""``make cluster-demo``: the demo on a cluster that loses a worker in the middle of a stage."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.cluster.demo_run import DemoRun, compare_with_embedded
from tests.cluster.standalone import standalone_cluster
from tests.cluster.worker_host import can_isolate, hidden_places

BEGAN = time.monotonic()


def say(words: str) -> None:
    print(f"{time.monotonic() - BEGAN:5.0f} s  {words}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000, help="connections in the trace")
    rows = parser.parse_args().rows
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is stopped then too
    with tempfile.TemporaryDirectory(prefix="windrow-cluster-", dir="/tmp") as place:
        return demo(Path(place), rows)


def demo(base: Path, rows: int) -> int:
    with standalone_cluster(base) as cluster:
        say(f"master {cluster.url}, workers on {' and '.join(cluster.workers)}, 1 core, 1 GB each")
        if can_isolate():
            say(f"workers do not see {', '.join(hidden_places(base))}")
        else:
            say("no namespaces here: workers have empty environments and homes of their own")
        run = DemoRun(cluster, rows)
        try:
            say(f"windrow demo --master {cluster.url} --rows {rows} --directory {run.directory}")
            kill = run.kill_busy_worker()
            say(f"killed worker {kill.address} with executor {kill.executor}, which ran "
                f"a task (stage {', '.join(kill.stages)})")  # fmt: skip
            code = run.finish()
        finally:
            run.stop()
            print(run.said, flush=True)
    if code:
        say(f"the demo failed with exit code {code}")
        return 1
    answers = compare_with_embedded(run.directory, rows)
    for query, instants in answers.instants.items():
        verdict = "DIFFERS from" if query in answers.differing else "equals"
        say(f"{query}: the answer on the cluster {verdict} the embedded one ({instants} instants)")
    return 1 if answers.differing else 0


if __name__ == "__main__":
    sys.exit(main())
