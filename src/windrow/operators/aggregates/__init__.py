"""Aggregates of a GROUP BY, one accumulator per file.

An accumulator is given an interval's events sorted by group and then by time, cut into
*segments*: the events of one group at one instant. It answers with its value after each segment,
and its value before the interval for each group touched.
"""
