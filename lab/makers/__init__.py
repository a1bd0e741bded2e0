"""What makes the files of `retvec_lite/weights`, `retvec_lite/prebuilt` and `models/`: run from a checkout."""
