"""Runs on a standalone cluster of Spark's whose workers share nothing with the driver but a disk.

``python -m tests.cluster`` is what ``make cluster-demo`` runs.
"""
