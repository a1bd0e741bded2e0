"""Labelled texts, typos, and scores. `suspects.py` needs scikit-learn, and `plots.py` Matplotlib; all else NumPy alone."""
