"""Runs the blocks of a page, in their order, in the current directory."""

from __future__ import annotations

import contextlib
import io
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
from typer.testing import CliRunner

from tests.docs.blocks import OUTPUTS, Block
from tests.support.runs import run_embedded
from windrow.cli.main import app
from windrow.core.errors import ScriptError, WindrowError
from windrow.plan.catalog import Catalog, Destination, QueryDeclaration
from windrow.plan.explain import explain
from windrow.plan.program import compile_script
from windrow.result_files.change_table import read_changes
from windrow.result_files.identity import changes_schema
from windrow.tables.fit import is_number


@dataclass(frozen=True)
class Shown:
    """What a block of the page shows, and what happened when the page was run."""

    block: Block
    happened: str


@dataclass
class Page:
    """What earlier blocks have left: declarations, and names of Python.

    The first commands on Spark of a page are run as a user does it, in a process that starts Spark.
    """

    catalog: Catalog = field(default_factory=Catalog)
    names: dict[str, Any] = field(default_factory=dict)
    count: int = 0
    apart: bool = True

    def run(self, found: Sequence[Block], *, spark: bool = False) -> Iterator[Shown]:
        """Each block with an output, next to what it should show."""
        for block, following in zip_longest(found, found[1:]):
            if block.file is not None:
                path = Path(block.file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            if not block.runs or (block.on_spark and not spark):
                continue
            output = following if following and following.kind in OUTPUTS else None
            if block.kind == "console":
                yield Shown(block, said(block, apart=self.apart and block.on_spark))
                self.apart = self.apart and not block.on_spark
                continue
            if block.kind == "python":
                happened = self._python(block)
            else:
                happened = self._script(block, output)
            if output is not None:
                yield Shown(output, happened)
            elif happened:
                raise AssertionError(f"line {block.line}: nothing shows what it prints: {happened}")

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, f"line {block.line}", "exec"), self.names)
        return printed.getvalue()

    def _script(self, block: Block, output: Block | None) -> str:
        try:
            compiled = compile_script(block.text, self.catalog)
            if compiled.explains:
                return explain(compiled.explains[0]).rstrip() + "\n"
            if not compiled.queries:
                self.catalog = compiled.catalog
                return ""
            changes = self._changes(compiled.catalog, compiled.queries[-1])
        except ScriptError as error:
            return f"error: {error}\n{error.with_source(block.text).excerpt()}".rstrip() + "\n"
        except WindrowError as error:
            return f"error: {error}\n"
        timeline = output is not None and output.kind == "timeline"
        warned = "".join(f"warning: {w}\n{w.excerpt()}\n" for w in compiled.warnings)
        return warned + (as_timeline(changes) if timeline else as_table(changes))

    def _changes(self, catalog: Catalog, query: QueryDeclaration) -> pa.Table:
        self.count += 1
        directory = Path(f"results/{self.count}")
        alone = {n: d for n, d in catalog.declarations.items() if not isinstance(d, type(query))}
        into = replace(query, into=Destination(str(directory), "parquet"))
        run_embedded(
            Catalog(alone).adding(into),
            once=True,
            quarantine=Path("quarantine"),
            on_progress=lambda _: None,
        )
        return read_changes(directory, "parquet", changes_schema(query.plan.schema, query.clock))


def said(block: Block, *, apart: bool = False) -> str:
    """The commands of a console block, each with what it prints (progress left out)."""
    lines = []
    for command in (line for line in block.text.splitlines() if line.startswith("$ ")):
        words = shlex.split(command.removeprefix("$ "))
        lines += [command, (_said_apart if apart else _said)(words).strip("\n")]
    return "\n".join(line for line in lines if line) + "\n"


def _said(words: list[str]) -> str:
    match words:
        case ["cat", name]:
            return Path(name).read_text()
        case ["ls", name]:
            return "\n".join(sorted(p.name for p in Path(name).iterdir()))
        case ["cp", source, target]:
            Path(target).write_bytes(Path(source).read_bytes())
            return ""
        case ["windrow", *arguments]:
            given = Path(arguments[-1]).read_text() if "<" in arguments else None
            arguments = arguments if given is None else arguments[:-2]
            found = CliRunner().invoke(app, arguments, input=given)
            if found.exception is not None and not isinstance(found.exception, SystemExit):
                raise found.exception
            return found.stdout or found.stderr
    raise AssertionError(f"the tests do not know the command {words[0]}")


def _said_apart(words: list[str]) -> str:
    """In a process of its own."""
    code = "from windrow.cli.main import main; main()"
    command = [sys.executable, "-c", code, *words[1:]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def as_table(changes: pa.Table) -> str:
    """Changes in columns; what happens at one instant has no order, so it is sorted here."""
    rows = [[_shown(v) for v in row.values()] for row in changes.to_pylist()]
    order = {"-": 0, "+": 1}
    keys = [
        ((i is not None, i or 0), order[row[1]], row[2:])
        for i, row in zip(changes["instant"].to_pylist(), rows, strict=True)
    ]
    rows = [row for _, row in sorted(zip(keys, rows, strict=True))]
    numeric = [is_number(t) for t in changes.schema.types]
    lines = [changes.column_names, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(numeric))]
    return "".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip() + "\n"
        for line in lines
    )  # fmt: skip


def as_timeline(changes: pa.Table) -> str:
    """A line per row of the answer and a column per instant: how many of it there are then."""
    events = [
        (row["instant"], row["change"], " ".join(_shown(v) for v in list(row.values())[2:]))
        for row in changes.to_pylist()
    ]
    instants = range(min(e[0] for e in events), max(e[0] for e in events) + 1)
    names = list(dict.fromkeys(name for _, _, name in sorted(events, key=lambda e: (e[0], e[2]))))
    widths = [max(len(str(i)), 1) for i in instants]
    label = max(len(name) for name in ("instant", *names))
    lines = ["instant".ljust(label) + "  " + " ".join(str(i) for i in instants)]
    for name in names:
        held: Counter[str] = Counter()
        cells = []
        for instant, width in zip(instants, widths, strict=True):
            for at, change, other in events:
                if at == instant and other == name:
                    held[name] += 1 if change == "+" else -1
            sign = {0: "·", 1: "█"}.get(held[name], str(held[name]))
            cells.append(sign.rjust(width))
        lines.append(name.ljust(label) + "  " + " ".join(cells))
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    return "NULL" if value is None else str(value)
