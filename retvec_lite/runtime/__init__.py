"""Classifying with an exported file: NumPy and a LiteRT runtime, nothing else."""
