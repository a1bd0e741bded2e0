"""From a trained classifier to files for phones, and the proof that they compute the same."""

from typing import Final

INPUT: Final = "codepoints"
LABEL: Final = "label"
PROBABILITIES: Final = "probabilities"
"""Names of every exported file's input and outputs, as apps use them; only .mlpackages have a label."""
