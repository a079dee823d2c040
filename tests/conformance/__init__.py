"""Cases with known answers: data, a CQL query, and what the STREAM prototype said to it.

``python -m tests.conformance DIR --runner embedded|spark`` runs every case file of a directory.
"""
