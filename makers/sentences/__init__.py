"""Makes `head_en.safetensors`: see README.md."""
