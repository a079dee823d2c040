"""One operator per file; ``state/`` holds the buffers that they keep their tuples in."""
