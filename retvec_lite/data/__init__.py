"""Labelled texts, typos, and scores. NumPy only."""
