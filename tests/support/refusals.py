"""What is refused is told in one sentence."""

from collections.abc import Callable
from typing import Any

import pytest

from retvec_lite.errors import RetvecLiteError


def refusal(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Return the sentence with which a call is refused."""
    with pytest.raises(RetvecLiteError) as caught:
        call(*arguments, **options)
    told = str(caught.value)
    assert told.endswith(".") and "\n" not in told, told
    return told
