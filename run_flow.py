"""`python run_flow.py`: the same as `manus flow`. It asks for a prompt where none is given."""

import sys

from main import start

if __name__ == "__main__":
    sys.exit(start("flow"))
