"""What makes and attacks the files of the product."""
