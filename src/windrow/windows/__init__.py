"""Sliding windows in memory, and the indexes that keep up with them (Golab et al. 2004).

Read in this order:

    basic       a window as a circular array of basic windows, the newest filling out of sight
    storage/    what a basic window keeps: LIST, AGGR, HASH, GROUP
    values/     set-valued indexes, a node per value with its count: L-, T-, H- and G-INDEX
    indexed     a window with one of these over it
    rings/      from a value's node to its tuples: plain ring, AUX, BW, DB
    ringed      a window with one of these over it
    queries/    histogram, intersection, quantiles, distinct count, look-up, sort

Two of these carry the engine's operators, and there is no second implementation of either.

*H-INDEX with DB rings* is the default, wherever tuples are found by equality: joins, negation,
the direct DISTINCT. An ``Interner`` gives each value a small number by hashing (``values.rows``
counts by such numbers: COUNT(DISTINCT), EXCEPT), ``rings.chains`` links the tuples of each number
from new to old. A tuple costs one look-up and one link, whatever D and N are, where a tree would
cost log D; its expiry costs nothing at all, where AUX follows N/D links per tuple and BW per
value. What DB pays for it, a test at the end of each ring when a query walks it, is one
comparison per step. Where only the oldest tuple of a value is wanted, as by a negative tuple,
``rings.queues`` links from old to new instead.

*T-INDEX*, where order is needed: MEDIAN and QUANTILE. ``values.forest`` keeps a tree of the values
of each group, with the weight of every subtree, so that a change costs O(log D) and a quantile as
much; a hash would have to be sorted for every answer. D is the number of different values, so
repeated values share a node.

Where neither is needed, because the operator is incremental by itself (SUM, COUNT, selection),
there is no index; ``windrow.plan.physical.classification`` says which operator is which.

An invariant of the whole room: a query sees full basic windows only.
"""
