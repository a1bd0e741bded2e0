"""The version of this package; `pyproject.toml` reads it from here."""

from typing import Final

__version__: Final = "0.2.0"

CREATED_BY: Final = f"retvec-lite {__version__}"
"""How files name what made them."""
