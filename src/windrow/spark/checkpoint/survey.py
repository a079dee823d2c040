"""What of a pipeline's checkpoint is damaged, and the last micro-batch to which it is whole.

A micro-batch is whole if its offsets and its end are noted, and every stage's state after it
can be loaded. Going back to one repeats those after it. That is exact as long as they are what they
were before: the file logs say which entries each had (``windrow.spark.source.file_log``), and
results that were published are not published again (``windrow.spark.sink.file_delivery``). So it
needs whole logs, and the files that were read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import StateError
from windrow.object_store.object_path import address_of, path_of, shared_directory, shared_place
from windrow.result_files.commits import COMMIT
from windrow.spark.checkpoint.batch_logs import BatchLog, damage_of, read_batch_log
from windrow.spark.checkpoint.pipeline_directory import PIPELINE
from windrow.spark.checkpoint.query_directory import IDENTITY
from windrow.spark.checkpoint.state import StateVersions
from windrow.spark.source.file_log import EMPTY, Entry, FileLog

RECORD = {"version", "fingerprint", "run", "buckets"}
WAITING = "waiting.json"
OURS = 2
"""Lines of a file of offsets: settings, and our source; more are those of DataFrames."""


@dataclass(frozen=True)
class Problem:
    """A damaged file; one that is ``hopeless`` cannot be made up for by going back."""

    path: Path
    what: str
    hopeless: bool = False

    def __str__(self) -> str:
        return f"{address_of(self.path)}: {self.what}"


@dataclass(frozen=True)
class Survey:
    """Of the checkpoint of one pipeline; ``whole`` is the last micro-batch that is, or -1."""

    directory: Path
    queries: tuple[str, ...]
    problems: tuple[Problem, ...]
    offsets: BatchLog
    commits: BatchLog
    state: StateVersions
    whole: int

    @property
    def spark(self) -> Path:
        return self.directory / "spark"

    @property
    def last(self) -> int:
        """The last micro-batch that was begun."""
        return max(self.offsets.last, self.commits.last)

    @property
    def hopeless(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.hopeless)


def surveyed_directories(checkpoint: Path) -> list[Path]:
    """The pipelines of a checkpoint; it may also be one of them."""
    candidates = [checkpoint, *sorted(checkpoint.glob("*"))]
    found = [d for d in candidates if (d / PIPELINE).exists() or (d / "spark" / "offsets").is_dir()]
    if not found:
        raise StateError(
            where=address_of(checkpoint),
            expected="a directory that was passed to --checkpoint",
            found="no checkpoint of a query" if checkpoint.is_dir() else "no such directory",
        )
    return found


def survey(directory: Path) -> Survey:
    """Read everything and check it; cost: one pass over the files."""
    spark = directory / "spark"
    offsets, commits = read_batch_log(spark / "offsets"), read_batch_log(spark / "commits")
    state = StateVersions(shared_directory(directory) / "state")
    whole = _last_whole(offsets, commits, state)
    members, problems = _members(directory)
    logs, lost = _logs(directory)
    last = max(offsets.last, commits.last)
    problems = [
        *problems,
        *(problem for member in members for problem in _record(member / IDENTITY, RECORD)),
        *lost,
        *_log_lengths(directory, offsets, logs),
        *_spark_files(spark, offsets, commits),
        *_missing(offsets, commits, state, whole),
        *_damaged_state(_last_over(offsets, commits), state),
        *(problem for member in members for problem in _results(member)),
    ]
    problems += _repetitions(directory, offsets, logs, whole, last)
    names = tuple(member.name for member in members)
    return Survey(directory, names, tuple(problems), offsets, commits, state, whole)


def quick_survey(directory: Path) -> list[Problem]:
    """What would go wrong in silence: a batch is begun anew whose offsets are gone.

    It reads the notes on micro-batches, of which there are few, and no state.
    """
    spark = directory / "spark"
    offsets, commits = read_batch_log(spark / "offsets"), read_batch_log(spark / "commits")
    return [*_spark_files(spark, offsets, commits), *_missing_offsets(offsets, commits)]


def damage_error(directory: Path, problems: Sequence[Problem]) -> StateError | None:
    """The error to report if a run finds its checkpoint damaged."""
    if not problems:
        return None
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    named = name_for_commands(directory)
    return StateError(
        "the checkpoint is damaged",
        where=address_of(problems[0].path),
        found=f"{problems[0].what}{more}",
        remedy=f"`windrow checkpoint check {named}` names all that is damaged, and `windrow "
        f"checkpoint repair {named} --dry-run` says whether it can be repaired",
    )


def name_for_commands(directory: Path) -> Path:
    """What commands take for a pipeline: its directory, or the checkpoint in an object store."""
    whole = shared_place(directory.parent)
    return directory if whole == directory.parent else whole


def _last_whole(offsets: BatchLog, commits: BatchLog, state: StateVersions) -> int:
    for batch in sorted(offsets.whole, reverse=True):
        over = batch in commits.whole or batch < offsets.last  # what comes after it was begun
        if over and state.whole(batch):
            return batch
    return -1


def _members(directory: Path) -> tuple[list[Path], list[Problem]]:
    """The directories of the jobs of a pipeline, and what is wrong with its record of them."""
    path = directory / PIPELINE
    problems = list(_record(path, {"version", "run", "members", "left"}))
    if problems:
        return [], problems
    names = json.loads(path.read_text())["members"]
    return [directory.parent / name for name in names if name is not None], []


def _record(path: Path, keys: set[str]) -> Iterator[Problem]:
    """What is wrong with a small file that says what a directory is."""
    try:
        known = json.loads(path.read_text())
    except FileNotFoundError:
        yield Problem(path, "it is missing", hopeless=True)
    except ValueError as error:
        yield Problem(path, f"it is cut short or overwritten: {error}", hopeless=True)
    else:
        if not isinstance(known, dict) or not known.keys() >= keys:
            yield Problem(path, f"it lacks {', '.join(sorted(keys))}", hopeless=True)


def _logs(directory: Path) -> tuple[dict[str, list[Entry]], list[Problem]]:
    """The entries of each stream's log; a last line that is cut short is passed over."""
    logs: dict[str, list[Entry]] = {}
    problems = []
    for path in sorted((directory / "streams").glob("*.log")):
        try:
            logs[path.stem] = FileLog.entries_in(path)
        except StateError as error:
            problems.append(Problem(path, f"{error.where}: found {error.found}", hopeless=True))
    for entries in logs.values():
        for entry in entries:
            if entry.origin is not None and not path_of(entry.path or "").is_file():
                what = f"it is missing; it held the accepted updates of {entry.origin}"
                problems.append(Problem(path_of(entry.path or ""), what, hopeless=True))
    return logs, problems


