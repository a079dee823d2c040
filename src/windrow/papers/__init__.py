"""Structures of the papers that the engine does not stand on: a library, tested and benchmarked.

``docs/papers.md`` says what each is for and which benchmark shows it. No other room imports from
here; ``windrow.windows`` is the public door to the window indexes.
"""
