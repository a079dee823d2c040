"""``windrow explain``: the plans of a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from windrow.cli.console import out, print_warning
from windrow.cli.error_messages import errors_in_words, read_script
from windrow.cli.options import Script, StrategyOption, Verbose, place_of
from windrow.core.errors import InputError, StateError
from windrow.core.warnings import WindrowWarning
from windrow.plan.binder import ExplainRequest
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.explain import explain as explained
from windrow.plan.jobs import Group, groups_among
from windrow.plan.listing import Listing
from windrow.plan.program import Compiled, compile_script
from windrow.plan.strategy import Strategy

Share = Callable[[Sequence[QueryDeclaration]], Sequence[Group]]
"""Says what queries share."""


def explain(
    script: Script,
    strategy: StrategyOption = Strategy.UPA,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="CHECKPOINT",
            parser=place_of,
            help="Plan with the figures of this checkpoint, and say what new queries join there.",
            show_default=False,
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Show the plan of each query of SCRIPT, with the update pattern of every edge.

    \b
    Examples:
      windrow explain traffic.cql
      windrow explain traffic.cql --checkpoint state/
      echo "SHOW FUNCTIONS" | windrow explain -
    """
    with errors_in_words(script, verbose=verbose):
        if checkpoint is None:
            _print_script(compiled_from(script, strategy), strategy)
        else:
            _print_resumed(script, strategy, checkpoint)


def _print_script(compiled: Compiled, strategy: Strategy, share: Share | None = None) -> None:
    print_listings(compiled.listings)
    print_plans(compiled, [*compiled.queries, *compiled.explains], strategy, share)


def _print_resumed(script: Path, strategy: Strategy, checkpoint: Path) -> None:
    """The script as it would resume from a checkpoint: its new queries join those there."""
    from windrow.spark.checkpoint.plan_statistics import (  # noqa: PLC0415 - loads Arrow
        read_statistics,
    )
    from windrow.spark.checkpoint.query_groups import groups_of  # noqa: PLC0415 - loads Arrow
    from windrow.spark.checkpoint.script_record import keep_schedule  # noqa: PLC0415 - loads Arrow
    from windrow.spark.checkpoint.working_copy import notes_of  # noqa: PLC0415 - loads Arrow

    with notes_of(checkpoint) as notes:

        def share(queries: Sequence[QueryDeclaration]) -> Sequence[Group]:
            schedule = keep_schedule(notes, None)
            try:
                groups = groups_of(queries, notes, strategy, schedule, joining=True)
            except StateError as error:  # a run would be refused; its plans can be looked at
                print_warning(WindrowWarning(str(error)))
                return groups_among(queries, strategy)
            return [group.shared for group in groups]

        compiled = compiled_from(script, strategy, lambda _: read_statistics(notes))
        _print_script(compiled, strategy, share)


def compiled_from(
    script: Path,
    strategy: Strategy,
    observe: Callable[[Compiled], StreamStatistics | None] = lambda _: None,
) -> Compiled:
    """The script with its plans; ``observe`` gets it without, and says what is known."""
    text = read_script(script)
    compiled = compile_script(text, strategy=strategy)
    if not compiled.asks:
        raise InputError(
            where=str(script), expected="a CREATE QUERY or a SELECT", found="nothing to run"
        )
    for warning in compiled.warnings:
        print_warning(warning, script)
    statistics = observe(compiled)
    return compiled if statistics is None else compile_script(text, None, strategy, statistics)


def print_listings(listings: Sequence[Listing]) -> None:
    """What SHOW and DESCRIBE say."""
    for listing in listings:
        out().print(listing.title)
        table = Table()
        for heading in listing.headings:
            table.add_column(heading)
        for row in listing.rows:
            table.add_row(*(Text("" if value is None else value) for value in row))
        out().print(table, soft_wrap=False)


def print_plans(
    compiled: Compiled,
    subjects: Sequence[QueryDeclaration | ExplainRequest],
    strategy: Strategy,
    share: Share | None = None,
) -> None:
    """The plans of some queries. What EXPLAIN is of and no query of the script is said as if it
    were one more of these."""
    share = share or partial(groups_among, strategy=strategy)
    known = {(query.name, query.span) for query in compiled.queries}
    together = share(compiled.queries) if subjects else ()
    texts = []
    for subject in subjects:
        query = subject.query if isinstance(subject, ExplainRequest) else subject
        groups = together
        if (query.name, query.span) not in known:
            groups = share([*(q for q in compiled.queries if q.name != query.name), query])
        texts.append(explained(subject, strategy, groups, compiled.queries).rstrip())
    if texts:
        out().print("\n\n".join(texts))
