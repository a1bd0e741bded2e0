"""From weights to an .mlpackage."""
