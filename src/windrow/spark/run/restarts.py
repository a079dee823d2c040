"""Starting a query again when a process of Spark's died under it: how often, and until when.

The checkpoint makes it safe, and nothing is decided by how often it happens: a process that dies
now and then in a run of weeks is no reason to stop. One that dies again and again while nothing is
published is, and then the error says what died.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from windrow.core.errors import WindrowError
from windrow.spark.run.failures import (
    Death,
    SparkError,
    death_in,
    is_left_behind,
    translate_failure,
)
from windrow.spark.run.machine import circumstances, exit_in_words

MOST_DEATHS = 5
"""How often processes may die under a query that publishes nothing meanwhile."""
LONGEST_LATENESS = 300.0
"""Seconds for which workers of a query may be late that publishes nothing meanwhile."""


class Restarts:
    """Of one query. ``counts`` says what died, and how often the query was started again for it."""

    def __init__(self, query: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._query, self._clock = query, clock
        self.counts: Counter[str] = Counter()
        self._deaths = 0
        self._late_since: float | None = None

    def note_progress(self) -> None:
        """Something was published: whatever died before is forgiven."""
        self._deaths, self._late_since = 0, None

    def may_restart(self, failure: BaseException) -> bool:
        """Whether a query that ended in ``failure`` should be started again."""
        death = _excusable(failure)
        if death is None:
            return False
        if death.late:
            since = self._clock() if self._late_since is None else self._late_since
            return self._clock() - since < LONGEST_LATENESS
        return self._deaths < MOST_DEATHS

    def note(self, failure: BaseException) -> str:
        """Count a restart; what to say of it."""
        death = _excusable(failure)
        assert death is not None, "nothing died"
        if death.late and self._late_since is None:
            self._late_since = self._clock()
        elif not death.late:
            self._deaths += 1
        self.counts[death.what] += 1
        verb = "was late" if death.late else "died"
        return f"{self._query}: {death.what} {verb}; the query resumes from its checkpoint"

    def error(
        self, failure: BaseException, damage: Callable[[], WindrowError | None] = lambda: None
    ) -> WindrowError:
        """What to report of a query that is not started again.

        If nothing died and the reason is Spark's, ``damage`` is asked whether the checkpoint is
        whole.
        """
        death = _excusable(failure)
        if death is not None:
            return self._gave_up(death)
        error = translate_failure(self._query, failure)
        return (damage() or error) if isinstance(error, SparkError) else error

    def _gave_up(self, death: Death) -> WindrowError:
        tries = sum(self.counts.values())
        again = f"it was restarted {tries} times without success" if tries else ""
        if death.late:
            return SparkError(
                "Python workers did not start within the ten seconds that Spark waits for them",
                where=f"query {self._query}",
                found="; ".join(filter(None, (again, circumstances()))),
                remedy="run the same command when the machine is less busy, or fewer queries at "
                "once: with --checkpoint it resumes after the last complete micro-batch",
            )
        code = "" if death.code is None else exit_in_words(death.code)
        return SparkError(
            f"{death.what} has died",
            where=f"query {self._query}",
            found="; ".join(filter(None, (code, circumstances(), again))) or "no reason given",
            remedy="make sure that there is enough memory, for example run fewer queries at once, "
            "and run the same command again: with --checkpoint it resumes after the last complete "
            "micro-batch",
        )


def _excusable(failure: BaseException) -> Death | None:
    """What died, unless the query has an error of its own."""
    if is_left_behind(failure):
        return death_in(failure)
    own = isinstance(failure, WindrowError) or not isinstance(
        translate_failure("", failure), SparkError
    )
    return None if own else death_in(failure)
