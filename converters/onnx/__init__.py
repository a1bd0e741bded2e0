"""Exported `.onnx` files: the graph of the `.tflite`, for ONNX Runtime."""
