"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from windrow.plan.strategy import Strategy

Script = Annotated[Path, typer.Argument(metavar="SCRIPT", help="A file of CQL statements.")]
StrategyOption = Annotated[
    Strategy,
    typer.Option(
        help="How expiries are handled; upa is the fastest, the others are for comparison."
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show Spark's log, and tracebacks of errors.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the results of another run.")]
