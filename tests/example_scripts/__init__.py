"""The scripts of ``examples/`` over data of their generators, beside DuckDB's answers."""
