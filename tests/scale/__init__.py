"""Answers at sizes that small examples do not reach, compared with DuckDB at chosen instants."""
