"""``python -m tests.faults --kills 25 --seed 1``: see ``tests.faults.trial``.

With ``--scenarios 50`` it goes through those of ``tests.faults.scenarios`` instead, and prints for
each what happened, where, in how many lives, and what came of it.

Otherwise it prints what was killed when and what came of it. In the end ``N passed, M failed``: a
kill passes if what is promised of it came true, a query or archive if in the end it is that of a
run that nobody disturbed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.comparison import differences
from tests.faults.plan import SCRIPT
from tests.faults.scenarios import all_verdicts
from tests.faults.trial import Kill, Trial
from tests.faults.undisturbed import run_undisturbed
from windrow.plan.program import compile_script

SCENARIO = "{:<26} {:<62} {:>5}  {}"
ROW = "{:>4}  {:<38} {:<28} {}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=40.0, help="kill nothing after that")
    parser.add_argument(
        "--keep", action="store_true", help="keep the directory, also if all passes"
    )
    parser.add_argument("--scenarios", type=int, default=0, help="so many, and no kills")
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="windrow-faults-"))
    if asked.scenarios:
        failed = lived_through(directory, asked.scenarios)
    else:
        failed = tried(directory, asked.kills, asked.seed, asked.minutes)
    if failed or asked.keep:
        say(f"everything is in {directory}")
    else:
        shutil.rmtree(directory)
    return 1 if failed else 0


def lived_through(directory: Path, scenarios: int) -> int:
    """Go through scenarios in one Spark, and print; how many failed."""
    from windrow.spark.run.session import spark_session  # noqa: PLC0415 - starts Java

    session = spark_session("local[2]", app="windrow-faults")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    say(SCENARIO.format("scenario", "where", "lives", "verdict"))
    failed = 0
    for verdict in all_verdicts(range(scenarios), directory):
        say(SCENARIO.format(*verdict.row))
        failed += bool(verdict.wrong)
    say(f"{scenarios - failed} passed, {failed} failed")
    return failed


def tried(directory: Path, kills: int, seed: int, minutes: float) -> int:
    """Kill, compare and print; how many failed."""
    disturbed, undisturbed = directory / "disturbed", directory / "undisturbed"
    say(f"{kills} kills, seed {seed}")
    say(ROW.format("kill", "what", "when", "outcome"))
    trial = Trial(disturbed, kills, seed)
    done = trial.run(time.monotonic() + 60 * minutes, told)
    run_undisturbed(undisturbed, trial.input.steps, seed)
    wrong = differences(compile_script(SCRIPT).catalog, undisturbed, disturbed)
    if trial.problem:
        wrong["the end"] = trial.problem
    for name, words in wrong.items():
        say(f"{name}: {words or 'as in a run that nobody disturbed'}")
    if len(done) < kills:
        say(f"{kills - len(done)} kills were left out after {minutes:.0f} minutes")
    outcomes = [kill.passed for kill in done] + [not words for words in wrong.values()]
    say(f"{sum(outcomes)} passed, {len(outcomes) - sum(outcomes)} failed")
    return len(outcomes) - sum(outcomes)


def told(kill: Kill) -> None:
    say(
        ROW.format(
            kill.number, kill.what, kill.when, ("" if kill.passed else "FAILED: ") + kill.outcome
        )
    )


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
