"""From syntax tree to logical plan: names resolved, types checked, windows in ticks."""

from windrow.plan.binder.statements import ExplainRequest, bind

__all__ = ["ExplainRequest", "bind"]
