"""`python -m manus`."""

import sys

from manus.cli import main

if __name__ == "__main__":
    sys.exit(main())
