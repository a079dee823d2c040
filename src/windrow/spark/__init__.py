"""Queries on Spark Structured Streaming; the only room that imports pyspark.

In the order in which data walks through it: ``source`` (or any streaming DataFrame) -> ``packing``
-> ``stage`` -> ``sinks`` -> ``results``; ``runner`` and ``connection`` put them together.

Importing this package imports no pyspark, so that ``java`` can look for Java first.
"""
