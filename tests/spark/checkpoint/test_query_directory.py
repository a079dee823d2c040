"""The directory of a query in a checkpoint: it is that of one query, and of one version."""

from __future__ import annotations

import json

import pytest

from windrow.core.errors import StateError
from windrow.spark.checkpoint.query_directory import IDENTITY, VERSION, open_home
from windrow.spark.stage.job_layout import Layout

FINGERPRINT = {"the query": "f", "the strategy": "upa", "stream s": "e"}


def opened(directory, **changed: str):
    fingerprint = {
        **FINGERPRINT,
        **{name.replace("_", " "): value for name, value in changed.items()},
    }
    return open_home(directory, "q", fingerprint, lambda: Layout((0, 3), None))


def test_it_is_opened_again_as_it_was(tmp_path):
    first = opened(tmp_path / "q")
    assert opened(tmp_path / "q") == first


def test_that_of_another_query_is_refused(tmp_path):
    opened(tmp_path / "q")
    with pytest.raises(StateError, match="query q does not belong to this script") as error:
        opened(tmp_path / "q", stream_s="other", relation_h="new")
    assert "found changed since: relation h, stream s; run the old script" in str(error.value)
    with pytest.raises(StateError, match="found changed since: the query; "):
        opened(tmp_path / "q", the_query="other")


def test_that_of_another_version_is_refused_and_says_what_to_do(tmp_path):
    opened(tmp_path / "q")
    identity = tmp_path / "q" / IDENTITY
    identity.write_text(json.dumps({**json.loads(identity.read_text()), "version": VERSION - 1}))
    with pytest.raises(StateError) as error:
        opened(tmp_path / "q")
    assert f"expected a checkpoint of version {VERSION}; found one of version" in str(error.value)
    assert "finish the run with the Windrow that began it, or start over" in str(error.value)
