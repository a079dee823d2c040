"""A quarantine in an object store has the pages that one on a disk has."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from tests.support.bucket_fixtures import running_server, server, url
from windrow.object_store.object_path import path_of
from windrow.streams import quarantine as pages
from windrow.streams.quarantine import Quarantine
from windrow.tables.parsed_rows import Rejected

__all__ = ["running_server", "server", "url"]


def texts(quarantine: Quarantine, stream: str) -> list[list[str]]:
    """Of each page, the rows; the last page first."""
    found = [path.read_text().splitlines() for path, _ in quarantine.pages(stream)]
    return [[json.loads(line)["text"] for line in page] for page in found]


def test_pages_are_put_replaced_and_removed(url):
    quarantine = Quarantine(path_of(url))
    file = Path("in") / "a.csv"
    assert quarantine.write("s t", file, [Rejected(1, "no", "x"), Rejected(2, "no", "y")]) == 2
    assert quarantine.push("s t", [Rejected(0, "no", "pushed")]) == 1
    assert quarantine.push("s t", [Rejected(0, "no", "pushed again")]) == 1
    assert quarantine.streams == ["s_t"]
    assert sorted(texts(quarantine, "s t")) == [["pushed"], ["pushed again"], ["x", "y"]]
    quarantine.write("s t", file, [Rejected(3, "no", "z")])
    assert sorted(texts(quarantine, "s t")) == [["pushed"], ["pushed again"], ["z"]]
    quarantine.write("s t", file, [])
    assert sorted(texts(quarantine, "s t")) == [["pushed"], ["pushed again"]]


def test_a_page_that_breaks_off_is_none(url, tmp_path):
    quarantine = Quarantine(path_of(url))
    with suppress(RuntimeError), quarantine.page("s", Path("a.csv")) as page:
        page.add([Rejected(1, "no", "x")])
        raise RuntimeError
    assert quarantine.pages("s") == []
    assert list((tmp_path / "cache").glob("*")) == []


def test_one_that_is_bounded_forgets(url, monkeypatch):
    monkeypatch.setattr(pages, "KEPT_PAGES", 2)
    quarantine = Quarantine(path_of(url), bounded=True)
    for number in range(4):
        quarantine.push("s", [Rejected(0, "no", str(number))])
    assert texts(quarantine, "s") == [["3"], ["2"]]
