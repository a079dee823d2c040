"""``windrow pack``: this environment as an archive."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.console import err, out
from windrow.cli.error_messages import errors_in_words
from windrow.core.errors import InputError
from windrow.spark.environment.environment_archive import (
    ENDING,
    NAME,
    WORKER_PYTHON,
    environment_archive,
)

FILE = Path(f"{NAME}{ENDING}")


def pack(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The archive to write.")] = FILE,
) -> None:
    """Pack this environment into FILE, for the workers of a Spark cluster.

    The archive holds the Python interpreter, Windrow and the packages that it needs. A worker needs
    Spark, Java and a C library as new as the one here.

    `windrow run --master` packs by itself. The file is for spark-submit, or for a place from which
    workers fetch it faster than from the driver.

    \b
    Examples:
      windrow pack
      windrow pack /shared/windrow_env.tar.gz
    """
    with errors_in_words():
        if not file.name.endswith((ENDING, ".tgz")):
            raise InputError(
                where=str(file),
                expected=f"a name that ends in {ENDING}, by which Spark knows how to unpack it",
                found=repr(file.name),
            )
        archive = environment_archive(on_work=lambda words: err().print(words))
        file.parent.mkdir(parents=True, exist_ok=True)
        hidden = file.with_name(f".{file.name}.new")
        shutil.copyfile(archive, hidden)
        hidden.replace(file)
        out().print(f"{file}: {file.stat().st_size / 1e6:,.0f} MB", highlight=False)
        out().print(
            f"use it with --conf spark.archives={file}#{NAME}, "
            f"and with spark-submit also --conf spark.pyspark.python={WORKER_PYTHON}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
