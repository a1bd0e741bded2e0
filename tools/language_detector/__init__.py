"""The workshop of the packaged language detector: see README.md."""
