"""Run the agent in the environment of a Harbor trial: `--agent integrations.harbor.agent:Manus`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path, PurePosixPath
from typing import Any

from harbor.agents.agent_auth_resolution import ModelConnectionSpec
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import (
    BaseInstalledAgent,
    NonZeroAgentExitCodeError,
    with_prompt_template,
)
from harbor.agents.options import InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.task.config import MCPServerConfig
from pydantic import Field

from integrations.harbor.replies import Recordings

_HOME = PurePosixPath("/installed-agent")
_PID = _HOME / "manus.pid"
_INSTALL = """\
command -v uv >/dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh
export PATH="$HOME/.local/bin:$PATH"
uv venv --python 3.13 /installed-agent/venv
uv pip install --python /installed-agent/venv/bin/python "$PACKAGE"
"""
_STOP = f"""\
pid=$(cat {_PID}) && kill -TERM "$pid" 2>/dev/null
for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || exit 0; sleep 0.1; done
kill -KILL "$pid"
"""
"""Stops a run that Harbor has given up: it would work and pay while the result is graded."""
_ENDED = ("terminated", "answered", "completed", "max_steps", "budget", "stuck", "plan_incomplete")
"""Stop reasons of a run that can be graded; any other one is a failure of the model server."""


class ManusOptions(InstalledAgentOptions):  # type: ignore[misc,unused-ignore]
    """What `--ak NAME=VALUE` sets."""

    wheel: str | None = Field(default=None, description="Wheel of manus; else it is downloaded.")
    install: str = Field(default=_INSTALL, description="Shell commands that install $PACKAGE.")
    profile: str = Field(default="manus", description="Agent profile.")
    budget: str | None = Field(default=None, description="Limits: tokens=200k,cost=1,seconds=10m.")
    max_steps: int | None = Field(default=None, description="Maximum number of steps.")
    replies: str | None = Field(
        default=None,
        description="Folder of the host that is mounted at /manus-replies: the model is not "
        "asked again for the replies of a trial that was interrupted.",
    )


class Manus(BaseInstalledAgent):  # type: ignore[misc,unused-ignore]
    """Installs the wheel, runs `manus run`, and exports the trajectory."""

    capabilities = AgentCapabilities(
        atif=True,
        resume=True,
        base_url=True,
        skills=True,
        mcp_servers=True,
        mcp_http_headers=True,
    )
    options_model = ManusOptions
    options: ManusOptions
    MODEL_CONNECTION = ModelConnectionSpec(base_url_destination_names={"default": "MANUS_BASE_URL"})

    _thread = 0
    """Number of the thread: each step of a task has its own, unless it is resumed."""
    _counted: dict[str, float]
    """What is already counted of a thread that is resumed."""

    @staticmethod
    def name() -> str:
        """Return the name in Harbor's tables."""
        return "manus"

    def get_version_command(self) -> str:
        """Return the command that prints the version."""
        return f"{_HOME}/venv/bin/manus --version | cut -d' ' -f2"

    async def install(self, environment: BaseEnvironment) -> None:
        """Install the wheel, or the published package, in an environment of its own."""
        package = f"manus-graph=={self._version}" if self._version else "manus-graph"
        if self.options.wheel is not None:
            wheel = Path(self.options.wheel)
            package = str(_HOME / wheel.name)
            await environment.upload_file(wheel, package)
        else:
            await self.ensure_system_dependencies(environment, ("curl", "ca_certificates"))
        extra = "[mcp]" if self.mcp_servers else ""
        command = f"set -e; export PACKAGE={shlex.quote(package + extra)}\n{self.options.install}"
        await self.exec_as_root(environment, command)

    async def configure(self, environment: BaseEnvironment) -> None:
        """Write the settings: the task's MCP servers and skills."""
        config = _HOME / "config" / "manus"
        folders = f"{config} {_HOME}/data {_HOME}/state {_HOME}/cache"
        settings = as_toml(self.mcp_servers, self.mcp_header_env.refs)
        command = f"mkdir -p {folders} && printf %s {shlex.quote(settings)} > "
        command += f"{config}/manus.toml"
        if self.skills_dir:
            command += f" && cp -r {shlex.quote(self.skills_dir)} {config}/skills"
        await self.exec_as_root(environment, f"{command} && chmod -R a+rwX {_HOME}")

    @with_prompt_template  # type: ignore[untyped-decorator,unused-ignore]
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Work on the instruction in the environment's folder.

        Raises:
            NonZeroAgentExitCodeError: the run did not end, for example for lack of a model server.
        """
        if not self._resume:
            self._thread += 1
            self._counted = {}
        recordings = self._claim_recordings(instruction)
        options = recordings.options() if recordings is not None else []
        try:
            result = await self.exec_as_agent(
                environment, self._command(instruction, options), env=self._variables()
            )
            outcome = json.loads((result.stdout or "").splitlines()[-1])
            if outcome["stop_reason"] not in _ENDED:
                raise NonZeroAgentExitCodeError(str(outcome["output"]))
        except NonZeroAgentExitCodeError:
            if recordings is not None:
                recordings.release()
            raise
        finally:
            await environment.exec(_STOP)
            export = f"{_HOME}/venv/bin/manus export {self._thread_id} --format atif "
            export += str(self.environment_logs_dir / "trajectory.json")
            await environment.exec(export, env=self._variables())

    def _claim_recordings(self, instruction: str) -> Recordings | None:
        options = self.options
        if options.replies is None:
            return None
        task = [instruction, self.model_name, self._thread, options.profile, options.budget]
        return Recordings.claim(Path(options.replies), json.dumps(task), self.logs_dir.parent)

    @property
    def _thread_id(self) -> str:
        return f"harbor-{self._thread}"

    def _command(self, instruction: str, options: list[str]) -> str:
        manus = f"{_HOME}/venv/bin/manus"
        options = ["--thread", self._thread_id, "--profile", self.options.profile, *options]
        if self.options.budget is not None:
            options += ["--budget", self.options.budget]
        if self.options.max_steps is not None:
            options += ["--max-steps", str(self.options.max_steps)]
        if self.model_name is not None:
            options += ["--model", self.model_name.replace("/", ":", 1)]
        arguments = shlex.join([*options, "--", instruction])
        errors = self.environment_logs_dir / "manus.txt"
        return (
            f'{manus} run --json --approve yolo --workspace "$PWD" {arguments} 2>>{errors} & '
            f"pid=$!; echo $pid > {_PID}; wait $pid || [ $? -eq 1 ] || {{ cat {errors}; exit 1; }}"
        )

    def _variables(self) -> dict[str, str]:
        """Return the environment of manus: the container is the sandbox, and outlives no run."""
        own = {f"MANUS_{name}": value for name, value in self._get_env_prefixed("MANUS_").items()}
        return {
            **own,
            **self.model_connection.env,
            **self.mcp_header_env.env,
            "MANUS_SANDBOX": "none",
            "MANUS_SNAPSHOTS": "0",
            "MANUS_MEMORY": "0",
            "MANUS_CHECKPOINT": str(self.environment_logs_dir / "threads.sqlite"),
            "XDG_CONFIG_HOME": str(_HOME / "config"),
            "XDG_DATA_HOME": str(_HOME / "data"),
            "XDG_STATE_HOME": str(_HOME / "state"),
            "XDG_CACHE_HOME": str(_HOME / "cache"),
        }

    def populate_context_post_run(self, context: AgentContext) -> None:
        """Count tokens and cost, also of a run that was stopped by the time limit."""
        try:
            trajectory = json.loads((self.logs_dir / "trajectory.json").read_text("utf-8"))
        except (OSError, ValueError):
            return
        totals: dict[str, float] = trajectory["final_metrics"]
        used = {name: value - self._counted.get(name, 0) for name, value in totals.items()}
        self._counted = totals
        context.n_input_tokens = int(used["total_prompt_tokens"])
        context.n_cache_tokens = int(used["total_cached_tokens"])
        context.n_output_tokens = int(used["total_completion_tokens"])
        context.cost_usd = used.get("total_cost_usd")


def as_toml(servers: list[MCPServerConfig], headers: dict[str, dict[str, str]]) -> str:
    """Return the settings of a task's MCP servers as in `manus.toml`.

    `headers`: the variable that contains the value, by server and name of the header.
    """
    lines = []
    for server in servers:
        values: dict[str, Any] = {"trust": True}
        if server.transport == "stdio":
            values |= {"command": server.command, "args": server.args, "sandbox": False}
        else:
            values["url"] = server.url
            values["transport"] = "sse" if server.transport == "sse" else "http"
        lines.append(f"[mcp.{json.dumps(server.name)}]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
        for header, variable in headers.get(server.name, {}).items():
            lines.append(f"headers.{json.dumps(header)} = {json.dumps(f'${{{variable}}}')}")
    return "".join(f"{line}\n" for line in lines)
