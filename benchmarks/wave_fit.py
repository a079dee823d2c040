"""The cost model's parameters from archives that were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.wave_days import Data
from benchmarks.wave_measured import Measured, Setting
from windrow.archive.advise.parameters import Parameters, UpdateTechnique
from windrow.archive.advise.wave_costs import Effort, efforts

KINDS = tuple(Effort.__dataclass_fields__)


@dataclass(frozen=True)
class Fit:
    """Parameters, the seconds of a step whatever it does, and the share of variance explained."""

    parameters: Parameters
    fixed: float
    explained: float


def fitted(data: Data, runs: Mapping[Setting, Measured], probes: float, scans: float) -> Fit:
    """Least squares, none of the costs below zero, over all maintenance of all runs.

    Techniques that the paper does not have are left out.
    """
    runs = {s: m for s, m in runs.items() if s.technique in [t.value for t in UpdateTechnique]}
    settings = list(runs)
    counts = np.array([_counts(setting) for setting in settings])
    times = np.array([runs[s].transition + runs[s].preparation for s in settings])
    costs = _not_negative(np.column_stack([np.ones(len(settings)), counts]), times)
    errors = times - np.column_stack([np.ones(len(settings)), counts]) @ costs
    by_kind = dict(zip(KINDS, costs[1:].tolist(), strict=True))
    packed = {s: m for s, m in runs.items() if s.scheme == "REINDEX"}
    seek, rest = np.polyfit([s.n for s in packed], [m.probe for m in packed.values()], 1)
    window = settings[0].window
    one = min(packed, key=lambda s: s.n)
    space = packed[one].space / window
    read = packed[one].space / (one.n if data.newest else 1)
    transfer = read / max(packed[one].scan, 1e-9)
    grown = [m.space for s, m in runs.items() if s.scheme == "DEL" and s.n == one.n]
    return Fit(
        Parameters(
            seek=max(float(seek), 1e-9),
            transfer=transfer,
            packed=space,
            unpacked=max([space, *(value / window for value in grown)]),
            bucket=max(float(rest), 0.0) / window * transfer,
            build=by_kind["built"],
            add=by_kind["added"],
            delete=by_kind["deleted"],
            copy=by_kind["copied"],
            smart_copy=by_kind["smart_copied"],
            probes=probes,
            scans=scans,
            scan_indexes=1 if data.newest else None,
        ),
        float(costs[0]),
        float(1 - errors.var() / times.var()),
    )


def _counts(setting: Setting) -> list[float]:
    """Days built, added and so on per day of this archive."""
    days = efforts(setting.scheme, setting.window, setting.n)[UpdateTechnique(setting.technique)]
    spent = [day.pre + day.transition for day in days]
    return [float(np.mean([getattr(effort, kind) for effort in spent])) for kind in KINDS]


def _not_negative(counts: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Least squares without the columns whose cost would be negative, the worst first."""
    kept = list(range(counts.shape[1]))
    while True:
        found = np.linalg.lstsq(counts[:, kept], times, rcond=None)[0]
        if found.min() >= 0 or len(kept) == 1:
            costs = np.zeros(counts.shape[1])
            costs[kept] = found
            return costs
        kept.pop(int(found.argmin()))
