"""The pages of ``docs/`` run: every example is executed, and what it shows is what happens.

``python -m tests.docs PAGE`` rewrites the outputs of a page with what happened; look at the
difference before keeping it.
"""
