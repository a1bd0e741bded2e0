"""What the tests of the lab share: results do not hang on the machine, the load or the day."""

import os

from hypothesis import settings

# Before the first test imports TensorFlow: one thread (tests are small, and their sums must not depend on the machine).
for name, value in (("TF_NUM_INTRAOP_THREADS", "1"), ("TF_NUM_INTEROP_THREADS", "1"), ("TF_CPP_MIN_LOG_LEVEL", "2")):
    os.environ.setdefault(name, value)
os.environ.setdefault("SOURCE_DATE_EPOCH", "1790000000")
settings.register_profile("gate", deadline=None, derandomize=True)
settings.load_profile("gate")
