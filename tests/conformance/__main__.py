"""The command line: ``python -m tests.conformance DIR --runner embedded|spark``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.conformance.case import load
from tests.conformance.running import run, runner


def main(arguments: list[str] | None = None) -> int:
    """Run the cases of a directory; 0 if all of them pass."""
    options = parsed(arguments)
    paths = sorted(options.directory.glob("*.json"))
    if options.only is not None:
        paths = [path for path in paths if path.stem == options.only]
    if not paths:
        named = f" named {options.only}" if options.only is not None else ""
        print(f"{options.directory}: no case file (*.json){named} there", file=sys.stderr)
        return 2
    passed = failed = 0
    with runner(options.runner) as connect:
        for path in paths:
            outcome = run(load(path), connect, options.pieces)
            if outcome.failure is None:
                passed += 1
            else:
                failed += 1
                print(f"FAILED {outcome.name}: {outcome.failure}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """The options, checked."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the case files are")
    parser.add_argument("--runner", choices=("embedded", "spark"), default="embedded")
    parser.add_argument("--only", metavar="NAME", help="run this case alone")
    parser.add_argument(
        "--pieces", type=int, default=3, help="into how many pushes each stream is cut (3)"
    )
    options = parser.parse_args(arguments)
    if options.pieces < 1:
        parser.error(f"--pieces: expected at least 1, found {options.pieces}")
    return options


if __name__ == "__main__":
    sys.exit(main())
