"""Sliding windows in memory, and the indexes that keep up with them (Golab et al. 2004).

Read in this order:

    basic_windows    a window as a circular array of basic windows, the newest filling out of sight
    storage/         what a basic window keeps: LIST, AGGR, HASH, GROUP
    values/          set-valued indexes, a node per value with its count: L-, T-, H- and G-INDEX
    indexed_window   a window with one of these over it
    rings/           from a value's node to its tuples: plain ring, AUX, BW, DB
    ring_window      a window with one of these over it
    queries/         histogram, intersection, quantiles, distinct count, look-up, sort

An invariant of all of it: a query sees full basic windows only. Nodes and trees are those of
``windrow.windows``, where the engine's own indexes are; nothing else is shared with the engine.
"""
