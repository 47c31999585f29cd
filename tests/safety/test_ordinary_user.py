"""What root tries, an ordinary user tries, too: if the tests run as root, both are tested."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest

from tests.helpers import ordinary_user

RUNS = {
    "escapes": ["tests/safety/escape"],
    "carriers": ["tests/safety/test_carriers.py", "--all-sandboxes", "--exhaustive"],
    "places": ["tests/safety/test_injection.py", "tests/safety/test_everyday.py", "--exhaustive"],
    "files": ["tests/safety/test_git_settings.py", "tests/calls/test_user_tools.py"],
    "processes": ["tests/safety/test_supervisor.py"],
}


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(os.geteuid() != 0, reason="who runs these tests is an ordinary user")
@pytest.mark.parametrize("name", RUNS)
def test_as_an_ordinary_user(name: str) -> None:
    script = str(ordinary_user.__file__)
    options = ["-n0", "-p", "no:cacheprovider", "-q", *RUNS[name]]
    with tempfile.TemporaryDirectory() as home:  # with a short path: sockets are created below it
        words = [sys.executable, script, home, sys.executable, "-m", "pytest", *options]
        process = subprocess.run(words, capture_output=True, text=True)
    if "Operation not permitted" in process.stderr:
        pytest.skip("this root may make no mounts")
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr[-1000:]
