"""What is compared: our files and their rivals."""

import importlib
import importlib.util

if importlib.util.find_spec("setfit"):
    # Before TensorFlow: PyTorch's compiler cannot be loaded after it, since both register the options of LLVM.
    importlib.import_module("torch")
