"""The declarations that the tests of plans share."""

from __future__ import annotations

from windrow.cql import parse
from windrow.plan.binder import bind
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.nodes import Node
from windrow.plan.program import compile_script

DECLARATIONS = """
CREATE STREAM s (ts BIGINT, k INT, a INT, b INT, x DOUBLE, name STRING);
CREATE STREAM t (ts BIGINT, k INT, c INT);
CREATE STREAM f (ts TIMESTAMP, src STRING, dst STRING, bytes BIGINT, seen TIMESTAMP, day DATE);
CREATE RELATION r (k INT, w INT);
CREATE NRR n (k INT, w INT);
CREATE VIEW picked AS SELECT k, a FROM s WHERE a > 1;
CREATE VIEW counted AS SELECT k, COUNT(*) AS times FROM s [RANGE 10 SECONDS] GROUP BY k;
"""
LINES = DECLARATIONS.count("\n")


def catalog() -> Catalog:
    return compile_script(DECLARATIONS).catalog


def bound(text: str) -> Node:
    """The plan of a query over the declarations, before any rule."""
    (statement,) = parse(text).statements
    declaration = bind(statement, catalog(), text)
    assert isinstance(declaration, QueryDeclaration)
    return declaration.plan


def optimised(text: str) -> QueryDeclaration:
    """The query as it will run."""
    (query,) = compile_script(text, catalog()).queries
    return query
