"""`python main.py --prompt "…"`: the same as `manus run`."""

import sys

from manus.shims import start

if __name__ == "__main__":
    sys.exit(start("run"))
