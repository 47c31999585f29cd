"""`--budget`: the limits of a run, as a person writes them on the command line."""

from __future__ import annotations

import re

import pytest

from manus.budget_option import in_words, limits, merged
from manus.state.budget import Budget
from tests.flow.helpers import is_planner, makes
from tests.manus.program import Program
from tests.server import ScriptedServer, call, calls, tokens

ASK = calls(call("ask_human", inquire="Which?"))
WORK = calls(call("bash", command="echo 1"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("tokens=200k", {"tokens": 200_000}),
        ("tokens=1.5M", {"tokens": 1_500_000}),
        (" cost = .50 , tokens=200_000,", {"cost": 0.5, "tokens": 200_000}),
        ("seconds=90", {"seconds": 90}),
        ("seconds=10m", {"seconds": 600}),
        ("seconds=1.5h", {"seconds": 5_400}),
        ("model-calls=40,tool_calls=0", {"model_calls": 40, "tool_calls": 0}),
        ("tokens=5,tokens=7", {"tokens": 7}),
    ],
)
def test_what_is_written_and_what_is_meant(written: str, meant: dict[str, float]) -> None:
    found = limits(written)
    assert found == meant
    assert Budget.model_validate(found).model_dump(exclude_none=True) == meant
    assert limits(in_words(found)) == found


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "it names no limit; write it as tokens=200k"),
        ("tokens", "tokens has no amount; write it as tokens=100"),
        ("token=5", "there is no limit 'token=5'"),
        ("200k", "there is no limit '200k'; known are tokens, cost, seconds, model_calls, tool"),
        (
            "tokens=many",
            "tokens takes a whole number of at least 1, as in 200k or 1.5m, not 'many'",
        ),
        ("tokens=0", "tokens takes a whole number of at least 1"),
        ("tokens=1.5", "tokens takes a whole number of at least 1"),
        ("tokens=-5", "not '-5'"),
        ("tokens=" + "9" * 400, "tokens takes a whole number"),
        ("cost=0", "cost takes an amount above 0, as in 0.50, not '0'"),
        ("cost=nan", "cost takes an amount above 0"),
        ("cost=1k", "not '1k'"),
        ("seconds=5d", "seconds takes a time above 0, as in 90, 10m or 2h, not '5d'"),
        ("tool_calls=x", "tool_calls takes a whole number, 0 for none, not 'x'"),
    ],
)
def test_what_does_not_fit(written: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        limits(written)


def test_the_last_word_counts() -> None:
    given = [{"tokens": 5.0, "cost": 1.0}, {"tokens": 7.0}]
    assert merged("tokens=3,seconds=9", given) == {"tokens": 7.0, "cost": 1.0, "seconds": 9}
    assert merged("", []) == {}


@pytest.mark.parametrize("command", ["run", "flow", "resume"])
def test_wrong_usage_is_a_sentence(bare: Program, command: str) -> None:
    result = bare(command, "--budget", "tokens=200k,cots=1", "t")
    assert (result.code, result.out) == (2, "")
    assert "'cots=1'" in result.err
    assert result.err.count("\n") == 1


def test_a_limit_of_cost_needs_a_price(manus: Program) -> None:
    result = manus("run", "--budget", "cost=0.50", "Count")
    assert result.code == 2
    assert "there is no price of `scripted`" in result.err
    assert result.err.count("\n") == 2


def test_a_run_ends_at_it(manus: Program, server: ScriptedServer) -> None:
    server.script(WORK, WORK)
    result = manus("run", "--json", "--budget", "model_calls=9", "--budget=model_calls=2", "Count")
    assert result.code == 1
    assert result.json["stop_reason"] == "budget"
    assert result.json["usage"]["model_calls"] == 2
    assert "Terminated: Budget used up: model calls (2 of 2)" in result.json["output"]


def test_a_flow_ends_at_it(manus: Program, server: ScriptedServer) -> None:
    """One limit of the option, one of the settings: both hold."""
    server.when(is_planner, calls(makes("alpha"), usage=tokens(9_900, 500)))
    chosen = ("--budget", "tokens=10k")
    result = manus("flow", "--json", *chosen, "Do it.", MANUS_BUDGET_TOOL_CALLS="5")
    assert result.code == 1
    assert result.json["stop_reason"] == "budget"
    assert "tokens (" in result.json["output"]


class TestResume:
    def begun(self, manus: Program, server: ScriptedServer) -> None:
        server.script(ASK)
        waiting = manus("run", "--json", "--thread", "t", "--budget", "model_calls=3", "Ask me")
        assert waiting.json["stop_reason"] == "interrupted"

    def test_it_is_kept(self, manus: Program, server: ScriptedServer) -> None:
        self.begun(manus, server)
        server.script(WORK, WORK)
        result = manus("resume", "--json", "--answer", "Blue", "t")
        assert result.json["stop_reason"] == "budget"
        assert result.json["usage"]["model_calls"] == 3

    def test_another_one_takes_its_place(self, manus: Program, server: ScriptedServer) -> None:
        self.begun(manus, server)
        server.script(WORK)
        result = manus("resume", "--json", "--budget", "model_calls=2", "--answer", "Blue", "t")
        assert result.json["stop_reason"] == "budget"
        assert result.json["usage"]["model_calls"] == 2
