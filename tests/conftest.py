"""Hypothesis profiles, and how tests are shared out among processes.

``ci`` is the default profile: the same examples on every run. ``thorough`` looks for new ones:
``HYPOTHESIS_PROFILE=thorough pytest``.

With ``-n 2 --dist loadgroup`` all tests that use Spark go to one process, so that it is started
once, and the other files are dealt out one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.thresholds import at_their_least

settings.register_profile(
    "ci",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    max_examples=1_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that use Spark come first and stay together; others stay with their file."""
    for item in items:
        group = "spark" if uses_spark(item) else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: not uses_spark(item))


def uses_spark(item: pytest.Item) -> bool:
    """Whether the test asks for a session, or says that it starts one."""
    named: list[str] = getattr(item, "fixturenames", [])
    return "spark" in named or item.get_closest_marker("spark") is not None


@pytest.fixture(params=["usual", "least"])
def sizes(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which values thresholds have."""
    if request.param == "usual":
        yield request.param
    else:
        with at_their_least():
            yield request.param
