"""Fixtures of tests that need an object store: import them into a conftest."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bucket_server import NAME, BucketServer, bucket_server


@pytest.fixture(scope="session")
def running_server() -> Iterator[BucketServer]:
    with bucket_server() as server:
        yield server


@pytest.fixture
def server(
    running_server: BucketServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[BucketServer]:
    """The store, with an environment that names it and a cache of the test's own."""
    for name, value in running_server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "cache"))
    yield running_server
    running_server.reset()


@pytest.fixture
def url(server: BucketServer) -> str:
    """A place of the test's own."""
    return f"s3://{NAME}/{uuid.uuid4().hex}"
