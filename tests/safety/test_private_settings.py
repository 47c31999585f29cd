"""System settings that only root may read stay hidden, even if root starts a run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.child import ROOT
from tests.helpers.sandboxes import Kind

RUN = """\
import asyncio, tempfile
from pathlib import Path
from manus.tools.bash import Bash
from tests.helpers.ordinary_user import NEW_MOUNTS, PRIVATE, RECURSIVE, check, libc, mount
from tests.helpers.sessions import session_in

check(libc.unshare(NEW_MOUNTS))
mount("none", Path("/"), RECURSIVE | PRIVATE)
mount("none", Path("/etc/ssl"), 0, "tmpfs", "mode=755")
keys = [Path("/etc/ssl", name) for name in ("private/a", "certs/b", "certs/closed/c", "cert.pem")]
for key in keys:
    key.parent.mkdir(exist_ok=True)
    key.write_text("sk-secret")
    key.chmod(0o600)
keys[2].chmod(0o644)
keys[2].parent.chmod(0o700)
Path("/etc/ssl/certs/public").write_text("a certificate")
Path("/etc/ssl/certs/link").symlink_to(keys[0])

async def main():
    session = session_in(Path(tempfile.mkdtemp()))
    command = f"cat {' '.join(map(str, keys))} /etc/ssl/certs/link; cat /etc/ssl/certs/public"
    print((await Bash(session=session).observe(command=command)).text)
    await session.close()

asyncio.run(main())
"""


@pytest.mark.sandboxes("bubblewrap", "landlock")
@pytest.mark.skipif(os.geteuid() != 0, reason="others cannot read them anyway")
def test_keys_of_root_are_hidden(sandbox_kind: Kind) -> None:
    words = [sys.executable, "-c", RUN]
    process = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if "Operation not permitted" in process.stderr:
        pytest.skip("this root may make no mounts")
    assert "a certificate" in process.stdout, process.stderr
    assert "sk-secret" not in process.stdout
