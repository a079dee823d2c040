"""The commands of ``windrow archive``."""

from __future__ import annotations

import typer

from windrow.cli.archive.advising import advise
from windrow.cli.archive.asking import export, probe, scan, sql
from windrow.cli.archive.filling import advance, append
from windrow.cli.archive.keeping import plan, stat, vacuum, verify
from windrow.cli.archive.making import create
from windrow.cli.archive.migrating import migrate

COMMANDS = (
    create, append, advance, probe, scan, sql, export, stat, plan, verify, vacuum, advise, migrate,
)  # fmt: skip

app = typer.Typer(
    name="archive",
    help="An indexed window of days on disk that forgets on time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command()(command)
