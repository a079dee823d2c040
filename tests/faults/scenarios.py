"""Scenarios: faults on the Spark path one after the other, and in the end the same answer.

A scenario is some *lives* of the same run, each ended by a fault, and a last one that nobody
disturbs. Results and archive then have to be those of the embedded runner over the whole input.
All lives are in one Spark, as errors; ``tests.faults.trial`` kills processes.

point      the driver fails at a named point of a micro-batch (``tests.faults.points``)
attempts   every micro-batch is attempted twice, as by speculative tasks; either attempt counts
wiped      workers lose what they have in memory and in the directory that they share: they are
           killed, and it is emptied
full       the disk is full: for the driver, or for the workers
state      the newest state file is damaged; the run says so, and what to do
offsets    the newest offset file is damaged; the run says so, and what to do
vanished   source files are removed: all that were read, of text all that were admitted
grown      the last file of a stream gets the rest of its rows
clock      the clock on the wall jumps by a year, within a life
"""

from __future__ import annotations

import errno
import random
import resource
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from tests.faults.points import POINTS, fail_at
from tests.faults.processes import kill_own_workers, own_workers
from tests.spark.scripts import net_changes
from tests.support.runs import run_embedded, run_on_spark
from windrow.archive.archive import Archive
from windrow.core.errors import StateError, WindrowError
from windrow.core.time import wall_clock
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script

QUERIES = {
    "groups": "SELECT k, COUNT(*) AS n FROM a [RANGE 20] GROUP BY k",
    "pairs": "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 10] WHERE a.k = b.k "
    "GROUP BY a.v",
    "unseen": "SELECT DISTINCT k, v FROM a [RANGE 9] WHERE NOT EXISTS "
    "(SELECT * FROM b [RANGE 4] AS other WHERE other.k = a.k)",
}
FILES, ROWS = 10, 40
YEAR = 365 * 86_400_000_000
LONGEST = 240.0
"""Seconds after which a life that should have failed is ended."""


class BrokenError(RuntimeError):
    """What a scenario lets happen to a driver."""


def broken() -> None:
    raise BrokenError("broken by a test")


@dataclass(frozen=True)
class JumpingWall:
    """A clock that jumps after it was asked some times; each process that has it counts anew."""

    after: int
    by: int
    asked: list[int] = field(default_factory=lambda: [0])

    def __call__(self) -> int:
        self.asked[0] += 1
        return wall_clock() + (self.by if self.asked[0] > self.after else 0)


