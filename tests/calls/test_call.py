"""One call of one tool: any outcome is an observation, and its length is bounded."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import override

from manus.calls.base import Arguments
from manus.calls.result import Image, Observation
from manus.calls.session import Session
from manus.calls.truncation import truncate
from manus.prompts.sources import COMMAND
from manus.state.errors import StorageError
from manus.threads.journal import Claim
from manus.tools.bash import Bash
from manus.tools.str_replace_editor import StrReplaceEditor
from manus.workspace.workspace import Workspace
from tests.helpers.acting import Act, execute_alone, get_error, raising


async def test_a_tool_that_raises(session: Session, subtests: pytest.Subtests) -> None:
    errors = {
        "`act` failed: ValueError: bad\nvalue": ValueError("bad\nvalue"),
        "`act` failed: ValueError.": ValueError(),
        "`act` failed: KeyError: 'x'": KeyError("x"),
        "`act` failed: TimeoutError: the server": TimeoutError("the server"),
        "`act` failed: StorageError: The disk is full.": StorageError("The disk is full."),
    }
    for key, (message, error) in enumerate(errors.items()):
        with subtests.test(key=key, message=message):
            tool = Act(session=session, does=raising(error))
            assert (await execute_alone(session, tool, key=str(key))).message.text == message

    with pytest.raises(ValidationError) as unfit:
        PickyArgs.model_validate({})
    # an error from a model that the tool reads does not concern its arguments
    message = await get_error(session, Act(session=session, does=raising(unfit.value)))
    assert message.startswith("`act` failed: ")


class PickyArgs(Arguments):
    colour: str = Field(description="Which", pattern="^[a-z]+$")
    size: int = Field(description="How large", ge=1, le=9)
    tags: list[str] = Field(default_factory=list, description="Any")


class Picky(Act):
    """Reports which tags it received."""

    name: str = "picky"
    args_schema: type[BaseModel] = PickyArgs

    @override
    async def observe(self, *_: Any, text: str = "", **arguments: Any) -> Observation:
        self.calls.append(text)
        return Observation(str(arguments["tags"]))


# What a model may pass as a list, and what the tool receives.
TAGS: list[tuple[Any, str]] = [
    (None, "[]"),
    (["a", "b"], "['a', 'b']"),
    ('["a", "b"]', "['a', 'b']"),
    ("[a", "`tags`: Input should be a valid list"),
]


async def test_a_null_and_a_list_in_a_string_are_decoded(
    session: Session, subtests: pytest.Subtests
) -> None:
    tool = Picky(session=session)
    for tags, message in TAGS:
        with subtests.test(tags=tags, message=message):
            args = {"colour": "red", "size": 1, "tags": tags}
            assert message in (await execute_alone(session, tool, args, key=str(tags))).message.text
    assert "`size`: Input should be a valid integer" in await get_error(
        session, tool, {"colour": "red", "size": None}
    )


async def test_invalid_arguments_are_explained_one_by_one(
    session: Session, subtests: pytest.Subtests
) -> None:
    tool = Picky(session=session)
    error = await get_error(session, tool, {"color": "red", "size": "big", "tags": [1, "a"]})
    problems = [line for line in error.split("\n") if line.startswith("- ")]
    assert [line.split("`")[1] for line in problems] == ["colour", "size", "tags.0", "color"]
    for fact in ("valid integer", "got 'big'", "did you mean `colour`?"):
        with subtests.test(fact=fact):
            assert fact in error
    assert error.endswith("It takes: `colour`, `size`, optionally `tags`.")
    assert tool.calls == []
    editor = StrReplaceEditor(session=session)
    error = (await execute_alone(session, editor, {"line": 1}, key="part")).message.text
    assert "`line` is not an argument; did you mean `insert_line`?" in error
    enormous = {"colour": "X" * 10_000_000, "size": [1] * 1_000_000}
    assert len((await execute_alone(session, tool, enormous, key="large")).message.text) < 1_000


# Names that are ambiguous or empty, and a path whose target cannot be determined.
UNFIT: list[tuple[dict[str, Any], str]] = [
    ({"file": "a.txt", "filename": "b.txt"}, "`path`: Field required"),
    ({"path": "a.txt", "file": "b.txt"}, "`file` is not an argument"),
    ({"path": 7}, "`path`: Input should be a valid string (got 7)"),
]


async def test_an_argument_under_a_common_alias_is_accepted(
    session: Session, subtests: pytest.Subtests
) -> None:
    output = await execute_alone(session, Bash(session=session), {"cmd": "echo hi"})
    assert output.message.text == "hi\n[exit code 0]"
    editor = StrReplaceEditor(session=session)
    arguments = {"command": "create", "file_path": "a.txt", "content": "text"}
    await execute_alone(session, editor, arguments, key="create")
    assert (session.workspace.root / "a.txt").read_text() == "text"
    for key, (options, why) in enumerate(UNFIT):
        with subtests.test(key=key, options=options):
            output = await execute_alone(
                session, editor, {"command": "view", **options}, key=str(key)
            )
            assert why in output.message.text


async def test_images_are_kept_with_the_text(session: Session) -> None:
    image = Image("aGk=", "image/png")
    tool = Act(session=session, does=lambda _: Observation("x" * 5_000, (image,)))
    message = (await execute_alone(session, tool, limit=1_000)).message
    assert isinstance(message.content, list)
    [text, picture] = message.content
    assert isinstance(text, dict)
    assert len(text["text"]) <= 1_000
    assert "characters left out" in text["text"]
    assert picture == image.as_block()


async def test_characters_that_cannot_be_stored_are_replaced(session: Session) -> None:
    tool = Act(session=session, does=lambda _: Observation("a\0b \ud83d\ude00 \ud800"))
    cut = (await execute_alone(session, tool, limit=10, key="cut")).message
    json.dumps(cut.model_dump(), ensure_ascii=False).encode()
    assert "\0" not in cut.text
    assert (await execute_alone(session, tool)).message.text == "a␀b 😀 \ufffd"
    refused = await execute_alone(session, tool, refusal="no \0\ud800", key="other")
    assert refused.message.text == "no ␀\ufffd"


async def test_no_effect_without_a_claim(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: str, **__: object) -> None:
        raise StorageError("The disk is full.")

    monkeypatch.setattr(session.journal, "abegin", full)
    tool = Act(session=session)
    with pytest.raises(StorageError):
        await execute_alone(session, tool)
    assert tool.calls == []


async def test_a_completed_call_is_answered_from_the_journal(session: Session) -> None:
    """It updates only the channels that the tool updates."""
    tool = Act(session=session, does=lambda _: Observation("done", is_error=True, update={"n": 1}))
    first = await execute_alone(session, tool)
    again = await execute_alone(session, tool)
    assert (again.message, again.observation.update) == (first.message, {"n": 1})
    entry = first.message.model_dump()
    session.journal.finish("key", entry, {"n": 2, "status": "finished", "plans": {}})
    assert (await execute_alone(session, tool)).observation.update == {"n": 2}
    assert len(tool.calls) == 1


async def test_a_call_without_effect_is_repeated(session: Session) -> None:
    session.journal.begin("key", Claim("act"))
    tool = Act(session=session, pure=True)
    await execute_alone(session, tool, {"text": "1"})
    await execute_alone(session, tool, {"text": "2"})
    assert tool.calls == ["1", "2"]


def _file_named_in(text: str, workspace: Workspace) -> Path:
    match = re.search(r"all [\d,]+ are in (\S+) …\]", text)
    assert match is not None
    return workspace.root / match[1]


@pytest.mark.parametrize("limit", [200, 1000, 9_999])
def test_long_output_keeps_both_ends_and_is_in_a_file(session: Session, limit: int) -> None:
    workspace = session.workspace
    text = "".join(f"line {number}\n" for number in range(10_000))
    cut = truncate(text, limit, workspace)
    assert limit - 300 <= len(cut) <= limit
    head, note, tail = re.split(r"\n(\[… .* …\])\n", cut)
    assert truncate(text[:limit], limit, workspace) == text[:limit], (
        "output that fits is not changed"
    )
    assert text.startswith(head)
    assert text.endswith(tail)
    assert f"{len(text) - len(head) - len(tail):,} of {len(text):,} characters left out" in note
    assert _file_named_in(cut, workspace).read_text() == text
    assert truncate(text, limit, workspace) == cut
    other = truncate("b\n" * 5_000, limit, workspace)
    assert _file_named_in(other, workspace).read_text() == "b\n" * 5_000
    assert len(list((workspace.private / "observations").iterdir())) == 2


@pytest.mark.parametrize("ending", ["\n", ""])
def test_the_file_contains_only_the_programs_output(session: Session, ending: str) -> None:
    output = "\n".join(f"line {number}" for number in range(10_000)) + ending
    text = f"[a fresh shell]\n{output.removesuffix(ending)}\n[exit code 3]"
    cut = truncate(text, 1_000, session.workspace, output=output)
    assert cut.endswith("\n[exit code 3]")
    path = _file_named_in(cut, session.workspace)
    assert path.read_text() == output
    lines = re.search(r"lines ([\d,]+)–([\d,]+): [\d,]+ of ([\d,]+) characters", cut)
    assert lines is not None
    first, last, size = (int(number.replace(",", "")) for number in lines.groups())
    before = cut.partition("\n[…")[0].splitlines()
    after = cut.partition("…]\n")[2].splitlines()
    assert (before[-1], after[0]) == (f"line {first - 2}", f"line {last}")
    assert size == len(output)


OUTPUTS = {
    "numbers": "".join(f"{n:08d} {n * n}\n" for n in range(20_000)),
    "prose": "The quick brown fox jumps over the lazy dog.\n" * 2_000,
    "one line of numbers": ", ".join(f"{n}.25" for n in range(10**6, 10**6 + 20_000)),
    "Chinese": "你好，世界。这是一个文件，里面写的是中文。\n" * 2_000,
}


@pytest.mark.parametrize("name", OUTPUTS)
async def test_about_a_thousand_tokens_of_very_long_output_are_shown(
    session: Session, name: str
) -> None:
    output = OUTPUTS[name]
    tool = Act(session=session, does=lambda _: Observation(output, source=COMMAND))
    text = (await execute_alone(session, tool)).message.text
    head, note, tail = re.split(r"\n?(\[… .* …\])\n?", text)
    assert 800 <= len(re.findall(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]|\n", text)) <= 1_200
    assert output.startswith(head)
    assert output.endswith(tail)
    assert _file_named_in(text, session.workspace).read_text() == output
    assert {*re.findall(r"[\d.]+", head + "\n" + tail)} <= {*re.findall(r"[\d.]+", output)}
    lines = re.match(r"\[… lines ([\d,]+)–([\d,]+): ", note)
    if lines is None:
        assert output.count("\n") == 0
        return
    first, last = (int(number.replace(",", "")) for number in lines.groups())
    output_lines = output.splitlines(keepends=True)
    assert "".join(output_lines[: first - 1]) == f"{head}\n"
    assert "".join(output_lines[last:]) == tail


async def test_a_text_of_another_source_is_shown_up_to_the_limit(session: Session) -> None:
    tool = Act(session=session, does=lambda _: Observation("line\n" * 4_000))
    assert len((await execute_alone(session, tool)).message.text) > 9_000


async def test_mostly_the_end_of_a_commands_output_is_shown(session: Session) -> None:
    """As with a test run: passed tests fill the start, and the summary is at the end."""
    command = {"command": "for i in $(seq 2000); do echo line $i; done; (exit 3)"}
    message = (await execute_alone(session, Bash(session=session), command, limit=1_000)).message
    beginning, _, end = message.text.partition(" …]\n")
    assert end.endswith("line 2000\n[exit code 3]")
    assert len(end) > len(beginning)
