"""How many examples a test draws: ten times as many in `make test-all`."""

from typing import Any

from hypothesis import settings


def draws(count: int, **options: Any) -> settings:
    """Return settings of so many examples in `make test`; both commands name their profile, see conftest.py."""
    return settings(max_examples=count * (10 if settings.get_current_profile_name() == "explore" else 1), **options)
