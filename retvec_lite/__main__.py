"""`python -m retvec_lite` is the command `retvec-lite`."""

import sys

from retvec_lite.cli import main

if __name__ == "__main__":
    sys.exit(main())
