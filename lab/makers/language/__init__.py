"""Makes the files of the language detector: see README.md."""
