"""The queries whose answers the STREAM prototype gave all compile, over views of raw streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.case import in_our_quotes
from windrow.engine.pipeline import Pipeline
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.program import compile_script

CASES = sorted((Path(__file__).parents[1] / "conformance" / "cql").glob("*.json"))


def script(case: dict[str, Any]) -> str:
    lines = []
    for name, stream in case["streams"].items():
        columns = ", ".join(" ".join(column) for column in stream["columns"])
        names = ", ".join(column[0] for column in stream["columns"])
        lines += [
            f"CREATE STREAM {name}_raw (at BIGINT, {columns}) TIMESTAMP BY at;",
            f"CREATE VIEW {name} AS SELECT {names} FROM {name}_raw;",
        ]
    for name, relation in case["relations"].items():
        columns = ", ".join(" ".join(column) for column in relation["columns"])
        lines.append(f"CREATE RELATION {name} ({columns});")
    for view in case["views"]:
        columns = ", ".join(" ".join(column) for column in view["columns"])
        lines.append(f"CREATE VIEW {view['name']} ({columns}) AS {view['query']}")
    return in_our_quotes("\n".join([*lines, case["query"]]))


def test_all_cases_are_here() -> None:
    assert len(CASES) == 38


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_the_query_compiles_and_can_run(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    (query,) = compile_script(script(case)).queries
    Pipeline(query.plan)
    width = {len(values) for _, _, values in case["expect"]}
    assert width == {len(query.plan.schema)}
    scans = {n.name for n in walk(query.plan) if isinstance(n, StreamScan)}
    assert scans == {f"{name}_raw" for name in case["streams"]}
