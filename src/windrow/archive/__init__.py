"""The archive: an indexed window of days on disk that forgets on time."""

from windrow.archive.archive import Archive
from windrow.archive.runs.encoding import decoded
from windrow.archive.versions.pinned_reader import Range
from windrow.archive.wave.reader import Reader

__all__ = ["Archive", "Range", "Reader", "decoded"]
