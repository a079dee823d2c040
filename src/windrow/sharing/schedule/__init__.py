"""When queries run: deadlines, policies and their costs (Golab 2006, 8.4)."""
