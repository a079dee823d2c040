"""The ``windrow`` command of this checkout: ``python -m tests.faults.windrow``.

With ``WINDROW_FAULT_POINT=published:3`` it kills itself when it comes to that point of a
micro-batch for the third time (``tests.faults.points``).
"""

from __future__ import annotations

import os
import signal

from tests.faults.points import fail_at
from windrow.cli.main import main

POINT = "WINDROW_FAULT_POINT"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if asked := os.environ.get(POINT):
        point, _, count = asked.partition(":")
        fail_at(point, int(count), die, setattr)
    main()
