"""An environment of Harbor without Docker: this machine's files below an overlay, in a chroot."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

_START = """\
set -e; cd {folder}; mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount --rbind /proc root/proc; mount --rbind /dev root/dev
{mounts}
mkdir -p root/app; echo ready; exec sleep infinity
"""


class OverlayEnvironment(BaseEnvironment):  # type: ignore[misc,unused-ignore]
    """Its mounts are in a namespace of their own, which ends with one process."""

    @staticmethod
    def type() -> str:
        return "overlay"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(mounted=True)

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="overlay-", dir="/dev/shm"))
        self._root = str(self._folder / "root")
        mounts = [
            f"mkdir -p root{mount['target']}; mount --bind {mount['source']} root{mount['target']}"
            for mount in self._host_mounts
        ]
        script = _START.format(folder=self._folder, mounts="\n".join(mounts))
        self._holder = await asyncio.create_subprocess_exec(
            "unshare", "--mount", "sh", "-c", script, stdout=asyncio.subprocess.PIPE
        )
        assert self._holder.stdout is not None
        assert await self._holder.stdout.readline() == b"ready\n"
        await self.upload_dir(self.environment_dir, "/app")
        await self.ensure_dirs(["/logs/agent", "/logs/verifier", "/logs/artifacts"])

    async def stop(self, delete: bool) -> None:
        self._holder.kill()
        await self._holder.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _enter(self, *command: str, env: dict[str, str] | None = None) -> ExecResult:
        enter = ["nsenter", "--mount", "--target", str(self._holder.pid)]
        process = await asyncio.create_subprocess_exec(
            *enter,
            *command,
            env={"PATH": os.environ["PATH"], **(env or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return ExecResult(
            stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0
        )

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        variables = {"HOME": "/root", **(self._merge_env(env) or {})}
        script = f"cd {shlex.quote(cwd or '/app')}\n{command}"
        async with asyncio.timeout(timeout_sec):
            return await self._enter("chroot", self._root, "bash", "-c", script, env=variables)

    async def _copy(self, source: str, target: str) -> None:
        result = await self._enter("cp", "-rT", source, target)
        if result.return_code:
            raise FileNotFoundError(result.stderr)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self._copy(str(source_path), f"{self._root}{target_path}")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self._enter("mkdir", "-p", f"{self._root}{target_dir}")
        await self._copy(str(source_dir), f"{self._root}{target_dir}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self._copy(f"{self._root}{source_path}", str(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        await self._copy(f"{self._root}{source_dir}", str(target_dir))
