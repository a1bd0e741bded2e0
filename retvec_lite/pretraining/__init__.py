"""Training a word embedding, and measuring it."""
