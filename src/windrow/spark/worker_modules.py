"""What tasks of Python workers import, imported by the process that workers are forked from.

A worker ends with the query whose task it did last, and the next query gets others. To import the
operators and load their kernels takes each of them more than a second of processor time; a fork
has them already. So the daemon of ``windrow.spark.run.worker_environment`` imports this module
before it forks. Nothing here starts a thread of its own or opens anything; NumPy and Arrow, which
have threads, prepare theirs for forks.
"""

from __future__ import annotations

import gc

import windrow.spark.archive.source
import windrow.spark.archive.writing
import windrow.spark.match_frame
import windrow.spark.run.changes_source
import windrow.spark.source.batch_tasks
import windrow.spark.source.frame_packer  # noqa: F401

gc.freeze()  # pages that no collection touches stay shared with the workers
