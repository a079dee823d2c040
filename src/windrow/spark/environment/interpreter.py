"""The interpreter of this process as files that run anywhere: program, standard library, libraries.

CPython finds its standard library from ``PYTHONHOME``, which the launcher sets, so a copy of both
works in any directory. The shared libraries that the program and the extension modules need go
along, apart from the C library's own: those have to fit the kernel and the loader of the worker, so
a worker needs a C library that is at least as new as the one here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from windrow.spark.environment.members import Member, PackError

LIBRARIES = "libs"
"""Where shared libraries are in the archive."""
UNNEEDED = frozenset(
    ["site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo",
     "ensurepip", "lib2to3", "pydoc_data"]
)  # fmt: skip
"""Directories of the standard library that no worker imports from."""
UNNEEDED_MODULES = re.compile(r"(_tkinter|nis|xx.*|_xx.*|_test.*|_ctypes_test)\.")
"""Extension modules that no worker imports, and that drag libraries along."""
C_LIBRARY = re.compile(
    r"(ld-.*|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nss_.*|thread_db|BrokenLocale))\.so"
)
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def interpreter_members() -> Iterator[Member]:
    """The program and its standard library."""
    if sys.platform != "linux":
        raise PackError(
            where="windrow pack",
            expected="Linux, the system of the workers",
            found=sys.platform,
            remedy="pack on a machine like the workers, or install Windrow there and set "
            "PYSPARK_PYTHON to its interpreter",
        )
    yield Member(f"bin/python{VERSION}", _program(), runs=True)
    home = f"{sys.platlibdir}/python{VERSION}"
    library = Path(sysconfig.get_path("stdlib"))
    yield from _below(
        library, home, leave_out=lambda part: part in UNNEEDED or part.startswith("config-")
    )
    modules = Path(sysconfig.get_config_var("DESTSHARED") or library / "lib-dynload")
    if modules != library / "lib-dynload":
        yield from _below(modules, f"{home}/lib-dynload", leave_out=lambda _: False)


def _program() -> Path:
    named = Path(sys.base_prefix, "bin", f"python{VERSION}")
    return (named if named.is_file() else Path(sys.executable)).resolve()


def _below(root: Path, name: str, leave_out: Callable[[str], bool]) -> Iterator[Member]:
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if any(map(leave_out, parts[:-1])) or UNNEEDED_MODULES.match(parts[-1]):
            continue
        if path.is_file():
            yield Member("/".join((name, *parts)), path)


def shared_libraries(members: Iterable[Member]) -> Iterator[Member]:
    """What the programs and modules among the members load from outside of them."""
    binaries = [m.path for m in members if m.runs or re.search(r"\.so(\.|$)", m.path.name)]
    inside = {path.resolve() for path in binaries}
    seen = set()
    for path in _needed_by(binaries):
        known = path.name in seen or path.resolve() in inside
        if not known and not C_LIBRARY.match(path.name):
            seen.add(path.name)
            yield Member(f"{LIBRARIES}/{path.name}", path.resolve())


def _needed_by(binaries: list[Path]) -> Iterator[Path]:
    """In the words of the system's own loader."""
    loader = shutil.which("ldd")
    if loader is None:
        raise PackError(
            where="windrow pack",
            expected="the program ldd, which says what libraries an interpreter needs",
            found="none on the PATH",
            remedy="install it (it comes with the C library), or pack on another machine",
        )
    answer = subprocess.run(  # noqa: S603 - on the interpreter and packages of this process
        [loader, *map(str, binaries)], capture_output=True, text=True, check=False
    )
    for found in re.findall(r"^\s+\S+ => (/.+) \(0x", answer.stdout, re.MULTILINE):
        yield Path(found)
