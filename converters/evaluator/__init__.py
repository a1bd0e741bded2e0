"""Core ML packages run in NumPy: what proves them on machines without Core ML."""
