"""The files of an environment: the interpreter of this process and the packages that Windrow needs.

CPython finds its standard library from ``PYTHONHOME``, which the launcher sets, so a copy of both
works in any directory. The shared libraries that the program and the extension modules need go
along, apart from the C library's own: those have to fit the kernel and the loader of the worker, so
a worker needs a C library that is at least as new as the one here.

Packages are those that Windrow requires, and what these require; the client of object stores too,
if it is here. What is recorded as installed is
taken, less what only compilers and tests of the packages read, and less Spark's own programs: a
worker of a cluster has them, and they are most of the size.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from windrow.core.errors import WindrowError

LIBRARIES = "libs"
"""Where shared libraries are in the archive."""
LIBRARY_PARTS_LEFT_OUT = frozenset(
    ["site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo",
     "ensurepip", "lib2to3", "pydoc_data"]
)  # fmt: skip
"""Directories of the standard library that no worker imports from."""
MODULES_LEFT_OUT = re.compile(r"(_tkinter|nis|xx.*|_xx.*|_test.*|_ctypes_test)\.")
"""Extension modules that no worker imports, and that drag libraries along."""
C_LIBRARY = re.compile(
    r"(ld-.*|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nss_.*|thread_db|BrokenLocale))\.so"
)
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
DISTRIBUTION = "windrow"
FOR_TASKS = re.compile(r"""extra\s*==\s*["']s3["']""")
"""Of what Windrow can do without, that which tasks use if it is there."""
PACKAGES = "packages"
"""Where packages are in the archive."""
PACKAGE_PARTS_LEFT_OUT = frozenset(["tests", "include", "__pyinstaller"])
PACKAGE_ENDINGS_LEFT_OUT = (".pyi", ".pxd", ".pyx", ".a", ".h", ".hpp", ".cmake")
SPARK_PROGRAMS = frozenset(
    ["jars", "bin", "sbin", "examples", "data", "licenses", "python", "kubernetes"]
)


class PackError(WindrowError):
    """The environment of this process cannot be packed."""


@dataclass(frozen=True, order=True)
class Member:
    """``name`` is relative to the archive's root; ``runs`` says that it is a program."""

    name: str
    path: Path
    runs: bool = False


def digest_of(texts: Iterable[str | bytes]) -> str:
    """A short name for a sequence of texts; their borders count."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode() if isinstance(text, str) else text
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:16]


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
        library,
        home,
        leave_out=lambda part: part in LIBRARY_PARTS_LEFT_OUT or part.startswith("config-"),
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
        if any(map(leave_out, parts[:-1])) or MODULES_LEFT_OUT.match(parts[-1]):
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


def required_distributions(root: str = DISTRIBUTION) -> list[Distribution]:
    """A distribution and all that it needs, by name; what is not installed is not needed here."""
    found: dict[str, Distribution] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if _key(name) in found:
            continue
        try:
            known = distribution(name)
        except PackageNotFoundError:
            if name == root:
                raise _not_installed() from None
            continue  # for another system or version of Python
        found[_key(name)] = known
        waiting += _requirements(known)
    return [found[name] for name in sorted(found)]


def _requirements(known: Distribution) -> Iterator[str]:
    for line in known.requires or ():
        requirement, _, marker = line.partition(";")
        name = re.match(r"\s*([\w.-]+)", requirement)
        own = _key(known.name) == DISTRIBUTION
        if name and ("extra" not in marker or (own and FOR_TASKS.search(marker))):
            yield name[1]


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _not_installed() -> PackError:
    return PackError(
        where="windrow pack",
        expected="windrow as an installed package, which says what it requires",
        found="a source tree only",
        remedy="run `pip install --editable .` there, or `make setup`",
    )


def package_members(known: Distribution) -> Iterator[Member]:
    """The files of a distribution that was installed; of Windrow's own only what describes it."""
    files = known.files
    if not files:
        raise PackError(
            where=f"windrow pack, package {known.name}",
            expected="a record of its files",
            found="none, as in an environment that pip did not make",
            remedy="install windrow with pip or uv into a virtual environment, and pack from there",
        )
    own = _key(known.name) == DISTRIBUTION
    for file in files:
        name = PurePosixPath(file.as_posix())
        if name.is_absolute() or ".." in name.parts or name.suffix == ".pth":
            continue
        if own and ".dist-info" not in name.parts[0]:
            continue
        path = Path(str(known.locate_file(file)))
        if _is_needed(name) and path.is_file():
            yield Member(f"{PACKAGES}/{name}", path)


def _is_needed(name: PurePosixPath) -> bool:
    if name.parts[0] == "pyspark" and len(name.parts) > 1 and name.parts[1] in SPARK_PROGRAMS:
        return False
    return not PACKAGE_PARTS_LEFT_OUT & set(name.parts[:-1]) and not name.name.endswith(
        PACKAGE_ENDINGS_LEFT_OUT
    )
