"""Make the pre-trained head of the package."""
