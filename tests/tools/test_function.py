"""A function of the user's own as a tool: what the model is told of it, and what is refused."""

import types
from collections.abc import Callable
from typing import Any, Literal

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool

from manus.state.errors import SettingsError
from manus.tools.call import observe_call
from manus.tools.own import from_function


def described(word: str, times: int = 1, tone: Literal["calm", "loud"] = "calm") -> str:
    """Say a word.

    Args:
        word: What to say.
        times: How often.
        tone: How.
    """
    return " ".join([word] * times) + ("!" if tone == "loud" else "")


def briefly(words: list[str], last: str | None = None) -> str:
    """Say words."""
    return " ".join(filter(None, [*words, last]))


async def later(word: str) -> str:
    """Say a word, later."""
    return word


CALLED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (described, {"word": "hey", "times": "2", "tone": "loud"}, "hey hey!"),
    (briefly, {"words": ["a", "b"]}, "a b"),
    (later, {"word": "中文"}, "中文"),
]


async def test_its_docstring_describes_it_and_it_is_called() -> None:
    made = convert_to_openai_tool(from_function(described))["function"]
    assert (made["name"], made["description"]) == ("described", "Say a word.")
    takes = made["parameters"]["properties"]
    assert takes["word"] == {"type": "string", "description": "What to say."}
    assert takes["times"] == {"type": "integer", "description": "How often.", "default": 1}
    assert takes["tone"]["enum"] == ["calm", "loud"]
    assert made["parameters"]["required"] == ["word"]
    for function, args, said in CALLED:
        found = await observe_call(from_function(function), args)
        assert (found.text, found.is_error) == (said, False)
    found = await observe_call(from_function(described), {"times": "many"})
    assert found.is_error
    assert "`word`: Field required" in found.text
    assert "`times`: Input should be" in found.text


_WRONG = {
    "def f(word: str): pass": "must have a docstring",
    "def f(word: 'Gone'):\n    'Say.'": "name 'Gone' is not defined",
    "class A: pass\ndef f(word: A):\n    'Say.'": "JSON schema",
    "f = lambda word: word": "`<lambda>`",
}


@pytest.mark.parametrize(("code", "said"), _WRONG.items())
def test_one_that_cannot_be_a_tool_is_refused_in_a_sentence(code: str, said: str) -> None:
    module = types.ModuleType("wrong")
    exec(code, vars(module))
    function = list(vars(module).values())[-1]
    with pytest.raises(SettingsError) as caught:
        from_function(function)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