class World:
    """The input of a scenario, its checkpoint and its results."""

    def __init__(self, directory: Path, rng: random.Random, format_: str) -> None:
        self.directory, self.rng, self.format = directory, rng, format_
        self.checkpoint = directory / "checkpoint"
        self.home = self.checkpoint / "pipeline-1"
        self.lives = 0
        self.last = FILES - 1
        self._rest: dict[Path, bytes] = {}
        self._later: dict[Path, Path] = {}
        numbers = np.random.default_rng(rng.randrange(1 << 30))
        for name, pace in (("a", 1), ("b", 3)):
            (directory / name).mkdir(parents=True)
            for number in range(FILES):
                table = _rows(numbers, number, pace)
                write = pc.write_csv if format_ == "csv" else pq.write_table
                write(table, directory / name / f"{number:02d}.{format_}")
        self.expected = self._outcome("embedded", run_embedded)

    def catalog(self, out: str) -> Catalog:
        place = self.directory
        text = "".join(
            f"CREATE STREAM {s} (ts BIGINT, k INT, v BIGINT) FROM '{place / s}' "
            f"FORMAT {self.format} TIMESTAMP BY ts SLACK 4;\n"
            for s in "ab"
        )
        for name, query in QUERIES.items():
            text += f"CREATE QUERY {name} AS {query} INTO '{place / out / name}' FORMAT parquet;\n"
        text += (
            "CREATE ARCHIVE kept ON b KEY k WINDOW 20 MINUTES USING WATA(3) "
            f"INTO '{place / out / 'kept'}';\n"
        )
        return compile_script(text).catalog

    def live(self, *, once: bool = False, **options: Any) -> None:
        """The run, which is always the same one."""
        self.lives += 1
        stop = threading.Event()
        timer = threading.Timer(LONGEST, stop.set)
        timer.start()
        try:
            run_on_spark(
                self.catalog("found"), self.checkpoint, self.directory / "quarantine",
                once=once, stop=None if once else stop, files_per_trigger=1, **options,
            )  # fmt: skip
        finally:
            timer.cancel()

    def fail(self, patch: pytest.MonkeyPatch, *, least: int = 1, **options: Any) -> str:
        """A life that ends at a point of a micro-batch; which."""
        most = max(least, min(3, self.last))
        point, count = self.rng.choice(POINTS), self.rng.randint(least, most)
        with patch.context() as within:
            fail_at(point, count, broken, within.setattr)
            with pytest.raises(WindrowError, match="broken by a test"):
                self.live(**options)
        return f"{point}:{count}"

    def end(self) -> str:
        """The last life; what is wrong with the outcome, if anything is."""
        found = self._outcome("found", lambda _: self.live(once=True))
        wrong = [name for name, known in self.expected.items() if found[name] != known or not known]
        return ", ".join(f"{name} differs" for name in wrong)

    def repair(self) -> None:
        """What the words of a damaged checkpoint say."""
        from windrow.spark.checkpoint.repair import planned_repair  # noqa: PLC0415 - loads Spark

        planned = planned_repair(self.home)
        assert planned is not None
        planned.carry_out()

    def hold_back(self, stream: str) -> None:
        """Let the second half of a file, and all files after it, come later."""
        self.last = self.rng.randint(1, 3)
        (self.directory / "later").mkdir()
        for name in "ab":
            for number in range(self.last + 1, FILES):
                path = self.directory / name / f"{number:02d}.{self.format}"
                self._later[path] = path.rename(self.directory / "later" / f"{name}-{path.name}")
        path = self.directory / stream / f"{self.last:02d}.{self.format}"
        text = path.read_bytes()
        middle = text.rindex(b"\n", 0, len(text) // 2) + self.rng.randint(1, 3)
        path.write_bytes(text[:middle])
        self._rest[path] = text[middle:]

    def let_grow(self) -> None:
        for path, rest in self._rest.items():
            with path.open("ab") as file:
                file.write(rest)
        for path, waiting in self._later.items():
            waiting.rename(path)

    def admitted(self) -> list[tuple[Path, int]]:
        """The source files in the logs, with their micro-batches."""
        from windrow.spark.source.file_log import FileLog  # noqa: PLC0415 - loads Spark

        logs = [FileLog.entries_in(path) for path in sorted((self.home / "streams").glob("*.log"))]
        return [(Path(e.path), e.batch or 0) for log in logs for e in log if e.path]

    def _outcome(self, out: str, run: Callable[[Catalog], object]) -> dict[str, Any]:
        catalog = self.catalog(out)
        run(catalog)
        with Archive.open(self.directory / out / "kept").reader() as reader:
            records = reader.scan(columns=["ts", "k", "v", "_day"]).to_pylist()
        kept = Counter(tuple(record.values()) for record in records)
        return {**{name: net_changes(catalog, name) for name in QUERIES}, "kept": kept}


def _rows(rng: np.random.Generator, number: int, pace: int) -> pa.Table:
    ts = np.arange(number * ROWS, (number + 1) * ROWS) * pace // 4 + rng.integers(0, 4, ROWS)
    keys, values = rng.integers(0, 20, ROWS), rng.integers(0, 50, ROWS)
    return pa.table({"ts": ts, "k": keys.astype(np.int32), "v": values})


# What happens: each says where


def point(world: World, patch: pytest.MonkeyPatch) -> str:
    return world.fail(patch)


def attempts(world: World, patch: pytest.MonkeyPatch) -> str:
    from windrow.spark.run.micro_batches import MicroBatches  # noqa: PLC0415 - loads Spark

    once, counts = MicroBatches.run, world.rng.randrange(2)

    def twice(self: Any, *given: Any) -> Any:
        return [once(self, *given) for _ in range(2)][counts]

    with patch.context() as within:
        within.setattr(MicroBatches, "run", twice)
        return f"the {('first', 'second')[counts]} counts, then {world.fail(patch)}"


def wiped(world: World, patch: pytest.MonkeyPatch) -> str:
    where = world.rng.choice(("tasks", "committed"))

    def wipe() -> None:
        kill_own_workers()
        shutil.rmtree(world.home / "exchange", ignore_errors=True)
        (world.home / "exchange").mkdir()

    with patch.context() as within:
        fail_at(where, 2, wipe, within.setattr)
        return f"{where}:2, then {world.fail(patch, least=3)}"


def full(world: World, patch: pytest.MonkeyPatch) -> str:
    if world.rng.random() < 0.5:
        return _full_for_workers(world, patch)
    from windrow.result_files import atomic_files  # noqa: PLC0415

    real, room = atomic_files.write, world.rng.randint(4, 30)
    left = [room]

    def write(path: Path, fill: Callable[[Path], object], **options: bool) -> None:
        left[0] -= 1  # also for all that is published
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, fill, **options)

    with patch.context() as within:
        within.setattr(atomic_files, "write", write)
        # A run writes ten files before its first micro-batch: those fail with Python's own error.
        with pytest.raises((WindrowError, OSError), match="No space left"):
            world.live()
    return f"the driver's {room + 1}. file"


def _full_for_workers(world: World, patch: pytest.MonkeyPatch) -> str:
    """No file of theirs may get longer: as a quota that is used up."""

    def limit() -> None:
        for pid in own_workers():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    try:
        with patch.context() as within:
            fail_at("tasks", 2, limit, within.setattr)
            with pytest.raises(WindrowError, match="File too large"):
                world.live()
    finally:
        kill_own_workers()
    return "the workers, tasks:2"


