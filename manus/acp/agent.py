"""Serve the threads of a store as the sessions of an editor."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, cast, get_args

import acp
from acp import helpers, schema
from langgraph.types import Command

from manus.acp import permission
from manus.acp.content import read_prompt
from manus.acp.replay import replay
from manus.acp.updates import Updates
from manus.config.safety_settings import ApproveMode
from manus.config.settings import Settings
from manus.graph.attachments import build_message
from manus.graph.outcome import Outcome
from manus.graph.profiles import all_profiles
from manus.pages.trace.reading import read_trace
from manus.prompts.formatting import flat
from manus.runs import messages
from manus.runs.configuration import (
    CONSEQUENCE,
    QUESTION,
    check_model,
    decide,
    is_undecided,
    select_main_endpoint,
    trusts_files,
)
from manus.runs.jobs import Job, create_job, create_resume_job, read_outcome, run_job
from manus.runs.options import RunOptions
from manus.runs.signals import end_at_once, own_streams
from manus.state.endings import UNFINISHED, WAITING
from manus.state.errors import ManusError
from manus.state.request import Request
from manus.threads.base import Store
from manus.threads.open_store import open_store
from manus.threads.thread_list import read_thread, read_threads
from manus.tools.mcp.references import resolve_references
from manus.version import VERSION

_MAX_LISTED = 200
"""Sessions."""
_MODES: dict[ApproveMode, str] = {
    "ask": "Ask before every change",
    "auto": "Ask before what leaves the workspace or the sandbox",
    "yolo": "Ask nothing",
    "refuse": "Ask nothing, and do nothing that would need a question",
}
_STOP_REASONS: dict[str | None, schema.StopReason] = {
    "max_steps": "max_turn_requests",
    "budget": "max_turn_requests",
    "stuck": "max_turn_requests",
}


@dataclass(slots=True)
class EditorSession:
    """A thread that an editor has opened."""

    thread_id: str
    root: Path
    mode: ApproveMode
    profile: str
    plans: bool = False
    """Whether a new thread plans first."""
    put_away: bool = False
    """Whether the person has put away the open question, so that the next prompt declines it."""
    turn: asyncio.Task[Outcome] | None = field(default=None, repr=False)
    """The turn that is running."""

    def options(self) -> RunOptions:
        """Return the options of a run in this session."""
        return RunOptions(
            workspace=str(self.root),
            profile=self.profile,
            approve=self.mode,
            approve_plan=self.plans and self.mode != "refuse",
            interactive=True,
            chat=True,
        )


class EditorAgent:
    """The agent side of the Agent Client Protocol; one editor at a time."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._sessions: dict[str, EditorSession] = {}
        self._client: Any = None

    def on_connect(self, conn: acp.Client) -> None:
        """Keep the connection to the editor."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        """Return the version of the protocol and what the agent can do."""
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_info=schema.Implementation(name="manus", title="Manus", version=VERSION),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities()
                ),
            ),
        )

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        """Open a new thread, which is stored with its first prompt."""
        session = self._open(secrets.token_hex(5), cwd)
        await self._name_unused(session, mcp_servers or ())
        options = await asyncio.to_thread(self._config_options, session)
        return schema.NewSessionResponse(
            session_id=session.thread_id, modes=_modes(session), config_options=options
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> schema.LoadSessionResponse:
        """Open a stored thread and repeat its conversation."""
        session = await self._reopen(session_id, cwd)
        runs = await read_trace(self._store, session_id)
        for update in replay(runs, session.root):
            await self._client.session_update(session_id, update)
        await self._name_unused(session, mcp_servers or ())
        options = await asyncio.to_thread(self._config_options, session)
        return schema.LoadSessionResponse(modes=_modes(session), config_options=options)

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        """Return the newest threads, those of one folder if it is given."""
        sessions = []
        recent = await self._store.recent(_MAX_LISTED)
        async for thread_id, thread in read_threads(self._store, recent):
            if thread is None or isinstance(thread, ManusError) or not thread.workspace:
                continue
            if cwd is None or thread.workspace == os.path.realpath(cwd):  # noqa: ASYNC240
                sessions.append(
                    schema.SessionInfo(
                        session_id=thread_id,
                        cwd=thread.workspace,
                        title=flat(thread.request),
                        updated_at=thread.updated.isoformat(),
                    )
                )
        return schema.ListSessionsResponse(sessions=sessions)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> None:
        """Set which calls need approval, from the next prompt on."""
        if mode_id not in get_args(ApproveMode):
            _refuse(f"There is no mode `{mode_id}`; choose one of {', '.join(_MODES)}.")
        self._get(session_id).mode = mode_id  # type: ignore[assignment]  # checked above

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Set the profile, or whether a new thread plans first."""
        session = self._get(session_id)
        if config_id == "profile" and value in await asyncio.to_thread(all_profiles):
            session.profile = str(value)
        elif config_id == "plan_first" and isinstance(value, bool):
            session.plans = value
        else:
            _refuse(f"`{config_id}` cannot be set to `{value}`.")
        options = await asyncio.to_thread(self._config_options, session)
        return schema.SetSessionConfigOptionResponse(config_options=options)

    async def prompt(
        self, prompt: Sequence[Any], session_id: str, **_: Any
    ) -> schema.PromptResponse:
        """Work on a prompt until the run ends, asks in words, or is cancelled."""
        session = self._get(session_id)
        if session.turn is not None:
            _refuse("The session is working on a prompt; cancel it, or wait for its end.")
        session.turn = asyncio.create_task(self._work(session, prompt))
        try:
            outcome = await asyncio.shield(session.turn)
        except asyncio.CancelledError:
            if not session.turn.cancelled():  # the connection ends: the turn with it
                session.turn.cancel()
                await asyncio.wait([session.turn])
                raise
            return schema.PromptResponse(stop_reason="cancelled")
        except ManusError as error:
            raise acp.RequestError(-32603, flat(str(error))) from None
        finally:
            session.turn = None
        if outcome.status == "error":
            raise acp.RequestError(-32603, flat(outcome.output))
        reason = _STOP_REASONS.get(outcome.stop_reason, "end_turn")
        return schema.PromptResponse(stop_reason=reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the turn; what was done and said is kept."""
        turn = self._get(session_id).turn
        if turn is not None:
            turn.cancel()

    async def _work(self, session: EditorSession, prompt: Sequence[Any]) -> Outcome:
        await self._ask_for_trust(session)
        updates = Updates(session.root)

        async def show(mode: str, data: Any) -> None:
            for update in updates.read(mode, data):
                await self._client.session_update(session.thread_id, update)

        async def continue_job(job: Job, outcome: Outcome) -> Job | None:
            return await self._answer(session, job, outcome, updates)

        async with self._store.hold(session.thread_id):
            job = await self._prepare(session, prompt)
            outcome = await run_job(job, ["custom", "messages"], show, continue_job)
        is_new = flat(outcome.output) not in flat(updates.said)
        if is_new and outcome.status != "error":
            end = helpers.update_agent_message_text(outcome.output)
            await self._client.session_update(session.thread_id, end)
        return outcome

    async def _prepare(self, session: EditorSession, prompt: Sequence[Any]) -> Job:
        """Return the job for a prompt: a request, an answer in words, or a message to a run."""
        options = session.options()
        store = self._store
        check_model(select_main_endpoint(self._settings, None))
        is_trusted = await asyncio.to_thread(trusts_files, session.root)
        trusted = session.root if is_trusted else None
        request, images = await asyncio.to_thread(read_prompt, prompt, trusted)
        request = await resolve_references(request, self._settings, session.root)
        thread = await read_thread(store, session.thread_id)
        if thread is None or thread.status not in (WAITING.label, UNFINISHED.label):
            kind = "flow" if session.plans else "agent"
            return await create_job(
                thread.kind if thread else kind,
                session.thread_id,
                request.text,
                build_message(request, images),
                options,
                self._settings,
                store,
            )
        outcome = await read_outcome(store, thread)
        answers = _answer_in_words(outcome, request)
        if answers is None:
            if session.put_away:
                answers = {
                    question.id: permission.decline(question) for question in outcome.questions
                }
            queue = thread.status == WAITING.label and not answers
            await messages.send(store, session.thread_id, request, queue=queue)
        session.put_away = False
        return await create_resume_job(
            session.thread_id, replace(options, profile=None), self._settings, store, answers
        )

    async def _answer(
        self, session: EditorSession, job: Job, outcome: Outcome, updates: Updates
    ) -> Job | None:
        """Return the job with the person's choices; None if the run has to wait for words."""
        answers = {}
        for question in outcome.questions:
            if not permission.has_choices(question):
                continue
            answer = await permission.ask(self._client, session.thread_id, question, updates.calls)
            if answer is None:
                session.put_away = True
                raise asyncio.CancelledError
            answers[question.id] = answer
        return replace(job, graph_input=Command(resume=answers)) if answers else None

    async def _ask_for_trust(self, session: EditorSession) -> None:
        """Ask once whether the person trusts the files of the folder."""
        if not await asyncio.to_thread(is_undecided, session.root):
            return
        text = f"{QUESTION}\n{session.root}\n\n{CONSEQUENCE}"
        answer = await permission.choose(
            self._client, session.thread_id, "trust", text, ["yes", "no"]
        )
        if answer is not None:
            await asyncio.to_thread(decide, session.root, trusted=answer == "yes")

    async def _name_unused(self, session: EditorSession, servers: Sequence[Any]) -> None:
        """Say which servers of the editor are not used: only `manus.toml` can name programs."""
        if servers:
            names = ", ".join(server.name for server in servers)
            text = f"The MCP servers {names} are not used; add them to manus.toml.\n"
            update = helpers.update_agent_thought_text(text)
            await self._client.session_update(session.thread_id, update)

    def _open(self, thread_id: str, cwd: str) -> EditorSession:
        root = Path(cwd)
        if not (root.is_absolute() and root.is_dir()):
            _refuse(f"`{cwd}` is not the absolute path of a folder.")
        session = EditorSession(
            thread_id, root.resolve(), self._settings.approve.mode, self._settings.profile
        )
        self._sessions[thread_id] = session
        return session

    async def _reopen(self, thread_id: str, cwd: str) -> EditorSession:
        thread = await read_thread(self._store, thread_id)
        if thread is None:
            raise acp.RequestError.resource_not_found(thread_id)
        session = self._open(thread_id, thread.workspace or cwd)
        session.profile = thread.profile or session.profile
        session.mode = thread.options.get("approve") or session.mode
        session.plans = thread.kind == "flow"
        return session

    def _get(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise acp.RequestError.resource_not_found(session_id)
        return session

    def _config_options(self, session: EditorSession) -> list[Any]:
        """Return what the person can choose besides the mode. Blocking."""
        profiles = [
            schema.SessionConfigSelectOption(value=name, name=name, description=profile.description)
            for name, profile in all_profiles().items()
        ]
        return [
            schema.SessionConfigOptionSelect(
                type="select",
                id="profile",
                name="Profile",
                current_value=session.profile,
                options=profiles,
            ),
            schema.SessionConfigOptionBoolean(
                type="boolean", id="plan_first", name="Plan first", current_value=session.plans
            ),
        ]


async def serve(settings: Settings) -> int:
    """Serve an editor over stdin and stdout until it disconnects; return the exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end_at_once, 0)
    async with open_store(settings) as store:
        with own_streams():
            await acp.run_agent(cast(acp.Agent, EditorAgent(store, settings)))
    return 0


def _modes(session: EditorSession) -> schema.SessionModeState:
    modes = [
        schema.SessionMode(id=mode, name=mode, description=text) for mode, text in _MODES.items()
    ]
    return schema.SessionModeState(current_mode_id=session.mode, available_modes=modes)


def _answer_in_words(outcome: Outcome, request: Request) -> dict[str, str] | None:
    """Return a prompt as the answer to the first question that needs words; None without one."""
    for question in outcome.questions:
        if outcome.asks_person and not permission.has_choices(question):
            return {question.id: request.text}
    return None


def _refuse(text: str) -> NoReturn:
    raise acp.RequestError(-32602, text)
