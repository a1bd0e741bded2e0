"""What makes files that ship with the package."""
