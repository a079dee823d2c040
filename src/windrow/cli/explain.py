"""``windrow explain``: the plans of a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from windrow.cli.console import out, print_warning
from windrow.cli.error_messages import errors_in_words, read_script
from windrow.cli.options import Script, StrategyOption, Verbose
from windrow.core.errors import InputError
from windrow.plan.binder import ExplainRequest
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.explain import explain as explained
from windrow.plan.jobs import groups_among
from windrow.plan.listing import Listing
from windrow.plan.program import Compiled, compile_script
from windrow.plan.strategy import Strategy


def explain(
    script: Script, strategy: StrategyOption = Strategy.UPA, verbose: Verbose = False
) -> None:
    """Show the plan of each query of SCRIPT, with the update pattern of every edge.

    \b
    Examples:
      windrow explain traffic.cql
      echo "SHOW FUNCTIONS" | windrow explain -
    """
    with errors_in_words(script, verbose=verbose):
        compiled = compiled_from(script, strategy)
        print_listings(compiled.listings)
        print_plans(compiled, [*compiled.queries, *compiled.explains], strategy)


def compiled_from(script: Path, strategy: Strategy) -> Compiled:
    compiled = compile_script(read_script(script), strategy=strategy)
    if not compiled.asks:
        raise InputError(
            where=str(script), expected="a CREATE QUERY or a SELECT", found="nothing to run"
        )
    for warning in compiled.warnings:
        print_warning(warning, script)
    return compiled


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
    compiled: Compiled, subjects: Sequence[QueryDeclaration | ExplainRequest], strategy: Strategy
) -> None:
    if subjects:
        shared = groups_among(compiled.queries, strategy)
        texts = (explained(s, strategy, shared).rstrip() for s in subjects)
        out().print("\n\n".join(texts))
