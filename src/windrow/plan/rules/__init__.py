"""Rewrite rules: each a function from a plan to an equivalent plan, in its own file."""
