"""Rows of VALUES on Spark: nobody sends them, since every bucket has them in its plan.

A bucket takes those that a sender would send to it, so that each row is in one bucket, beside the
tuples that it is to meet.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.columns.delta import Delta
from windrow.engine.constant_tuples import constant_tuples
from windrow.plan.nodes import ConstantRows, walk
from windrow.plan.physical.stages import IN_THE_PLAN, Stage, StageEdge
from windrow.spark.stage.packing import by_bucket, prepare_tuples
from windrow.spark.stage.routes import Routes


def constants_of(stage: Stage, bucket: int, routes: Routes) -> dict[str, Delta]:
    """The rows of VALUES that are in a bucket of a stage, by edge."""
    mine = replace(routes, wanted=frozenset({bucket}))
    return {
        edge.name: tuples
        for edge in stage.inputs
        if edge.source == IN_THE_PLAN
        for _, tuples in by_bucket(_rows_of(edge), edge, mine)
    }


def _rows_of(edge: StageEdge) -> Delta:
    (values,) = (node for node in walk(edge.pre) if isinstance(node, ConstantRows))
    return prepare_tuples(edge.pre, constant_tuples(values))
