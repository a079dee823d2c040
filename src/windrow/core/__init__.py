"""What every room speaks of: time, types and schemas, update patterns, errors.

This room imports the standard library only and does no I/O.
"""
