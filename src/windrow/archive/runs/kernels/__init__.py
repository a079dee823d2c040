"""Kernels that search, sort and copy entries; they are loaded when they are first called."""