def _log_lengths(
    directory: Path, offsets: BatchLog, logs: dict[str, list[Entry]]
) -> Iterator[Problem]:
    """Whether the logs have all that the offsets speak of."""
    counted = offsets.whole[max(offsets.whole)][1] if offsets.whole else {}
    for stream, count in counted.items():
        if stream == EMPTY:
            continue
        length = len(logs.get(stream.lower(), ()))
        if count > length:
            path = directory / "streams" / f"{stream.lower()}.log"
            what = f"it lacks entries: the offsets count {count}, and it has {length}"
            yield Problem(path, what, hopeless=True)


def _spark_files(spark: Path, offsets: BatchLog, commits: BatchLog) -> Iterator[Problem]:
    if offsets.last >= 0 and (damage := damage_of(spark / "metadata")):
        yield Problem(spark / "metadata", damage)
    for log in (offsets, commits):
        for batch, what in sorted(log.damaged.items()):
            yield Problem(log.path(batch), what)


def _missing_offsets(offsets: BatchLog, commits: BatchLog) -> Iterator[Problem]:
    if commits.last > offsets.last:
        yield Problem(offsets.path(commits.last), "it is missing, but the batch was committed")


def _missing(
    offsets: BatchLog, commits: BatchLog, state: StateVersions, whole: int
) -> Iterator[Problem]:
    yield from _missing_offsets(offsets, commits)
    for batch in range(_last_over(offsets, commits), whole, -1):
        if batch not in state.numbers and (offsets.first is None or batch >= offsets.first):
            yield Problem(state.path(batch), f"the state after batch {batch} is missing")


def _last_over(offsets: BatchLog, commits: BatchLog) -> int:
    """The last batch that is over: it was noted, or a later one was begun."""
    return max((*commits.whole, offsets.last - 1))


def _damaged_state(over: int, state: StateVersions) -> Iterator[Problem]:
    for path, what in state.damaged_files(over).items():
        yield Problem(path, what)


def _results(member: Path) -> Iterator[Problem]:
    """Records of what has been published, and rows that wait for an archive."""
    directory = shared_directory(member) / "results"
    for path in sorted((*directory.glob(f"{COMMIT}*.json"), *directory.glob(WAITING))):
        try:
            known = json.loads(path.read_text())
            pieces = known["pieces"] if path.name == WAITING else []
            lost = [p["name"] for p in pieces if not (directory / p["name"]).is_file()]
        except (ValueError, KeyError, TypeError) as error:
            yield Problem(path, f"it is cut short or overwritten: {error}", hopeless=True)
        else:
            for name in lost:
                yield Problem(
                    directory / name, "it is missing; it held pending rows", hopeless=True
                )


def _repetitions(
    directory: Path, offsets: BatchLog, logs: dict[str, list[Entry]], whole: int, last: int
) -> Iterator[Problem]:
    """What stands in the way of repeating the batches after the last whole one as they were."""
    if last <= whole or (last == whole + 1 and last in offsets.whole):
        return
    if whole == -1 and offsets.first not in (0, None):
        what = f"batches before {offsets.first} are gone, and no later one is complete"
        yield Problem(offsets.directory, what, hopeless=True)
    read = offsets.whole[max(offsets.whole)] if offsets.whole else []
    if len(read) > OURS:
        what = "a source that is a DataFrame cannot be read again as it was"
        yield Problem(offsets.directory, what, hopeless=True)
    for name, entries in logs.items():
        for entry in entries:
            if entry.batch is None:
                what = "it was written by a version that did not record micro-batches in it"
                yield Problem(directory / "streams" / f"{name}.log", what, hopeless=True)
                break
            if entry.batch <= whole or entry.path is None:
                continue
            if not path_of(entry.path).is_file():
                what = f"it is missing, and must be read again for batch {entry.batch}"
                yield Problem(path_of(entry.path), what, hopeless=True)
