"""What makes the files of `retvec_lite/weights` and `retvec_lite/prebuilt`: run from a checkout, not installed."""
