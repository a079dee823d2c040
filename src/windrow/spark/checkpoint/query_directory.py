"""What a checkpoint has of one job: what it is, and results that have no place of their own.

windrow.json        fingerprint of the plan, identity of the run, bucket numbers, ranges
results/            results that have no destination of their own

How far it has come, and its state, are in the directory of the pipeline that runs it
(``windrow.spark.checkpoint.pipeline_directory``).
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from windrow.core.errors import StateError
from windrow.object_store.object_path import shared_directory
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.plan.nodes.routed import Ranges
from windrow.plan.physical.stages import Stage
from windrow.plan.strategy import Strategy
from windrow.result_files.atomic_files import publish, read_record
from windrow.spark.checkpoint.pipeline_directory import REMEDY, VERSION
from windrow.spark.stage.job_layout import Layout

IDENTITY = "windrow.json"
Fingerprint: TypeAlias = dict[str, str]
"""What must be the same when a run goes on, by what people call it: equal for equal plans over
equal inputs, wherever they stand in a script."""


@dataclass(frozen=True)
class Home:
    """An opened directory; see the module."""

    directory: Path
    run: str
    layout: Layout

    @property
    def buckets(self) -> tuple[int, ...]:
        return self.layout.buckets

    @property
    def results(self) -> Path:
        return shared_directory(self.directory) / "results"


def open_home(
    directory: Path,
    query: str,
    fingerprint: Fingerprint,
    layout: Callable[[], Layout],
) -> Home:
    """The query's directory, new or as an earlier run of the same query left it."""
    identity = directory / IDENTITY
    if not identity.exists():
        directory.mkdir(parents=True, exist_ok=True)
        known: dict[str, Any] = {
            "version": VERSION,
            "fingerprint": fingerprint,
            "run": uuid.uuid4().hex,
            **asdict(layout()),
        }
        publish(identity, json.dumps(known, indent=1))
    else:
        known, same = read_record(
            identity,
            "the checkpoint",
            lambda found: (found, (found["version"], found["fingerprint"])),
            remedy=REMEDY,
        )
        if same[0] != VERSION:
            raise StateError(
                f"the checkpoint of query {query} is of another version of Windrow",
                where=str(directory),
                expected=f"a checkpoint of version {VERSION}",
                found=f"one of version {same[0]}",
                remedy="finish the run with the Windrow that began it, or start over with another "
                "--checkpoint and other result directories",
            )
        if same[1] != fingerprint:
            raise StateError(
                f"the checkpoint of query {query} does not belong to this script",
                where=str(directory),
                expected="the query, streams and strategy that it was made with",
                found=f"changed since: {', '.join(_changed(same[1], fingerprint))}",
                remedy="run the old script; or give the query another name and another INTO, so "
                "that it starts over beside the others; or take another --checkpoint",
            )
    return _home(directory, known)


def _changed(before: Fingerprint, after: Fingerprint) -> list[str]:
    return [name for name in sorted(before | after) if before.get(name) != after.get(name)]


def read_home(directory: Path) -> tuple[Home, Fingerprint]:
    """The query's directory as a run left it, for those who only look, and its fingerprint."""
    known = read_record(directory / IDENTITY, "the checkpoint", lambda found: found, remedy=REMEDY)
    return _home(directory, known), known["fingerprint"]


def _home(directory: Path, known: Mapping[str, Any]) -> Home:
    found = known.get("cut")
    cut = None if found is None else Ranges(**{**found, "starts": tuple(found["starts"])})
    return Home(directory, known["run"], Layout(tuple(known["buckets"]), cut))


def runs_of(checkpoint: Path) -> set[str]:
    """The runs of all queries that have a directory in the checkpoint."""
    return {
        read_record(path, "the checkpoint", lambda known: str(known["run"]), remedy=REMEDY)
        for path in checkpoint.glob(f"*/{IDENTITY}")
    }


def fingerprint_of(
    stages: Sequence[Stage],
    inputs: Mapping[str, StreamDeclaration | RelationDeclaration],
    strategy: Strategy,
) -> Fingerprint:
    """That of a query that is cut into these stages."""
    found = {"the query": _digest("\n".join(map(repr, stages))), "the strategy": strategy.value}
    for declared in inputs.values():
        kind = "stream" if isinstance(declared, StreamDeclaration) else "relation"
        found[f"{kind} {declared.name}"] = _digest(repr(replace(declared, span=None)))
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
