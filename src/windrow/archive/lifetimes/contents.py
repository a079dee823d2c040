"""What the manifest of an index of variable lifetimes says, besides its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from windrow.archive.layout import Layout
from windrow.archive.lifetimes.grid import Grid
from windrow.archive.lifetimes.periods import Periods
from windrow.archive.lifetimes.state import IndexState
from windrow.archive.manifest import Manifest
from windrow.archive.runs.ref import Format, RunRef

KIND = "lifetimes"


@dataclass(frozen=True)
class Contents:
    """The contents of an index. ``now`` is the instant of the last update, None before any.

    ``state`` knows runs by number, ``runs`` has them all. ``batches`` has the last batch that
    each named source has inserted.
    """

    periods: Periods
    grid: Grid
    now: int | None = None
    state: IndexState | None = None
    runs: Mapping[int, RunRef] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)

    def manifest(
        self,
        version: int,
        token: str,
        layout: Layout,
        form: Format,
        encodings: Mapping[str, str],
    ) -> Manifest:
        body: dict[str, Any] = {
            "periods": asdict(self.periods),
            "grid": self.grid.to_json(),
            "now": self.now,
            "state": None if self.state is None else self.state.to_json(),
            "numbers": {run.name: number for number, run in self.runs.items()},
            "batches": dict(self.batches),
        }
        runs = tuple(self.runs.values())
        return Manifest(version, token, KIND, layout, form, encodings, runs, body)

    @classmethod
    def of(cls, manifest: Manifest) -> Contents:
        body = manifest.body
        return cls(
            Periods(**body["periods"]),
            Grid.from_json(body["grid"]),
            body["now"],
            None if body["state"] is None else IndexState.from_json(body["state"]),
            {int(body["numbers"][run.name]): run for run in manifest.runs},
            body["batches"],
        )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Where the numbers of the state and the runs do not fit together, and how."""
        if self.state is None:
            if self.runs:
                yield "state", "runs, although nothing was ever inserted"
            return
        if self.state.run_numbers() != set(self.runs):
            yield "state", "other runs than the manifest has"
            return
        for number, runs in enumerate(self.state.subindices):
            for run in runs:
                ref = self.runs[run.number]
                if run.total != ref.rows:
                    yield ref.name, f"{ref.rows} entries where the state has {run.total}"
                ends = [period for period, _ in run.expiries]
                bounds = ref.expiries and tuple(map(self.periods.of, ref.expiries))
                if bounds != (ends[0], ends[-1]):
                    yield ref.name, f"expiries in periods {bounds}, not {(ends[0], ends[-1])}"
                rows = [self.grid.row(inserted, self.periods) for inserted, _ in ref.days]
                columns = [self.grid.column(end, self.periods) for end in ends]
                if any(number not in found for found in (*rows, *columns)):
                    yield ref.name, f"entries that do not belong into I{number + 1}"
