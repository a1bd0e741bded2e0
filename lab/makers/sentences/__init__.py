"""Makes `meaning_en.safetensors` and `sentences.safetensors`: see README.md."""
