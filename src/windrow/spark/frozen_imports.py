"""What a Python worker has imported is left out of its garbage collections.

PySpark collects garbage after every task of a worker that it will use again. With the modules that
stages need that takes 85 ms, several times in a micro-batch, and finds nothing: modules stay.
"""

from __future__ import annotations

import gc
import os
import sys

_modules = 0
"""How many there were when they were last frozen."""


def freeze_imports() -> None:
    """Freeze what is there, in a worker in which something was imported since the last time.

    Called at the beginning of a task, before it has made anything. What is frozen is still freed
    when nobody refers to it; only a cycle among it would stay.
    """
    global _modules  # noqa: PLW0603 - a process has one heap
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER" and len(sys.modules) != _modules:
        _modules = len(sys.modules)
        gc.freeze()
