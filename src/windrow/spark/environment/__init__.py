"""The environment that workers of a cluster run in: an archive with an interpreter and packages."""
