"""Makes `default_embedding.safetensors`: see README.md."""
