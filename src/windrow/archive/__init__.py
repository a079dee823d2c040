"""The archive: an indexed window of days on disk that forgets on time."""

from windrow.archive.archive import Archive
from windrow.archive.reader import Reader
from windrow.archive.reading import Range
from windrow.archive.runs.encoding import decoded

__all__ = ["Archive", "Range", "Reader", "decoded"]
