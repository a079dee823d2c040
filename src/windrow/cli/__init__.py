"""The command line: ``windrow run``, ``explain`` and ``demo``."""
