"""The version of this package; `pyproject.toml` reads it from here."""

from typing import Final

__version__: Final = "0.2.0"
