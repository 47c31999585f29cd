"""`manus chat`, `run`, `flow`, `resume` and `send`: start or resume a run, or send it a message."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from manus.cli.notes import print_note
from manus.cli.options import last_option, new_run_options, resolve_thread, run_options, thread_id
from manus.cli.queue_runs import queue_runs
from manus.cli.start_run import resume_thread, start_run
from manus.runs.options import RunOptions
from manus.state.endings import WAITING
from manus.threads.thread_id import NEWEST

if TYPE_CHECKING:
    from manus.state.request import Request
    from manus.threads.base import Store
    from manus.threads.records.inbox import InboxMessage


@click.command()
@click.option("--thread", metavar="ID", type=thread_id, help="Continue this thread.")
@last_option
@run_options
def chat(thread: str | None, last: bool, **options: Any) -> int:
    """Talk with the agent in the terminal (the default command)."""
    from manus.cli.conversation import Conversation
    from manus.cli.questions import is_interactive
    from manus.state.errors import UsageError

    if not is_interactive():
        raise UsageError(
            "`manus chat` needs a terminal; `manus run` also reads a request from stdin."
        )
    selected = resolve_thread(thread, last=last) if thread or last else None
    return Conversation(RunOptions(**options, chat=True)).talk(selected)


@click.command()
@new_run_options
def run(**options: Any) -> int:
    """Work on one request."""
    return _start("agent", RunOptions(**options))


@click.command()
@new_run_options
@click.option("--approve-plan", is_flag=True, help="Ask for your approval of each plan.")
def flow(**options: Any) -> int:
    """Plan a request, then execute the plan step by step."""
    return _start("flow", RunOptions(**options))


@click.command()
@click.argument("thread_argument", metavar="THREAD", required=False, type=thread_id)
@click.option("--thread", metavar="ID", type=thread_id, help="Same as THREAD.")
@last_option
@click.option(
    "--answer",
    metavar="TEXT",
    multiple=True,
    help="Answer to the open question. Repeat it, in order, for several questions.",
)
@run_options
def resume(thread_argument: str | None, thread: str | None, last: bool, **options: Any) -> int:
    """Resume a stopped thread, or answer its question."""
    return resume_thread(RunOptions(**options), resolve_thread(thread_argument, thread, last=last))


def _start(kind: str, args: RunOptions) -> int:
    from manus.cli.questions import read_request
    from manus.cli.settings import read_settings

    if args.last and args.thread:
        resolve_thread(args.thread, last=True)
    settings = read_settings()
    if args.queue or args.each_line:
        return queue_runs(kind, args, settings)
    return start_run(kind, args, read_request(args.prompt), settings)


@click.command()
@click.argument("words", nargs=-1, metavar="THREAD [TEXT]...")
@last_option
@click.option(
    "--queue", is_flag=True, help="Start it as the next request when the current run ends."
)
@click.option("--list", "lists", is_flag=True, help="List the unread messages.")
@click.option("--withdraw", metavar="ID", help="Withdraw an unread message.")
@click.option("--json", is_flag=True, help="Print one JSON value on stdout.")
def send(
    words: tuple[str, ...], last: bool, queue: bool, lists: bool, withdraw: str | None, json: bool
) -> int:
    """Send a message to a thread while a run is working on it."""
    from manus.cli.questions import read_request
    from manus.cli.settings import with_store

    thread, text = _split(words, last=last)
    if (lists or withdraw is not None) and (text or queue):
        raise click.UsageError("--list and --withdraw take no TEXT and no --queue")
    if withdraw is not None:
        with_store(lambda store: _withdraw(store, thread, withdraw, as_json=json))
    elif lists:
        with_store(lambda store: _list(store, thread, as_json=json))
    else:
        request = read_request(text)
        with_store(lambda store: _send(store, thread, request, queue=queue, as_json=json))
    return 0


def _split(words: tuple[str, ...], *, last: bool) -> tuple[str, tuple[str, ...]]:
    """Return the thread and the words of the message."""
    if last:
        return NEWEST, words
    if not words:
        raise click.UsageError("Missing argument THREAD (-c selects the newest thread)")
    return thread_id(words[0]), words[1:]


async def _send(store: Store, prefix: str, request: Request, *, queue: bool, as_json: bool) -> None:
    from manus.cli.output import print_json
    from manus.runs.messages import send as send_message
    from manus.threads.thread_list import find_thread

    thread = await find_thread(store, prefix)
    message = await send_message(store, thread, request, queue=queue)
    effect, is_read = await _describe_effect(store, thread, message)
    if as_json:
        print_json({"thread_id": thread, **message.as_json(), "needs_resume": not is_read})
        return
    print_note(f"{effect}\nWithdraw it with: {_command(thread)} --withdraw {message.id}")


async def _describe_effect(store: Store, thread_id: str, message: InboxMessage) -> tuple[str, bool]:
    """Return when the message will be read, and whether the active run reads it."""
    from manus.runs.messages import will_be_read
    from manus.threads.thread_list import get_thread

    thread = shlex.quote(thread_id)
    if (await get_thread(store, thread_id)).status == WAITING.label:
        return (
            "Stored. The thread waits for an answer, and the message is read after it: "
            f"manus resume {thread} --answer TEXT",
            False,
        )
    if not await will_be_read(store, thread_id, message):
        hint = f"start it with: manus resume {thread}"
        return f"Stored. No run is active on the thread; {hint}", False
    if message.kind == "queue":
        return "Stored. It becomes the next request when the current run ends.", True
    return "Stored. The agent reads it at its next step.", True


def _command(thread: str) -> str:
    return f"manus send {shlex.quote(thread)}"


async def _list(store: Store, prefix: str, *, as_json: bool) -> None:
    from manus.cli.output import print_json, print_output
    from manus.runs.messages import read_unread
    from manus.threads.thread_list import find_thread

    thread = await find_thread(store, prefix)
    messages = await read_unread(store, thread)
    if as_json:
        print_json([message.as_json() for message in messages])
    elif messages:
        print_output("\n".join(map(format_unread, messages)))
    else:
        print_note(f"The thread {thread} has no unread messages.")


def format_unread(message: InboxMessage) -> str:
    """Return a line about an unread message."""
    from manus.prompts.formatting import flat

    effect = "after this run" if message.kind == "queue" else "at the next step"
    return f"{message.id}  {effect:<16}  {flat(message.text)}"


async def _withdraw(store: Store, prefix: str, message_id: str, *, as_json: bool) -> None:
    from manus.cli.output import print_json
    from manus.prompts.formatting import flat
    from manus.runs.messages import withdraw
    from manus.threads.thread_list import find_thread

    message = await withdraw(store, await find_thread(store, prefix), message_id)
    if as_json:
        print_json(message.as_json())
    else:
        print_note(f"Withdrawn: {flat(message.text)}")
