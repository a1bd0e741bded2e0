"""What measures time, memory and robustness of exported files."""
