"""Wave index schemes: which operations a new day asks for (Shivakumar, Garcia-Molina 1997, 3).

Pure state machines, one per file. Something else carries the operations out.
"""
