"""How long tests wait for a process, a page or another thread."""

from typing import Final

PATIENCE: Final = 1800.0
"""Seconds. Only what hangs takes so long: a busy machine is no failure."""
