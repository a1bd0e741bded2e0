"""What all tests share: this folder's helper modules can be imported from its sub-folders, and results do not hang on load."""

import os
import signal

from hypothesis import settings

# Before the first test imports TensorFlow: one thread (tests are small, and their sums must not depend on the machine).
for name, value in (("TF_NUM_INTRAOP_THREADS", "1"), ("TF_NUM_INTEROP_THREADS", "1"), ("TF_CPP_MIN_LOG_LEVEL", "2")):
    os.environ.setdefault(name, value)

# A shell that starts the tests in the background lets them, and so their children, ignore Ctrl-C, which some tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure.
settings.register_profile("retvec-lite", deadline=None)
settings.load_profile("retvec-lite")
