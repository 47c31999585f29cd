"""The agent with the model that Inspect evaluates, as its solver."""

import json
from typing import Any

from inspect_ai.agent import Agent, AgentState, agent, agent_bridge, sandbox_agent_bridge
from inspect_ai.model import ChatMessageAssistant, ModelOutput
from inspect_ai.util import sandbox
from langchain_openai import ChatOpenAI

from manus import Context, build_agent

_PORT = 13131


@agent  # type: ignore[untyped-decorator,unused-ignore]
def manus(profile: str = "swe") -> Agent:
    """Run in the process of Inspect, in the folder of its `local` sandbox."""

    async def execute(state: AgentState) -> AgentState:
        workspace = (await sandbox().exec(["pwd"])).stdout.strip()
        async with agent_bridge(state) as bridge:
            options: dict[str, Any] = {"model": "inspect", "api_key": "none", "max_retries": 0}
            graph = build_agent(profile, model=ChatOpenAI(**options))
            context = Context(workspace=workspace, approve="yolo")
            request = {"messages": [("user", state.messages[-1].text)]}
            outcome = await graph.ainvoke(request, context=context)
        return _with_answer(bridge.state, str(outcome["output"]))

    return execute


@agent  # type: ignore[untyped-decorator,unused-ignore]
def manus_in_sandbox(profile: str = "swe", command: str = "manus") -> Agent:
    """Run the program `manus` that is installed in the sandbox, over the bridge's server."""

    async def execute(state: AgentState) -> AgentState:
        async with sandbox_agent_bridge(state, port=_PORT) as bridge:
            environment = {
                "MANUS_BASE_URL": f"http://127.0.0.1:{_PORT}/v1",
                "MANUS_API_KEY": "none",
                "MANUS_SANDBOX": "none",
            }
            options = ["--json", "--quiet", "--approve", "yolo", "--profile", profile]
            options += ["--workspace", ".", "--model", "openai:inspect", "--"]
            program = [command, "run", *options, state.messages[-1].text]
            result = await sandbox().exec(program, env=environment)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"manus failed: {result.stderr[-500:]}")
        return _with_answer(bridge.state, str(json.loads(result.stdout.splitlines()[-1])["output"]))

    return execute


def _with_answer(state: AgentState, answer: str) -> AgentState:
    state.messages.append(ChatMessageAssistant(content=answer))
    state.output = ModelOutput.from_content("inspect", answer)
    return state
