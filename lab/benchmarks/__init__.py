"""Benchmarks: every figure of the documentation, one command each. README.md tells how to run them."""
