"""Kernels that go through mapped pages; they are loaded when they pay (``kernel_use.py``)."""
