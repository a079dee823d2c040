"""The command line: ``python -m tests.scale [--quick] [--only PART-OF-A-NAME]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.scale.cases import CASES
from tests.scale.trials import LARGE, PUSHES, SMALL, all_of
from windrow.plan.strategy import Strategy


def main(arguments: list[str] | None = None) -> int:
    """Try the cases; 0 if all answers are right."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data, two ways for each case")
    parser.add_argument("--only", metavar="TEXT", help="cases whose names contain this")
    options = parser.parse_args(arguments)
    sizes = [SMALL.size] if options.quick else [SMALL.size, LARGE.size]
    print(f"rows: {', '.join(f'{n:,}' for n in sizes)}; cases: {len(CASES)}; "
          f"strategies: {', '.join(s.name for s in Strategy)}; pushes: {PUSHES}; "
          "instants: 8", flush=True)  # fmt: skip
    tried: Counter[bool] = Counter()
    name, began = "", time.perf_counter()
    for outcome in all_of(options.quick, options.only):
        tried[outcome.failure is None] += 1
        if outcome.case.name != name:
            name = outcome.case.name
            print(f"{time.perf_counter() - began:6.0f} s  {outcome.rows:,} rows  {name}",
                  file=sys.stderr, flush=True)  # fmt: skip
        if outcome.failure is not None:
            print(f"FAILED {name}, {outcome.rows:,} rows, {outcome.way}: {outcome.failure}",
                  flush=True)  # fmt: skip
    print(f"{tried[True]} passed, {tried[False]} failed")
    return 0 if not tried[False] else 1


if __name__ == "__main__":
    sys.exit(main())
