"""The archive: an indexed window of days on disk that forgets on time."""

from windrow.archive.archive import Archive
from windrow.archive.reader import Range, Reader
from windrow.archive.runs.encoding import decoded

__all__ = ["Archive", "Range", "Reader", "decoded"]
