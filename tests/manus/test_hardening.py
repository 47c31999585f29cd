"""Other programs of the same user cannot read the command's memory."""

import subprocess
import sys

import pytest

_PR_GET_DUMPABLE = 3


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_the_command_hides_its_memory() -> None:
    code = f"""
import ctypes
from manus.cli import main
before = ctypes.CDLL(None).prctl({_PR_GET_DUMPABLE}, 0, 0, 0, 0)
main(["graph"])
print()
print(before, ctypes.CDLL(None).prctl({_PR_GET_DUMPABLE}, 0, 0, 0, 0))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1 0"
