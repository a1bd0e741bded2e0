"""The data sets: where they come from, how they are built and read."""
