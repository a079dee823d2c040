"""Which queries share state and work: rules SS1 to SS4 and CS1 to CS8 (Golab 2006, 8.3, 8.4.3)."""

from windrow.sharing.rules.cs8_output_streams import output_leaders
from windrow.sharing.rules.dnf import EVERYTHING, Atom, Predicate, any_of
from windrow.sharing.rules.periodic_query import Aggregate, Contents, Function, Kept, PeriodicQuery
from windrow.sharing.rules.plan_changes import add_query, drop_query, plan_queries
from windrow.sharing.rules.sharing_plan import SharingPlan, describe_member, describe_plan
from windrow.sharing.rules.synopsis_shape import SynopsisKind, SynopsisShape
from windrow.sharing.rules.value_sets import Attribute, Order

__all__ = [
    "EVERYTHING",
    "Aggregate",
    "Atom",
    "Attribute",
    "Contents",
    "Function",
    "Kept",
    "Order",
    "PeriodicQuery",
    "Predicate",
    "SharingPlan",
    "SynopsisKind",
    "SynopsisShape",
    "add_query",
    "any_of",
    "describe_member",
    "describe_plan",
    "drop_query",
    "output_leaders",
    "plan_queries",
]
