"""``script.json`` of a checkpoint: the scripts that its last run has carried out.

Nothing of a run depends on it. Whoever asks the checkpoint (``checkpoint_query``) finds in it what
the streams, views and queries are whose state is there.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from windrow.core.errors import StateError
from windrow.object_store.object_path import address_of
from windrow.plan.catalog import Catalog
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.program import compile_script
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy
from windrow.result_files.atomic_files import publish, read_record
from windrow.spark.checkpoint.plan_statistics import read_statistics

SCRIPT = "script.json"
SCHEDULE = "schedule.json"
"""How queries are scheduled: a run that says nothing of it goes on as the one before."""


@dataclass(frozen=True)
class ScriptRecord:
    """What was declared, how it runs, and the directory that relative paths start from."""

    catalog: Catalog
    strategy: Strategy
    base: Path


def write_script(checkpoint: Path, catalog: Catalog, strategy: Strategy) -> None:
    """Write down what runs with a checkpoint."""
    known = {"texts": catalog.texts, "strategy": strategy.value, "base": str(Path.cwd())}
    publish(checkpoint / SCRIPT, json.dumps(known, indent=1, ensure_ascii=False))


def read_script(checkpoint: Path) -> ScriptRecord:
    """StateError if there is none."""
    try:
        figures = read_statistics(checkpoint)
        return read_record(
            checkpoint / SCRIPT,
            "the script of the checkpoint",
            lambda known: _record(known, figures),
            remedy="",
        )
    except FileNotFoundError:
        raise StateError(
            where=address_of(checkpoint),
            expected="a directory that was passed to --checkpoint",
            found=f"no {SCRIPT}" if checkpoint.is_dir() else "no such directory",
            remedy="if an older Windrow wrote it, run the script once more with this one"
            if checkpoint.is_dir()
            else "",
        ) from None


def _record(known: dict[str, object], figures: StreamStatistics | None) -> ScriptRecord:
    catalog = Catalog()
    texts, strategy = known["texts"], Strategy.from_name(str(known["strategy"]))
    assert isinstance(texts, list)
    for text in texts:
        catalog = compile_script(str(text), catalog, strategy, figures).catalog
    return ScriptRecord(catalog, strategy, Path(str(known["base"])))


def keep_schedule(checkpoint: Path, given: ScheduleOptions | None) -> ScheduleOptions | None:
    """The schedule of a run that was ``given`` this one: what was last answered late is part of
    the state, so a checkpoint that has had a schedule keeps one.
    """
    if given is not None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        publish(checkpoint / SCHEDULE, json.dumps(asdict(given)))
        return given
    try:
        return read_record(
            checkpoint / SCHEDULE,
            "the schedule of the checkpoint",
            lambda known: ScheduleOptions(str(known["policy"]), known["max_delay"]),
            remedy="pass --schedule again",
        )
    except FileNotFoundError:
        return None
