"""One call of one tool: whatever the tool or the model does, there is an observation."""

from typing import Any

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.state.errors import StorageError
from manus.tools.base import Arguments
from manus.tools.bash import Bash
from manus.tools.result import Observation
from manus.tools.session import Resource, Session
from manus.tools.str_replace_editor import StrReplaceEditor
from tests.helpers.acting import Act, execute_alone, raising, said_of


async def test_a_tool_that_raises(session: Session) -> None:
    errors = {
        "`act` failed: ValueError: bad\nvalue": ValueError("bad\nvalue"),
        "`act` failed: ValueError.": ValueError(),
        "`act` failed: KeyError: 'x'": KeyError("x"),
        "`act` failed: TimeoutError: the server": TimeoutError("the server"),
        "`act` failed: StorageError: The disk is full.": StorageError("The disk is full."),
    }
    for key, (said, error) in enumerate(errors.items()):
        held = Act(session=session, does=raising(error))
        assert (await execute_alone(session, held, key=str(key))).message.text == said


async def test_a_model_that_the_tool_reads_is_not_its_arguments(session: Session) -> None:
    class Config(BaseModel):
        port: int

    def does(text: str) -> Observation:
        Config.model_validate({})
        raise AssertionError

    said = await said_of(session, Act(session=session, does=does))
    assert said.startswith("`act` failed: ")


class PickyArgs(Arguments):
    colour: str = Field(description="Which", pattern="^[a-z]+$")
    size: int = Field(description="How large", ge=1, le=9)
    tags: list[str] = Field(default_factory=list, description="Any")


class Picky(Act):
    name: str = "picky"
    args_schema: type[BaseModel] = PickyArgs


async def test_a_null_counts_as_not_given_where_it_may_be_left_out(session: Session) -> None:
    given: list[dict[str, Any]] = []

    class Keeps(Picky):
        @override
        async def observe(self, *_: Any, **arguments: Any) -> Observation:
            given.append(arguments)
            return Observation("kept")

    held = Keeps(session=session)
    made = await execute_alone(session, held, {"colour": "red", "size": 1, "tags": None})
    assert (made.message.text, given[0]["tags"]) == ("kept", [])
    wrong = {"colour": "red", "size": None}
    refused = await execute_alone(session, held, wrong, key="other")
    assert "`size`: Input should be a valid integer" in refused.message.text


async def test_arguments_that_do_not_fit_are_explained_one_by_one(session: Session) -> None:
    held = Picky(session=session)
    said = await said_of(session, held, {"color": "red", "size": "big", "tags": [1, "a"]})
    problems = [line for line in said.split("\n") if line.startswith("- ")]
    assert [line.split("`")[1] for line in problems] == ["colour", "size", "tags.0", "color"]
    for fact in ("valid integer", "got 'big'", "did you mean `colour`?"):
        assert fact in said
    assert said.endswith("It takes: `colour`, `size`, `tags?`.")
    assert held.begun == []


async def test_enormous_arguments_are_not_repeated(session: Session) -> None:
    held = Picky(session=session)
    said = await said_of(session, held, {"colour": "X" * 10_000_000, "size": [1] * 1_000_000})
    assert len(said) < 1_000


async def test_a_list_that_comes_as_json_in_a_string_is_unpacked(session: Session) -> None:
    seen: list[Any] = []

    class Listed(Picky):
        @override
        async def observe(self, *_: Any, **arguments: Any) -> Observation:
            seen.append(arguments["tags"])
            return Observation("ok")

    held = Listed(session=session)
    for tags in ('["a", "b"]', ["a", "b"]):
        await execute_alone(
            session, held, {"colour": "red", "size": 1, "tags": tags}, key=str(tags)
        )
    assert seen == [["a", "b"], ["a", "b"]]
    assert "`tags`: Input should be a valid list" in await said_of(
        session, held, {"colour": "red", "size": 1, "tags": "[a"}
    )


async def test_arguments_that_cannot_be_asked_what_they_touch_are_explained(
    session: Session,
) -> None:
    class Strict(Act):
        @override
        def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
            return frozenset({Resource("workspace/" + args["text"])})

        @override
        def read_only(self, args: dict[str, Any]) -> bool:
            return bool(args["text"].strip())

    assert "`text`: Input should be a valid string (got 7)" in await said_of(
        session, Strict(session=session), {"text": 7}
    )


async def test_an_argument_under_a_common_other_name_is_taken(session: Session) -> None:
    assert (
        await execute_alone(session, Bash(session=session), {"cmd": "echo hi"})
    ).message.text == ("hi\n[exit code 0]")
    editor = StrReplaceEditor(session=session)
    made = {"command": "create", "file_path": "a.txt", "content": "text"}
    await execute_alone(session, editor, made, key="create")
    assert (session.workspace.root / "a.txt").read_text() == "text"


async def test_a_name_that_can_mean_two_things_or_none_is_not_taken(session: Session) -> None:
    tool = StrReplaceEditor(session=session)
    both = {"command": "view", "file": "a.txt", "filename": "b.txt"}
    assert "`path`: Field required" in await said_of(session, tool, both)
    besides = {"command": "view", "path": "a.txt", "file": "b.txt"}
    assert "`file`: " in await said_of(session, tool, besides)
