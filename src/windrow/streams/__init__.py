"""The input monitor: files and pushed data become typed, timestamped tuples in order of time.

A row walks through ``files`` (which files there are), ``readers`` (text to columns), ``enforce``
(declared types), ``monitor`` (slack, lateness, how far time has come). What is refused on the
way goes to ``quarantine`` with the reason and its original text; nothing is dropped in silence.
"""
