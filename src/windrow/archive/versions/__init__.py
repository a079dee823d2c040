"""Versions of an archive: published, pinned by readers and writers, retired, vacuumed."""
