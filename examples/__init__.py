"""Scripts to read and run, and what makes their data."""
