"""The ``windrow`` command of this checkout: ``python -m tests.faults.windrow``."""

from __future__ import annotations

from windrow.cli.main import main

if __name__ == "__main__":
    main()
