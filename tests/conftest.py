"""What all tests share: this folder's helper modules can be imported from its sub-folders, and results do not hang on load."""

import os

from hypothesis import settings

# Before the first test imports TensorFlow: one thread (tests are small, and their sums must not depend on the machine).
for name, value in (("TF_NUM_INTRAOP_THREADS", "1"), ("TF_NUM_INTEROP_THREADS", "1"), ("TF_CPP_MIN_LOG_LEVEL", "2")):
    os.environ.setdefault(name, value)

# A busy machine is no failure.
settings.register_profile("retvec-lite", deadline=None)
settings.load_profile("retvec-lite")
