"""Training a classifier."""
