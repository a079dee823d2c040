"""What Windrow is measured against; each module runs as ``python -m benchmarks.NAME [--quick]``."""
