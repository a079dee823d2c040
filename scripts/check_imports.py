"""Finds imports of modules and names that are not there; ``make check`` runs it.

mypy does so for ``src``. Tests and benchmarks are not typed, and one whose import is stale is only
noticed when pytest collects it or when the benchmark is run again. Here they are parsed, not
imported: no package is loaded for it, and all of it takes a second.

A name is there if its module defines or imports it where that happens whenever the module is
imported, or lists it in ``__all__`` beside a ``__getattr__`` that loads it late.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "windrow": "src/windrow",
    "tests": "tests",
    "benchmarks": "benchmarks",
    "examples": "examples",
    "scripts": "scripts",
}
"""Our own packages, and where they are."""
READ = ("tests", "benchmarks", "examples", "scripts")
"""Folders whose imports are looked at."""


def names_of(body: list[ast.stmt]) -> Iterator[str]:
    """What these statements of a module bind, those in blocks among them."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield statement.name
            case ast.Import() | ast.ImportFrom():
                yield from ((a.asname or a.name).partition(".")[0] for a in statement.names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from names_of(statement.orelse)
            case _:
                yield from _bound_in(statement)


def _bound_in(statement: ast.stmt) -> Iterator[str]:
    for _, value in ast.iter_fields(statement):
        for part in value if isinstance(value, list) else [value]:
            match part:
                case ast.stmt():
                    yield from names_of([part])
                case ast.ExceptHandler() | ast.match_case():
                    yield from names_of(part.body)
                case ast.AST():
                    yield from (
                        node.id
                        for node in ast.walk(part)
                        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                    )


def late_names(body: list[ast.stmt]) -> frozenset[str]:
    """What ``__getattr__`` of a module loads: the names of ``__all__``."""
    if "__getattr__" not in names_of(body):
        return frozenset()
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements)):
                return frozenset(e.value for e in elements if isinstance(e, ast.Constant))
    return frozenset()


@dataclass
class Tree:
    """The packages below a root, each file parsed once."""

    root: Path
    _bodies: dict[Path, list[ast.stmt]] = field(default_factory=dict)
    _names: dict[Path, frozenset[str]] = field(default_factory=dict)

    def body(self, file: Path) -> list[ast.stmt]:
        """The statements of a file; of one that is not there, none."""
        if file not in self._bodies:
            self._bodies[file] = ast.parse(file.read_bytes()).body if file.is_file() else []
        return self._bodies[file]

    def place(self, module: str) -> Path | None:
        """The file of a module, the folder of a package, or nothing."""
        package, *rest = module.split(".")
        place = self.root.joinpath(PACKAGES[package], *rest)
        file = place.with_name(f"{place.name}.py")
        return file if file.is_file() else place if place.is_dir() else None

    def has(self, module: str, name: str) -> bool:
        """Whether this can be imported from a module that is there."""
        if name == "*" or self.place(f"{module}.{name}"):
            return True
        place = self.place(module)
        assert place is not None
        file = place / "__init__.py" if place.is_dir() else place
        if file not in self._names:
            body = self.body(file)
            self._names[file] = late_names(body) | {*names_of(body)}
        return name in self._names[file]

    def problems(self, file: Path) -> Iterator[str]:
        """What this file imports and is not there, a line each."""
        for node in (node for statement in self.body(file) for node in ast.walk(statement)):
            for module, name in _imports(node):
                if self.place(module) is None:
                    what = f"there is no module {module}"
                elif name and not self.has(module, name):
                    what = f"{module} has no {name}"
                else:
                    continue
                where = f"{file.relative_to(self.root)}:{node.lineno}"
                yield f"{where}: {what}; import it from where it is now, or leave it out"


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The modules of ours that a statement imports, each with a name that it takes from it."""
    if isinstance(node, ast.Import):
        found = [(alias.name, "") for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        found = [(node.module, alias.name) for alias in node.names]
    else:
        return
    yield from (pair for pair in found if pair[0].partition(".")[0] in PACKAGES)


def problems(root: Path = ROOT) -> Iterator[str]:
    """What is imported below a root and is not there, a line each."""
    tree = Tree(root)
    for folder in READ:
        for file in sorted((root / folder).rglob("*.py")):
            yield from tree.problems(file)


def main() -> int:
    gc.disable()  # syntax trees are many objects and no garbage; half of the time would go there
    found = list(problems())
    print("\n".join(found) or f"imports: {len(READ)} folders, nothing to say")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
