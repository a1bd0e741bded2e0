"""Classify with an exported file: needs NumPy and a LiteRT runtime only."""
