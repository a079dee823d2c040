"""Leases in an object store, where nothing notices that a process has died.

A lease is an object that is put once. Whoever holds it puts ``signs/<token>`` again and again while
at work: a sign of life. A holder is taken for dead when, by the store's own times, the last sign is
older than ``PERIOD``, and stays the last one for a ``PERIOD`` of the observer's monotonic clock. So
no clock on a wall is asked, and one that jumps, the store's too, only makes somebody wait.

A holder that was suspended may be taken for dead while it is alive. It never puts its lease again,
so it finds out: ``is_held`` asks the store. That this is enough is shown in ``versions/fences.py``.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count

from windrow.object_store.bucket import Bucket, Stored
from windrow.object_store.errors import StoreError

PERIOD = 60.0
"""Seconds without a sign of life."""
SIGNS = "signs"
_OFTEN = 4
"""Signs in a period."""
Sign = tuple[str, datetime]


class BucketLeases:
    """The leases that this process holds, and what it has seen of others'."""

    def __init__(
        self,
        bucket: Bucket,
        period: float = PERIOD,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        signs: str = SIGNS,
        *,
        patient: bool = True,
    ) -> None:
        """``signs`` is the folder of signs of life.

        Who is not ``patient`` does not wait for certainty: a holder counts as alive until it has
        been seen twice, a period apart, without a new sign.
        """
        self._patient = patient
        self._signs = signs
        self._bucket, self.period, self._clock, self._sleep = bucket, period, clock, sleep
        self._held: dict[int, tuple[str, str]] = {}  # the lease and its token, by handle
        self._signed: set[str] = set()
        self._numbers = count(1)
        self._changed, self._giving = threading.Condition(), threading.Lock()
        self._seen: dict[str, tuple[Sign, float]] = {}
        self._store_time: tuple[datetime, float] | None = None

    def take(self, name: str, text: str = "") -> int | None:
        """Put a lease, and give signs of life from now on; None if the name is taken.

        ``text`` says who holds it, for people.
        """
        token = _token(name)
        if not self._bucket.put_new(name, f"{uuid.uuid4().hex}\n{text}".encode()):
            return None
        with self._changed:
            handle = next(self._numbers)
            alone = not self._held
            self._held[handle] = name, token
        if alone:
            threading.Thread(target=self._give_signs, name="windrow-leases", daemon=True).start()
        return handle

    def release(self, handle: int) -> None:
        """Let go. Says nothing of a store that fails: what is left is taken for dead in time."""
        with self._changed:
            name, token = self._held.pop(handle)
            self._changed.notify_all()
        with self._giving, suppress(StoreError):  # no sign comes after it is deleted
            self._bucket.delete(name)
            if token in self._signed:
                self._bucket.delete(f"{self._signs}/{token}")
                self._signed.discard(token)

    def is_held(self, token: str) -> bool:
        """Whether the lease of this process with that token is still in the store; yes if there
        never was one.
        """
        with self._changed:
            names = [name for name, own in self._held.values() if own == token]
        try:
            for name in names:
                self._bucket.head(name)
        except FileNotFoundError:
            return False
        return True

    def is_abandoned(self, name: str) -> bool:
        """Whether the holder of a lease is gone, or the lease. Waits if it is not yet certain; who
        is not patient takes it for alive then, and may ask again.
        """
        sign = self._last_sign(name)
        if sign is None:
            return True
        if self._now() - sign[1] < timedelta(seconds=self.period):
            return False
        first = self._observe(name, sign)
        waiting = first + self.period - self._clock()
        if waiting > 0:
            if not self._patient:
                return False
            self._sleep(waiting)
        return self._last_sign(name) in (sign, None)

    def is_abandoned_now(self, name: str) -> bool:
        """The same without going by the times of the store: whoever holds it gives a sign soon, and
        is seen to, or has given none for a whole period.
        """
        sign, end = self._last_sign(name), self._clock() + self.period
        while sign is not None and self._clock() < end:
            self._sleep(min(1.0, self.period / _OFTEN))
            if self._last_sign(name) not in (sign, None):
                return False
        return self._last_sign(name) in (sign, None)

    def discard_sign(self, name: str) -> None:
        """Remove what is left of a lease that is gone."""
        self._bucket.delete(f"{self._signs}/{_token(name)}")

    def _observe(self, name: str, sign: Sign) -> float:
        """Since when a sign has been the last. Its neighbours are looked at too, so that whoever
        waits for several waits once.
        """
        folder, _, last = name.rpartition("/")
        known = self._seen.get(last)
        if known is None or known[0] != sign:
            leases = self._bucket.list_folder(folder)
            signs = self._bucket.list_folder(self._signs)
            now = self._clock()
            for one, lease in leases.items():
                found = _sign(signs.get(_token(one), lease))
                if self._seen.get(one, (None,))[0] != found:
                    self._seen[one] = found, now
            self._seen.setdefault(last, (sign, now))
            if self._seen[last][0] != sign:
                self._seen[last] = sign, now
        return self._seen[last][1]

    def _last_sign(self, name: str) -> Sign | None:
        """The last sign of a lease's holder, the lease itself if it is the only one; None if the
        lease is gone.
        """
        try:
            found = self._bucket.head(name)
        except FileNotFoundError:
            return None
        with suppress(FileNotFoundError):
            found = self._bucket.head(f"{self._signs}/{_token(name)}")
        return _sign(found)

    def _now(self) -> datetime:
        """The time of the store, found out once in a while."""
        known = self._store_time
        if known is None or not 0 <= self._clock() - known[1] < self.period / _OFTEN:
            key = f"{self._signs}/.now-{uuid.uuid4().hex}"
            self._bucket.put(key, b"now\n")
            try:
                known = self._store_time = _sign(self._bucket.head(key))[1], self._clock()
            finally:
                self._bucket.delete(key)
        return known[0] + timedelta(seconds=self._clock() - known[1])

    def _give_signs(self) -> None:
        """Until nothing is held. A sign that does not come through is followed by others."""
        for number in count():
            with self._changed:
                ended = self._changed.wait_for(lambda: not self._held, timeout=self.period / _OFTEN)
                if ended:
                    return
                tokens = [token for _, token in self._held.values()]
            for token in tokens:
                with self._giving, suppress(StoreError, FileNotFoundError):
                    if token in {own for _, own in tuple(self._held.values())}:
                        self._signed.add(token)
                        self._bucket.put(f"{self._signs}/{token}", f"{number} {token}\n".encode())


def _sign(stored: Stored) -> Sign:
    assert stored.modified is not None, "the store has said when"
    return stored.tag, stored.modified


def _token(name: str) -> str:
    """What a sign is called: the last part of a lease's name, or a lock's whole name."""
    return name.rpartition("/")[2].rpartition("-")[2]
