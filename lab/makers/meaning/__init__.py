"""Makes `meaning_XX.safetensors` of other languages, and such files of a language of one's own: see README.md."""
