"""From a plan to running operators, and the embedded runner over them."""
