"""The input monitor: files and pushed data become typed, timestamped tuples in order of time.

A row walks through ``growing_files`` (what is to be read next), ``windrow.tables`` (text to rows of
the declared types) or ``pushed_rows``, and ``monitor`` (slack, lateness, how far time has come).
What is refused on the way goes to ``quarantine`` with the reason and its original text; nothing is
dropped in silence.
"""
