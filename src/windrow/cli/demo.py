"""``windrow demo``: a trace, a script, three answers."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress as Bar

from windrow.cli.console import err
from windrow.cli.error_messages import errors_in_words
from windrow.cli.execution import RunnerName, Settings, execute
from windrow.cli.options import Conf, Master, PyFiles, Verbose
from windrow.cli.run import QUARANTINE, Runner, finish
from windrow.cli.trace import TraceParameters, write_trace
from windrow.plan.catalog import (
    Catalog,
    Declaration,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
)
from windrow.plan.program import compile_script
from windrow.spark.run.spark_settings import is_cluster

ROWS = TraceParameters.rows
DIRECTORY = Path("demo")
CHECKPOINT = "checkpoint"


def demo(
    runner: Runner = RunnerName.SPARK,
    rows: Annotated[int, typer.Option(min=1_000, help="Connections in the trace.")] = ROWS,
    directory: Annotated[
        Path, typer.Option(help="Where the trace and the results go.")
    ] = DIRECTORY,
    master: Master = None,
    conf: Conf = [],  # noqa: B006 - typer copies it
    py_files: PyFiles = [],  # noqa: B006
    verbose: Verbose = False,
) -> None:
    """Generate a trace of IP traffic on two links, and run three queries over it.

    \b
    Examples:
      windrow demo
      windrow demo --runner embedded --rows 200000
      windrow demo --master spark://host:7077 --directory /shared/demo
    """
    with errors_in_words(verbose=verbose):
        catalog, again = prepare(directory, rows)
        settings = Settings(
            directory / QUARANTINE, runner, master, _checkpoint(directory, master), once=True,
            verbose=verbose, overwrite=again, conf=tuple(conf), py_files=tuple(py_files),
        )  # fmt: skip
        began = time.time_ns()
        finish(execute(catalog, settings), settings, began)


def _checkpoint(directory: Path, master: str | None) -> Path | None:
    """On a cluster there has to be one, beside the results; each demo starts over."""
    if master is None or not is_cluster(master):
        return None
    shutil.rmtree(directory / CHECKPOINT, ignore_errors=True)
    return directory / CHECKPOINT


def script() -> str:
    """The text of ``examples/traffic.cql``, which is installed with the package."""
    return files("windrow.cli").joinpath("traffic.cql").read_text(encoding="utf-8")


def prepare(directory: Path, rows: int) -> tuple[Catalog, bool]:
    """Write the trace unless it is there, and compile the script.

    What stands beside a trace that was there is the last demo's and may be replaced: that is the
    second value.
    """
    console = err()
    trace = directory / "data" / "trace"
    fresh = not trace.exists()
    catalog = below(compile_script(script()).catalog, directory)
    console.print(f"a trace of {rows:,} connections over 30 days in {directory / 'data'}")
    with Bar(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("writing the trace", total=None)
        write_trace(
            trace,
            TraceParameters(rows=rows),
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    return catalog, not fresh


def below(catalog: Catalog, directory: Path) -> Catalog:
    """The same catalog with the relative paths of its sources and results below ``directory``."""

    def move_paths(declaration: Declaration) -> Declaration:
        if isinstance(declaration, StreamDeclaration | RelationDeclaration) and declaration.source:
            path = str(directory / declaration.source.path)
            return replace(declaration, source=replace(declaration.source, path=path))
        if isinstance(declaration, QueryDeclaration) and declaration.into:
            path = str(directory / declaration.into.path)
            return replace(declaration, into=replace(declaration.into, path=path))
        return declaration

    return Catalog({name: move_paths(d) for name, d in catalog.declarations.items()})
