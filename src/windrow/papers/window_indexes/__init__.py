"""Sliding windows in memory, and the indexes that keep up with them (Golab et al. 2004).

Read in this order:

    basic_windows    a window as a circular array of basic windows, the newest filling out of sight
    basic_storage    what a basic window keeps: LIST, AGGR, HASH, GROUP
    value_index      a node per value with its count: L-INDEX and H-INDEX (sorted_lists), T-INDEX
                     (balanced_tree); group_index counts per range of values: G-INDEX
    indexed_window   a window with one of these over it
    ring             from a value's node to its tuples: plain ring and AUX (forward_rings), BW and
                     DB (backward_rings)
    ring_window      a window with one of these over it, look-up and sort
    set_queries      histogram, intersection, quantiles, distinct count

An invariant of all of it: a query sees full basic windows only. Nodes and trees are those of
``windrow.windows``, where the engine's own indexes are; nothing else is shared with the engine.
"""
