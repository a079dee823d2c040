"""The archive: an indexed window of days on disk that forgets on time."""
