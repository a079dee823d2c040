"""The packages that Windrow needs, as files: those that it requires, and what these require.

What is recorded as installed is taken, less what only compilers and tests of the packages read, and
less Spark's own programs: a worker of a cluster has them, and they are most of the size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from windrow.spark.environment.members import Member, PackError

ROOT = "windrow"
PACKAGES = "packages"
"""Where packages are in the archive."""
UNNEEDED = frozenset(["tests", "include", "__pyinstaller"])
UNNEEDED_ENDINGS = (".pyi", ".pxd", ".pyx", ".a", ".h", ".hpp", ".cmake")
SPARK_PROGRAMS = frozenset(
    ["jars", "bin", "sbin", "examples", "data", "licenses", "python", "kubernetes"]
)


def required_distributions(root: str = ROOT) -> list[Distribution]:
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
        if name and "extra" not in marker:
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
    own = _key(known.name) == ROOT
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
    return not UNNEEDED & set(name.parts[:-1]) and not name.name.endswith(UNNEEDED_ENDINGS)
