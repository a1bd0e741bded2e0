"""Exported files on more than one phone: archives of any size, and the batch function of cluster engines."""
