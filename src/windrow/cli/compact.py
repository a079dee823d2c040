"""``windrow compact``: few large files of results for many small ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.answers import count_of
from windrow.cli.console import out
from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Verbose
from windrow.result_files.compaction import compact as merge
from windrow.result_files.directory import Results
from windrow.result_files.directory_lock import hold_directories


def compact(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The directory that INTO names.")],
    verbose: Verbose = False,
) -> None:
    """Merge the small result files in PATH into a few large ones.

    Readers need not stop, and see the same rows. A run compacts its own results from time to time;
    use this command after a run has ended.

    \b
    Examples:
      windrow compact out/busy
    """
    with errors_in_words(verbose=verbose):
        Results(path)
        with hold_directories([(path, str(path))]):
            done = merge(path)
        if done is not None:
            before = count_of(done.before, "file")
            out().print(f"{path}: {before} before, {done.after:,} now")