def state(world: World, patch: pytest.MonkeyPatch) -> str:
    from windrow.spark.stage.state_files import StateCommits  # noqa: PLC0415 - loads Spark

    where, noted = [world.fail(patch, least=3)], world.home / "spark" / "commits"
    while len(where) < 9 and not any(noted.glob("[0-9]*")):  # in the first: no state yet
        where.append(world.fail(patch, least=3))
    over = max(int(path.name) for path in noted.glob("[0-9]*"))
    commits = StateCommits(world.home / "state")
    version = commits.before(over + 1)  # what the next micro-batch, or one once more, starts from
    key, name = world.rng.choice(sorted(version.files.items()))
    path = world.home / "state" / key / name
    content = bytearray(path.read_bytes())
    content[world.rng.randrange(len(content) - 20, len(content))] ^= 1 << world.rng.randrange(8)
    path.write_bytes(content)
    kill_own_workers()  # who have it in memory
    return f"{', '.join(where)}, {key}/{name[:8]}, {_said_and_repaired(world)}"


def offsets(world: World, patch: pytest.MonkeyPatch) -> str:
    where = world.fail(patch, least=2)
    newest = max((world.home / "spark" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.write_bytes(newest.read_bytes()[: world.rng.randrange(1, 40)])
    return f"{where}, offsets/{newest.name}, {_said_and_repaired(world)}"


def _said_and_repaired(world: World) -> str:
    """The same command says that it cannot go on; then what it says is done."""
    with pytest.raises(StateError, match=r"windrow checkpoint (check|repair)"):
        world.live(once=True)
    world.repair()
    return "repaired"


def vanished(world: World, patch: pytest.MonkeyPatch) -> str:
    where = world.fail(patch, least=2)
    known = world.admitted()
    over = max(batch for _, batch in known) - (world.format != "csv")
    gone = {path for path, batch in known if batch <= over}
    for path in gone:
        path.unlink(missing_ok=True)
    return f"{where}, {len(gone)} files"


def grown(world: World, patch: pytest.MonkeyPatch) -> str:
    where = world.fail(patch, least=world.last + 1)
    world.let_grow()
    world.last = FILES - 1
    return where


def clock(world: World, patch: pytest.MonkeyPatch) -> str:
    by = world.rng.choice((-YEAR, YEAR))
    wall = JumpingWall(world.rng.randint(0, 12), by)
    return f"{'+' if by > 0 else '-'}1 year, {world.fail(patch, wall=wall)}"


KINDS: dict[str, Callable[[World, pytest.MonkeyPatch], str]] = {
    fault.__name__: fault
    for fault in (point, attempts, wiped, full, state, offsets, vanished, grown, clock)
}


# Scenarios


@dataclass(frozen=True)
class Verdict:
    number: int
    faults: tuple[str, ...]
    where: str
    lives: int
    wrong: str

    @property
    def row(self) -> tuple[str, str, str, str]:
        said = self.wrong and f"FAILED: {self.wrong}"
        name = f"{self.number:>3} {' + '.join(self.faults)}"
        return name, self.where, str(self.lives), said or "as undisturbed"


def faults_of(number: int, rng: random.Random) -> tuple[str, ...]:
    """Every kind in turn, and another one. Files grow before anything else happens, and vanish
    last: no repair goes back to what was in them."""
    first = list(KINDS)[number % len(KINDS)]
    second = rng.choice([kind for kind in KINDS if kind not in (first, "grown")])
    return (second, first) if first == "vanished" else (first, second)


def try_scenario(number: int, directory: Path, patch: pytest.MonkeyPatch) -> Verdict:
    """Live through a scenario, which its number says all about."""
    from windrow.spark.run import micro_batches  # noqa: PLC0415 - loads Spark

    rng = random.Random(number)
    faults = faults_of(number, rng)
    text = "grown" in faults or rng.random() < 0.5
    world = World(directory, rng, "csv" if text else "parquet")
    if "grown" in faults:
        world.hold_back(rng.choice("ab"))
    with patch.context() as within:
        if rng.random() < 0.5:  # through reading tasks and a shuffle
            within.setattr(micro_batches.BYTES_AGAIN, "value", -1)
        where = [KINDS[fault](world, within) for fault in faults]
        wrong = world.end()
    return Verdict(number, faults, "; ".join(where), world.lives, wrong)


def all_verdicts(numbers: range, directory: Path) -> Iterator[Verdict]:
    """Scenario after scenario; what is left of those that fail stays in the directory."""
    for number in numbers:
        place = directory / f"scenario-{number}"
        try:
            with pytest.MonkeyPatch.context() as patch:
                verdict = try_scenario(number, place, patch)
        except (Exception, pytest.fail.Exception) as error:
            words = (str(error) or type(error).__name__).splitlines()[0][:160]
            verdict = Verdict(number, faults_of(number, random.Random(number)), "", 0, words)
        if not verdict.wrong:
            shutil.rmtree(place)
        yield verdict
