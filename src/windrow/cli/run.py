"""``windrow run``: a script's queries over their input."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.answers import print_reasons, print_report, warn_of_unused
from windrow.cli.console import err, out
from windrow.cli.error_messages import INTERRUPTED, errors_in_words, read_script
from windrow.cli.execution import Outcome, RunnerName, Settings, execute
from windrow.cli.explain import compiled_from, print_listings, print_plans
from windrow.cli.options import (
    Conf,
    Master,
    Overwrite,
    PyFiles,
    Script,
    StrategyOption,
    Verbose,
    place_of,
)
from windrow.core.paths import is_object_url
from windrow.plan.catalog import Catalog
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.program import Compiled
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy
from windrow.sharing.schedule import POLICIES

QUARANTINE = Path("quarantine")

Runner = Annotated[RunnerName, typer.Option(help="Where the queries run.")]


def run(
    script: Script,
    runner: Runner = RunnerName.SPARK,
    master: Master = None,
    conf: Conf = [],  # noqa: B006 - typer copies it
    py_files: PyFiles = [],  # noqa: B006
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            parser=place_of,
            metavar="DIRECTORY",
            help="Save progress in this directory, or at s3://bucket/path, and resume from it.",
            show_default=False,
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Stop after the files that exist now.")
    ] = False,
    quarantine: Annotated[
        Path | None,
        typer.Option(
            parser=place_of,
            metavar="DIRECTORY",
            help="Write rows that cannot be used to this directory, or to s3://bucket/path. "
            "If not given: quarantine, below a --checkpoint at s3://.",
            show_default=False,
        ),
    ] = None,
    overwrite: Overwrite = False,
    strategy: StrategyOption = Strategy.UPA,
    metrics: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            help="Serve metrics for Prometheus on this port of 127.0.0.1; 0 picks a free one.",
            show_default=False,
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Which queries with SLIDE run together: " + ", ".join(POLICIES) + ". With "
            "--max-delay, late-pending if not given; else each runs when it is due.",
            show_default=False,
        ),
    ] = None,
    max_delay: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Answer queries with SLIDE less often when processing is further behind.",
            show_default=False,
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Run the queries of SCRIPT until Ctrl-C, or once over the files that exist.

    Paths in the script are relative to the current directory.

    Rows that do not fit the declaration, or are late, go to the quarantine with the reason.

    On a cluster the workers get this environment by themselves (see `windrow pack`); script paths
    and --checkpoint are then on a disk that driver and workers share.

    A run with the same --checkpoint adds to its results; any other run needs --overwrite to
    replace them.

    \b
    Examples:
      windrow run traffic.cql --once
      cat traffic.cql | windrow run - --once
      windrow run traffic.cql --runner embedded --once
      windrow run traffic.cql --checkpoint state/ --quarantine bad/
      windrow run traffic.cql --master spark://host:7077 --checkpoint /shared/state
      windrow run traffic.cql --conf spark.driver.memory=4g
      windrow run traffic.cql --checkpoint state/ --metrics 9400
      windrow run traffic.cql --checkpoint state/ --max-delay 5
    """
    with errors_in_words(script, verbose=verbose):
        refused = quarantine or default_quarantine(checkpoint)
        settings = Settings(
            refused, runner, master, checkpoint, once, verbose, strategy, overwrite,
            tuple(conf), tuple(py_files), metrics,
            ScheduleOptions.of(schedule, max_delay, "windrow run"),
        )  # fmt: skip
        compiled = compiled_from(script, strategy, lambda made: observe_streams(made, settings))
        if runner is RunnerName.EMBEDDED:  # workers of Spark's may have others than this process
            from windrow.engine.function_declarations import load_functions  # noqa: PLC0415

            load_functions(compiled.catalog, Catalog(), read_script(script))
        print_listings(compiled.listings)
        print_plans(compiled, compiled.explains, strategy)
        if compiled.queries or compiled.catalog.archives:
            began = time.time_ns()
            finish(execute(compiled.catalog, settings), settings, began)


def default_quarantine(checkpoint: Path | None) -> Path:
    """Workers on other machines see a checkpoint in an object store, and no directory from here."""
    if checkpoint is not None and is_object_url(checkpoint):
        return checkpoint / QUARANTINE
    return QUARANTINE


def observe_streams(compiled: Compiled, settings: Settings) -> StreamStatistics | None:
    """What plans are made with: what the checkpoint kept, or what the first rows say."""
    from windrow.engine.observed import observe_files  # noqa: PLC0415 - compiles kernels
    from windrow.spark.checkpoint.plan_statistics import keep_statistics  # noqa: PLC0415

    wanted = [*compiled.queries, *(request.query for request in compiled.explains)]
    plans = [query.plan for query in wanted]

    def observe() -> StreamStatistics | None:
        return observe_files(compiled.catalog, plans) if plans else None

    checkpoint = settings.checkpoint
    if checkpoint is None or settings.runner is RunnerName.EMBEDDED:
        return observe()
    return keep_statistics(checkpoint, observe)


def finish(outcome: Outcome, settings: Settings, began: int) -> None:
    """Print what came of a run that began so many nanoseconds after 1970."""
    print_report(outcome.report, out(), settings.quarantine)
    print_reasons(outcome.report, err(), settings.quarantine, began)
    warn_of_unused(outcome.report, err(), settings.quarantine)
    if outcome.stopped:
        files = any(q.destination and q.waiting is None for q in outcome.report.queries)
        replacing = " (and replaces these results with --overwrite)" if files else ""
        again = (
            "run the same command to resume"
            if settings.checkpoint
            else f"the next run starts over{replacing}, since there is no --checkpoint"
        )
        err().print(f"stopped; {again}")
        if settings.once:
            raise typer.Exit(INTERRUPTED)
