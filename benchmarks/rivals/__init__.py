"""Other engines, each a script for its own environment; nothing here is imported by ``engines``."""
