"""Nothing here waits for the disk: when what is synced is seen by ``StoppingDisk``."""

from __future__ import annotations

import pytest

from windrow.result_files import atomic_files as files


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def there(path, _flags):
        assert path.exists()

    monkeypatch.setattr(files, "_sync", there)
