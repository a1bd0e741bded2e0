"""The files of ready-made classifiers: `retvec_lite.load("spam")` finds them here."""
