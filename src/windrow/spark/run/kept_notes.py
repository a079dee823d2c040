"""When a pipeline's notes are put into the object store that its checkpoint is in.

They have to be there before a micro-batch publishes anything; until then its tasks may work. What
comes after the commit of the state, how the run is doing, is put while the next one is waited for.
On a disk nothing is to be done: a file that is written is where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

from windrow.core.errors import WindrowError


class KeptNotes:
    """``push`` puts what has changed; None if there is nothing to be put."""

    def __init__(self, push: Callable[[], None] | None) -> None:
        self._push = push
        self._hand = None if push is None else ThreadPoolExecutor(1, "windrow-notes")

    @contextmanager
    def keep_meanwhile(self) -> Iterator[None]:
        """Put what there is while something is done, and what that adds when it has ended well."""
        began = self._begin()
        yield
        if self._push is not None and began is not None:
            began.result()
            self._push()

    def keep_later(self) -> None:
        """Put what there is, some time; who comes after it hears what goes wrong."""
        self._begin()

    def keep_last(self) -> None:
        """Put what there is; nothing depends on it any more."""
        if self._push is not None:
            with suppress(WindrowError, OSError):
                self._push()

    def _begin(self) -> Future[None] | None:
        if self._push is None or self._hand is None:
            return None
        return self._hand.submit(self._push)
