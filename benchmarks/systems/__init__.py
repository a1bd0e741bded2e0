"""What is compared: our files and their rivals."""
