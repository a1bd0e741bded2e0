"""Pre-training of meaning: what the words of a language mean, learned from open text."""
