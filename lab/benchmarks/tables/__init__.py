"""From results to the tables and plots of the documentation."""
