"""The answer from the definition, to hold every faster way to it.

At instant t the answer is what the relational query gives over the contents of its windows
at t (Golab 2006, Definition 3.1). A ``Program`` is one description that is written out twice:
as CQL for Windrow, and as SQL over the windows' contents for DuckDB. Nothing here is
incremental.
"""
