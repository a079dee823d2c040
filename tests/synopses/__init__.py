"""Synopses against recomputation over the rows."""
