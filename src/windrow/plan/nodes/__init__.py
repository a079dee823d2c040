"""The logical plan: small frozen nodes, each with a schema, its inputs and its update pattern.

A node says *what*; ``windrow.engine`` maps each to the operator that does it. ``pattern`` is
the label of the node's output edge by the rules of Golab 2006, 3.5.1; two of those rules are
made stricter here because a FIFO buffer depends on them (see ``Union`` and ``Join``).
"""

from windrow.plan.nodes.base import (
    EdgeState,
    Node,
    StrictState,
    Unary,
    walk,
)
from windrow.plan.nodes.constant_rows import ConstantRows, is_constant
from windrow.plan.nodes.join_lengths import JoinLengths
from windrow.plan.nodes.joins import (
    Join,
    LastingJoin,
    MatchFlag,
    MultiJoin,
    Negation,
    NegationForm,
    is_nrr,
)
from windrow.plan.nodes.relational import (
    Aggregate,
    DuplicateElimination,
    GroupBy,
    Joining,
    LookBack,
    NegativeTuples,
    OrderKey,
    Projection,
    Reading,
    Retimed,
    Selection,
    Stamped,
    TopK,
    TopLists,
    TupleWise,
    Union,
    Unnest,
    arrives_in_order,
)
from windrow.plan.nodes.routed import Routed, Subscribe
from windrow.plan.nodes.stream_relation import (
    AppendOnly,
    Every,
    FileSource,
    OutputWindow,
    RelationScan,
    StageInput,
    StreamKind,
    StreamScan,
    ToStream,
    Window,
)
from windrow.plan.nodes.sub_window_groups import SharedGroupBy, SharedTop, SlidingGroupBy

__all__ = [
    "Aggregate",
    "AppendOnly",
    "ConstantRows",
    "DuplicateElimination",
    "EdgeState",
    "Every",
    "FileSource",
    "GroupBy",
    "Join",
    "JoinLengths",
    "Joining",
    "LastingJoin",
    "LookBack",
    "MatchFlag",
    "MultiJoin",
    "Negation",
    "NegationForm",
    "NegativeTuples",
    "Node",
    "OrderKey",
    "OutputWindow",
    "Projection",
    "Reading",
    "RelationScan",
    "Retimed",
    "Routed",
    "Selection",
    "SharedGroupBy",
    "SharedTop",
    "SlidingGroupBy",
    "StageInput",
    "Stamped",
    "StreamKind",
    "StreamScan",
    "StrictState",
    "Subscribe",
    "ToStream",
    "TopK",
    "TopLists",
    "TupleWise",
    "Unary",
    "Union",
    "Unnest",
    "Window",
    "arrives_in_order",
    "is_constant",
    "is_nrr",
    "walk",
]
