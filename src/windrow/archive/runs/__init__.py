"""Runs: immutable files of entries sorted by search key, each with a directory from key to rows."""
