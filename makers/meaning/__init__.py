"""Makes `meaning_*.safetensors` and `requests_en.safetensors`: see README.md."""
