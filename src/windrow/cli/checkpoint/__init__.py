"""``windrow checkpoint``: looking at what a run has kept, and mending it."""
