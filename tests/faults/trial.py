"""A run of ``windrow run --checkpoint`` that is killed, started again, and killed again.

Processes are killed at random moments, seeded: some while a run starts, most while files come and
micro-batches are in the middle of something. What is promised of each kill:

driver, all     the same command goes on
jvm             the run ends with an error that says that it died, or did not start; the same
                command goes on
worker, source, daemon   the run goes on by itself; only one that somebody listens to has a process
                for its source, and is a streaming query of Spark's
point           a driver that dies at a named point of a micro-batch (``tests.faults.points``): the
                same command goes on
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.plan import ARCHIVE, QUERIES, SCRIPT, Input
from tests.faults.points import POINTS
from tests.faults.processes import KINDS, MARK, kill, processes, victims, wait_for_none
from tests.faults.windrow import POINT
from windrow.result_files.commits import last_committed

PROGRESS = 300.0
"""Seconds within which a run must start, or go on after a death."""
AN_END = 90.0
"""Seconds within which a run must end whose virtual machine is dead."""
AT_START = 0.25
"""The share of kills while a run starts."""
FEED_EVERY = 1.0
AHEAD = 2
"""Steps that may wait for a run: what it has not read when it is killed, the next one reads."""
STEPS = 8
"""Of input for each kill."""
REPORTED = tuple(
    f"the Java virtual machine that Spark runs in {verb}"
    for verb in ("has died", "could not be started")
)
LISTENED = ("--conf", "spark.sql.streaming.metricsEnabled=true")
FAILED = 2
"""The exit code of what went wrong for a reason that is named."""


@dataclass(frozen=True)
class Kill:
    number: int
    what: str
    when: str
    outcome: str
    passed: bool


class Trial:
    """See the module. ``directory`` gets the script, the input and everything that comes of it."""

    def __init__(self, directory: Path, kills: int, seed: int, kinds: tuple[str, ...] = KINDS):
        self.directory, self.kills = directory, kills
        self._rng = random.Random(seed)
        self._kinds = [kinds[i % len(kinds)] for i in range(kills)]
        self._rng.shuffle(self._kinds)
        self.input = Input(directory, steps=STEPS * (kills + 1), seed=seed)
        (directory / "script.cql").write_text(SCRIPT)
        self._mark = uuid.uuid4().hex  # of all lives; that of a life has its number behind it
        self.problem = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._lives, self._started, self._fed, self._restarted = 0, 0.0, 0.0, 0
        places = [*(directory / "out" / name for name in QUERIES)]
        places.append(directory / "checkpoint" / ARCHIVE / "results")
        self._published = dict.fromkeys(places, -1)
        self._seen = dict(self._published)
        self._taken = (-1, 0)  # the last micro-batch, and how many steps there were then

    def run(self, end: float, on_kill: Callable[[Kill], None]) -> list[Kill]:
        """Kill as often as was asked, but nothing after ``end``; then let it come to its end."""
        done: list[Kill] = []
        try:
            self.input.give(2)
            for number, kind in enumerate(self._kinds, 1):
                if time.monotonic() > end:
                    break
                done.append(self._kill(number, kind))
                on_kill(done[-1])
            self._stop()
            self.input.give(self.input.steps)
            self.problem = self._finish()
        finally:
            kill(processes(self._mark))
        return done

    def _kill(self, number: int, kind: str) -> Kill:
        if kind == "point":
            return self._die_at_a_point(number)
        if kind == "source":
            self._stop()
        fresh = self._process is None or self._process.poll() is not None
        if fresh:
            self._start(*(LISTENED if kind == "source" else ()))
        if fresh and self._rng.random() < AT_START:
            wait, when = self._rng.uniform(0.5, 15.0), "while it started"
        else:
            if (problem := self._progress()) is not None:
                return Kill(number, kind, "never", problem, passed=False)
            wait, when = self._rng.uniform(0.0, 4.0), f"in batch {self._commits()}"
        self._go_on(lambda: False, wait)
        chosen = victims(self._life, kind, self._rng)
        if not chosen:
            self._go_on(lambda: bool(victims(self._life, kind, self._rng)), PROGRESS)
            chosen = victims(self._life, kind, self._rng)
        after = f"{when}, {time.monotonic() - self._started:.1f} s"
        self._remember_commits()
        self._restarted = self._restarts()
        kill(chosen)
        works = {p.work for p in chosen} if len(chosen) == 1 else {""}
        what = " ".join(filter(None, (kind, *works)))
        outcome, passed = self._outcome(kind) if chosen else ("there was none", False)
        return Kill(number, what, after, outcome, passed)

    def _die_at_a_point(self, number: int) -> Kill:
        """Let a life end by its own hand."""
        self._stop()
        point, count = self._rng.choice(POINTS), self._rng.randint(1, 6)
        self._start(point=f"{point}:{count}")
        assert self._process is not None
        died = self._go_on(lambda: self._process.poll() is not None, PROGRESS)
        code = self._process.returncode if died else None
        wanted = code == -signal.SIGKILL
        outcome, passed = self._after_the_driver() if wanted else (f"exit {code}", False)
        return Kill(number, f"driver at {point}", f"the {count}. time", outcome, passed)

    def _outcome(self, kind: str) -> tuple[str, bool]:
        began = time.monotonic()
        assert self._process is not None
        if kind in ("driver", "all"):
            self._process.wait(AN_END)
            return self._after_the_driver()
        if kind == "jvm":
            if not self._go_on(lambda: self._process.poll() is not None, AN_END):
                return "the run did not end", False
            code, words = self._process.returncode, self._last_words()
            named = code == FAILED and any(reason in words for reason in REPORTED)
            told = "with its death reported" if named else f"exit {code}: {words}"
            return f"the run ended after {time.monotonic() - began:.1f} s, {told}", named
        if (problem := self._progress()) is not None:
            return problem, False
        again = self._restarts() - self._restarted
        note = f", {again} queries started again" if again else ""
        return f"went on after {time.monotonic() - began:.1f} s{note}", True

    def _after_the_driver(self) -> tuple[str, bool]:
        """Either start again at once, or see to it that what is left of the run ends by itself."""
        if self._rng.random() < 0.5:
            return "started again at once", True
        began = time.monotonic()
        left = wait_for_none(self._mark, AN_END)
        if left:
            return f"still there: {', '.join(p.kind for p in left)}", False
        return f"the rest of it ended within {time.monotonic() - began:.1f} s", True

    @property
    def _life(self) -> str:
        """The mark of this life's processes: those of an earlier one may still be about to end."""
        return f"{self._mark}-{self._lives}-"

    def _start(self, *more: str, point: str = "") -> None:
        self._lives += 1
        self._started = self._fed = time.monotonic()
        command = [sys.executable, "-m", "tests.faults.windrow", "run", "script.cql"]
        command += ["--checkpoint", "checkpoint", "--master", "local[2]", *more]
        self._remember_commits()
        with self._err().open("wb") as err:
            self._process = subprocess.Popen(
                command,
                cwd=self.directory,
                env={
                    **os.environ,
                    MARK: self._life,
                    POINT: point,
                    "PYTHONPATH": os.pathsep.join(_path()),
                },
                stdout=subprocess.DEVNULL,
                stderr=err,
            )

    def _progress(self) -> str | None:
        """Wait until every query has published something; what is wrong, if one does not."""
        assert self._process is not None
        if self._go_on(lambda: not self._behind(), PROGRESS):
            return None
        if self._process.poll() is not None:
            return f"ended by itself, exit {self._process.returncode}: {self._last_words()}"
        return f"nothing published in {PROGRESS:.0f} s by {', '.join(self._behind())}"

    def _go_on(self, done: Callable[[], bool], seconds: float) -> bool:
        """Feed the run until ``done``, or it ends, or time is up."""
        assert self._process is not None
        end = time.monotonic() + seconds
        while not done():
            if self._process.poll() is not None:
                return done()
            if time.monotonic() > end:
                return False
            self._feed()
            time.sleep(0.05)
        return True

    def _feed(self) -> None:
        """Give the next step if not too many wait already."""
        if (batch := self._commits()) > self._taken[0]:
            self._taken = (batch, self.input.given)
        waiting = self.input.given - self._taken[1]
        if waiting < AHEAD and time.monotonic() - self._fed > FEED_EVERY:
            self.input.give()
            self._fed = time.monotonic()

    def _commits(self) -> int:
        """The last micro-batch that every query has published."""
        for place, known in self._published.items():
            self._published[place] = last_committed(place, known)
        return min(self._published.values())

    def _remember_commits(self) -> None:
        self._commits()
        self._seen = dict(self._published)

    def _behind(self) -> list[str]:
        """The directories of queries that have published nothing since they were looked at."""
        self._commits()
        return [str(p) for p, last in self._published.items() if last <= self._seen[p]]

    def _stop(self) -> None:
        kill(processes(self._mark))
        if self._process is not None:
            self._process.wait()
        wait_for_none(self._mark, AN_END)

    def _finish(self) -> str:
        """Everything that is there, to the end; what is wrong with it, if anything is."""
        self._start("--once")
        assert self._process is not None
        try:
            code = self._process.wait(2 * PROGRESS)
        except subprocess.TimeoutExpired:
            return "the last run does not end"
        return "" if code == 0 else f"the last run failed, exit {code}: {self._last_words()}"

    def _err(self) -> Path:
        return self.directory / f"life-{self._lives}.err"

    def _restarts(self) -> int:
        """How often the run says that it has started a query again."""
        return self._err().read_text().count("resumes from its checkpoint")

    def _last_words(self) -> str:
        lines = [line for line in self._err().read_text().splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line]
        return (errors or lines or ["nothing said"])[-1][:160]


def _path() -> list[str]:
    root = Path(__file__).parents[2]
    return [str(root), str(root / "src")]
