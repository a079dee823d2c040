"""Windrow's own modules for the archive, with their kernels compiled.

Numba takes compiled code for that of a module if the module has the time and size that it had.
Archives keep times in whole seconds, so a copy is made whose times are whole seconds, made of the
contents, and the kernels are compiled there. The copy stays for the next time: if the modules that
have kernels are the same then, nothing is compiled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from windrow.spark.environment.members import Member, PackError, digest_of
from windrow.spark.environment.packages import PACKAGES

SOURCE = Path(__file__).parents[2]
ROOT_NAME = "windrow"
IMPORTS = "import windrow.engine.runner, windrow.spark.stage.stage_task, windrow.spark.match_frame"
"""What workers import; to import a kernel compiles it."""


def source_files(source: Path = SOURCE) -> dict[str, bytes]:
    """The contents of the package by name."""
    return {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def own_members(cache: Path, source: Path = SOURCE) -> Iterator[Member]:
    """The package as it is now, from a copy below ``cache``."""
    files = source_files(source)
    kernels = (text for text in files.values() if b"numba" in text or b"columns.kernels" in text)
    directory = cache / f"kernels-{digest_of([sys.version, *kernels])}"
    package = directory / ROOT_NAME
    if _update(package, files):
        _compile(directory)
    for path in sorted(package.rglob("*")):
        if path.is_file():
            yield Member(f"{PACKAGES}/{ROOT_NAME}/{path.relative_to(package).as_posix()}", path)


def _update(package: Path, files: dict[str, bytes]) -> bool:
    """Bring the copy up to date; whether anything was changed."""
    changed = False
    for path in package.rglob("*") if package.exists() else ():
        is_source = path.is_file() and "__pycache__" not in path.parts
        if is_source and path.relative_to(package).as_posix() not in files:
            path.unlink()
            changed = True
    for name, text in files.items():
        path = package / name
        if not path.exists() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            changed = True
        time = 10**9 + zlib.crc32(text) % 2**28
        os.utime(path, (time, time))
    return changed


def _compile(directory: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    answer = subprocess.run(  # noqa: S603 - this interpreter, on our own modules
        [sys.executable, "-c", IMPORTS],
        env={**kept, "PYTHONPATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        shutil.rmtree(directory, ignore_errors=True)
        raise PackError(
            where=f"windrow pack, {directory}",
            expected="modules that can be imported",
            found=(answer.stderr.strip().splitlines() or ["no reason given"])[-1],
            remedy="check that `windrow run --runner embedded` works here",
        )
