"""Queries that share work: one selection for many range predicates over one stream."""
