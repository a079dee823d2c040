"""The archive: indexed windows of days, or of records with lifetimes of their own, on disk."""
