"""Range predicates indexed: which subscriptions does a row satisfy (Wu, Chen, Yu 2004)."""
