"""Logical plans: frozen nodes, their update patterns, rewrite rules and physical choices.

Pure: nothing here does I/O, holds arrays or knows Spark.
"""
