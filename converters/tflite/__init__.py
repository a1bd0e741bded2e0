"""From weights to a .tflite."""
