"""Indexes on disk over records that each have their own lifetime.

The doubly partitioned index of Golab et al. 2006b and its rivals: the pure half says what an
update does (`plan_update`) and what a grid costs, the other half carries it out on runs.
"""
