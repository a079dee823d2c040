"""Indexes on disk over records that each have their own lifetime.

The doubly partitioned index of Golab et al. 2006b and its rivals: the pure half says what an
update does (`plan_update`), the other half carries it out on runs (`update`). What a grid costs is
reckoned in ``windrow.papers.grid_costs``.
"""
