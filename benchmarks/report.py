"""What every benchmark has in common: its options, its results file, its last line.

A benchmark measures Windrow and its rivals in turns, several times, and compares medians: what
else the machine does at the time then falls on both. The last line that it prints is
``ratio: X``, ours over the best rival, greater is better.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def quick_asked(name: str, description: str, argv: Sequence[str] | None = None) -> bool:
    """Whether the command line asks for the short run."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument(
        "--quick", action="store_true", help="fewer sizes and rounds; writes no results file"
    )
    return bool(parser.parse_args(argv).quick)


def say(text: str = "") -> None:
    """Print a line at once, also into a pipe."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns, the first flush left, the others flush right."""
    cells = [list(heads), *([_cell(c) for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        first, *rest = (
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        say("  ".join(["  " + first, *rest]))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def median(values: Iterable[float]) -> float:
    return float(statistics.median(values))


def finish(ratio: float) -> None:
    say(f"ratio: {ratio:.2f}")


def save(name: str, results: dict[str, Any]) -> Path:
    """Write ``results/NAME.json`` with what one has to know about the machine."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"benchmark": name, "measured": _now(), "machine": _machine(), **results}
    path.write_text(json.dumps(content, indent=1) + "\n")
    say(f"results are in {os.path.relpath(path)}")
    return path


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _machine() -> dict[str, Any]:
    packages = ("windrow", "pyarrow", "numba", "numpy", "pyspark")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {p: metadata.version(p) for p in packages},
    }


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
