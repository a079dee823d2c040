"""What a wave index costs, and which one to take (Shivakumar, Garcia-Molina 1997, 4 and 5).

Pure arithmetic over parameters that somebody else has measured or guessed.
"""
