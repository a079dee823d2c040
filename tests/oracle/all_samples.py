"""Every sample by its name."""

from __future__ import annotations

from tests.oracle.more_samples import MORE_SAMPLES
from tests.oracle.queries import Program
from tests.oracle.samples import PLAIN_SAMPLES

SAMPLES: dict[str, Program] = PLAIN_SAMPLES | MORE_SAMPLES
