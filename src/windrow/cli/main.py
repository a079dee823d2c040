"""The ``windrow`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli import demo as demonstration
from windrow.cli.answers import print_report, warn_of_unused
from windrow.cli.archive.app import app as archive_app
from windrow.cli.execution import Outcome, RunnerName, Settings, execute
from windrow.cli.words import err, errors_in_words, out, read_script
from windrow.core.errors import InputError
from windrow.plan.binder import ExplainRequest
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.explain import explain as explained
from windrow.plan.program import Compiled, compile_script
from windrow.plan.shared_selection import shared_selections
from windrow.plan.strategy import Strategy

INTERRUPTED = 130


class ResultFormat(StrEnum):
    """How files of results are written."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


QUARANTINE = Path("quarantine")

app = typer.Typer(
    name="windrow",
    help="Continuous queries over sliding windows, written in CQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(archive_app)

Script = Annotated[Path, typer.Argument(metavar="SCRIPT", help="A file of CQL statements.")]
Runner = Annotated[RunnerName, typer.Option(help="Where the queries run.")]
Master = Annotated[
    str | None,
    typer.Option(help="Spark's master; local\\[*] if not given.", show_default=False),
]
StrategyOption = Annotated[
    Strategy,
    typer.Option(
        help="How expiries are handled; upa is the one to use, the others are its rivals."
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show Spark's log, and tracebacks of errors.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        out().print(f"windrow {version('windrow')}")
        raise typer.Exit


@app.callback()
def windrow(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Continuous queries over sliding windows, written in CQL."""


@app.command()
def run(
    script: Script,
    runner: Runner = RunnerName.SPARK,
    master: Master = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep progress here, and go on from it.", show_default=False),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Stop at the end of the files that are there now.")
    ] = False,
    quarantine: Annotated[
        Path, typer.Option(help="Put rows that cannot be used here.")
    ] = QUARANTINE,
    strategy: StrategyOption = Strategy.UPA,
    verbose: Verbose = False,
) -> None:
    """Run the queries of SCRIPT until Ctrl-C, or once over the files that are there.

    Paths in the script are relative to the current directory.

    Rows that are not as declared, or come too late, are put aside with the reason.

    \b
    Examples:
      windrow run traffic.cql --once
      windrow run traffic.cql --runner embedded --once
      windrow run traffic.cql --checkpoint state/ --quarantine bad/
      windrow run traffic.cql --master spark://host:7077
    """
    settings = Settings(quarantine, runner, master, checkpoint, once, verbose, strategy)
    with errors_in_words(script, verbose=verbose):
        compiled = _compiled(script, strategy)
        _print_plans(compiled, compiled.explains, strategy)
        if compiled.queries or compiled.catalog.archives:
            _finish(execute(compiled.catalog, settings), settings)


@app.command()
def explain(
    script: Script, strategy: StrategyOption = Strategy.UPA, verbose: Verbose = False
) -> None:
    """Show the plan of each query of SCRIPT, with the update pattern of every edge.

    \b
    Example:
      windrow explain traffic.cql
    """
    with errors_in_words(script, verbose=verbose):
        compiled = _compiled(script, strategy)
        _print_plans(compiled, [*compiled.queries, *compiled.explains], strategy)


@app.command()
def match(
    subscriptions: Annotated[
        Path, typer.Argument(help="A file of subscriptions: csv, json lines or parquet.")
    ],
    data: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="Files, directories or patterns.")
    ],
    on: Annotated[
        str | None,
        typer.Option(help="Columns that the subscriptions are about.", show_default=False),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="The type of a column that a csv file does not tell, as price=decimal(20,4).",
            show_default=False,
        ),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Keep the matches here.", show_default=False)
    ] = None,
    format_: Annotated[
        ResultFormat, typer.Option("--format", help="Format of the matches that are kept.")
    ] = ResultFormat.PARQUET,
    verbose: Verbose = False,
) -> None:
    """Say which subscriptions each row of DATA satisfies.

    A file of subscriptions has a column id, and for each attribute x a condition in a column x,
    such as \\[100, 200) or > 5 or in ('a', 'b'), or the columns x_min and x_max.

    \b
    Examples:
      windrow match alerts.csv data/flows/
      windrow match alerts.csv 'data/*.parquet' --on bytes,src --into out/alerts
    """
    with errors_in_words(verbose=verbose):
        from windrow.cli.matching import match_files  # noqa: PLC0415 - compiled kernels load here

        names = [name.strip() for name in on.split(",")] if on else []
        match_files(subscriptions, data, names, types or [], into, format_)


@app.command()
def demo(
    runner: Runner = RunnerName.SPARK,
    rows: Annotated[
        int, typer.Option(min=1_000, help="Connections in the trace.")
    ] = demonstration.ROWS,
    directory: Annotated[
        Path, typer.Option(help="Where the trace and the results go.")
    ] = demonstration.DIRECTORY,
    verbose: Verbose = False,
) -> None:
    """Make a trace of IP traffic on two links, and run three queries over it.

    \b
    Examples:
      windrow demo
      windrow demo --runner embedded --rows 200000
    """
    settings = Settings(directory / QUARANTINE, runner, once=True, verbose=verbose)
    with errors_in_words(verbose=verbose):
        catalog = demonstration.prepare(directory, rows)
        _finish(execute(catalog, settings), settings)


def _compiled(script: Path, strategy: Strategy) -> Compiled:
    compiled = compile_script(read_script(script), strategy=strategy)
    if not (compiled.queries or compiled.explains or compiled.catalog.archives):
        raise InputError(
            where=str(script), expected="a CREATE QUERY or a SELECT", found="nothing to run"
        )
    return compiled


def _print_plans(
    compiled: Compiled, subjects: Sequence[QueryDeclaration | ExplainRequest], strategy: Strategy
) -> None:
    if subjects:
        shared = shared_selections(compiled.queries)
        texts = (explained(s, strategy, shared).rstrip() for s in subjects)
        out().print("\n\n".join(texts))


def _finish(outcome: Outcome, settings: Settings) -> None:
    print_report(outcome.report, out(), settings.quarantine)
    warn_of_unused(outcome.report, err(), settings.quarantine)
    if outcome.stopped:
        again = (
            "run the same command to go on"
            if settings.checkpoint
            else "the next run begins anew, since there is no --checkpoint"
        )
        err().print(f"stopped; {again}")
        if settings.once:
            raise typer.Exit(INTERRUPTED)


def main() -> None:
    """Entry point of the ``windrow`` command."""
    try:
        app()
    except KeyboardInterrupt:
        err().print("stopped at once")
        sys.exit(INTERRUPTED)
