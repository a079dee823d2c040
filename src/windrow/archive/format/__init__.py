"""How an archive lies on disk: layout of entries, files, checksums of their pages."""
