"""Which jobs of a script run together, given what earlier runs left in the checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windrow.core.time import Clock
from windrow.spark.checkpoint.pipeline_directory import (
    PipelineHome,
    new_pipeline,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.split import split_off


@dataclass(frozen=True)
class Starting:
    """A job that is about to start: the name of its directory, its clock and its streams."""

    name: str
    clock: Clock
    streams: Sequence[str]


def pipelines_for(
    checkpoint: Path, jobs: Sequence[Starting], running: Collection[Path] = ()
) -> list[tuple[PipelineHome, dict[str, int]]]:
    """The pipelines that run some jobs, and each job's number in its own.

    A job goes on where its state is. Others of that pipeline, which do not start now, stay behind.
    One that had stayed behind goes on in a pipeline of its own, unless nothing has happened in its
    old one since. Pipelines that are ``running`` stay as they are.
    """
    wanted = {job.name: job for job in jobs}
    homes = [read_pipeline(directory) for directory in pipeline_directories(checkpoint)]
    present = {name for home in homes for name in home.present}
    found = []
    for home in homes:
        here = home.present.keys() & wanted.keys()
        if home.directory not in running:
            back = [n for n in _back(home, wanted, present) if home.batch_of(n) == home.last_batch]
            if here and back:
                home = home.write(left=home.left - set(back))  # noqa: PLW2901 - as it is now
                here |= set(back)
            if here and home.present.keys() - here:
                home = home.without(home.present.keys() - here)  # noqa: PLW2901
        for name in _back(home, wanted, present):
            new = split_off(home, name, wanted[name].streams)
            home = read_pipeline(home.directory)  # noqa: PLW2901
            found.append((new, new.present))
            del wanted[name]
        if here:
            found.append((home, {name: home.number_of(name) for name in here}))
            wanted = {name: job for name, job in wanted.items() if name not in here}
    for clock in dict.fromkeys(job.clock for job in wanted.values()):
        new = new_pipeline(checkpoint, [n for n, job in wanted.items() if job.clock is clock])
        found.append((new, new.present))
    return found


def _back(
    home: PipelineHome, wanted: Mapping[str, Starting], present: Collection[str]
) -> list[str]:
    """Jobs that have stayed behind in a pipeline and are to start again."""
    return [name for name in sorted(home.left) if name in wanted and name not in present]
