"""Refuses names that readers cannot search for; ``make check`` runs it.

1. A public function or method is a verb or a noun phrase, not a bare participle (``found``,
   ``settled``): what it found or settled has to be in the name.
2. No two modules of different folders have one name, unless they mean the same: those of ``cli``
   are named after commands, and may be called as what they call.
3. No two modules of one room differ by a suffix only (``reader``, ``reading``).

Only the rooms in ``ROOMS`` are looked at; a room is added when its names are done.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "windrow"
ROOMS = (
    "archive",
    "cli",
    "columns",
    "core",
    "cql",
    "engine",
    "object_store",
    "operators",
    "papers",
    "plan",
    "result_files",
    "sharing",
    "spark",
    "streams",
    "subscriptions",
    "synopses",
    "tables",
    "windows",
)
IRREGULAR = frozenset(
    [
        "begun",
        "bent",
        "born",
        "bound",
        "bought",
        "broken",
        "brought",
        "built",
        "caught",
        "chosen",
        "come",
        "dealt",
        "done",
        "drawn",
        "driven",
        "fallen",
        "fed",
        "felt",
        "flown",
        "forgotten",
        "fought",
        "found",
        "frozen",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "led",
        "left",
        "lent",
        "lit",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "said",
        "seen",
        "sent",
        "shaken",
        "shown",
        "slain",
        "sold",
        "sought",
        "spent",
        "spoken",
        "stolen",
        "stood",
        "struck",
        "sworn",
        "taken",
        "taught",
        "thought",
        "thrown",
        "told",
        "torn",
        "understood",
        "won",
        "worn",
        "wound",
        "woven",
        "written",
    ]
)
"""Participles that do not end in -ed. Those that are verbs as they stand (put, cut, read, split)
are not among them."""
NO_PARTICIPLES = frozenset({"bed", "bleed", "embed", "exceed", "feed", "need", "proceed", "seed"})
ALLOWED_FUNCTIONS = {
    "sorted": "Python's own word for a sorted copy",
}
ALLOWED_MODULES = {
    "__init__": "every package has one",
    "base": "what all modules of its folder have in common",
    "errors": "the errors of its room",
    "invariants": "what ``verify`` holds a kind of index to",
    "migrate": "another layout for a kind of index",
    "options": "options that commands of its folder share",
    "reader": "what reads a kind of index",
}
SUFFIXES = ("ing", "ed", "er", "ers", "ion", "s")


def is_participle(name: str) -> bool:
    """Whether the whole name is one past participle.

    >>> [word for word in ("settled", "found", "feed", "cut", "found_rows") if is_participle(word)]
    ['settled', 'found']
    """
    if name in IRREGULAR:
        return True
    return name.endswith("ed") and name.isalpha() and name not in NO_PARTICIPLES


def participles(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each public function that is a bare participle."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and is_participle(node.name)
            and node.name not in ALLOWED_FUNCTIONS
        ):
            yield node.lineno, node.name


def repeated(modules: Iterable[Path]) -> dict[str, list[Path]]:
    """Names that several modules have, with the modules."""
    by_name = defaultdict(list)
    for module in modules:
        if module.stem not in ALLOWED_MODULES:
            by_name["cli" in module.parts, module.stem].append(module)
    return {name: found for (_, name), found in by_name.items() if len(found) > 1}


def alike(modules: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Pairs of modules whose names differ by a suffix only."""
    for one, other in combinations(sorted(modules), 2):
        if one.stem != other.stem and _stems(one.stem) & _stems(other.stem):
            yield one, other


def _stems(name: str) -> set[str]:
    cut = {name.removesuffix(s) for s in SUFFIXES if len(name) - len(s) > 2}
    return {name, *cut}


def problems(source: Path, rooms: Iterable[str]) -> Iterator[str]:
    """What is wrong with the names in these rooms, a line each."""
    modules = [module for room in rooms for module in sorted((source / room).rglob("*.py"))]
    for module in modules:
        for line, name in participles(ast.parse(module.read_text(encoding="utf-8"))):
            yield (
                f"{module.relative_to(source)}:{line}: {name} is a bare participle; "
                "name what the function does, or what it gives"
            )
    for name, found in repeated(modules).items():
        places = ", ".join(str(module.relative_to(source)) for module in found)
        yield f"{name}.py is the name of several modules: {places}; say what each is about"
    for room in rooms:
        for one, other in alike((source / room).rglob("*.py")):
            pair = f"{one.relative_to(source)} and {other.relative_to(source)}"
            yield f"{pair} differ by a suffix only; say how they differ"


def main() -> int:
    found = list(problems(SOURCE, ROOMS))
    print("\n".join(found) or f"names: {len(ROOMS)} rooms, nothing to say")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
