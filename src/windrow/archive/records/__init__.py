"""Records as they are given to an archive, and in the types that it has."""
