"""What measures accuracy, one command each."""
