"""Buffers that operators keep tuples in, chosen by the update pattern of what they keep."""
