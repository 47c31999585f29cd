"""The page in a run of the agent: it is in the next-step prompt, and only there."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from manus.graph import build_agent
from manus.graph.profiles import BROWSER
from tests.browser.site import Answer, Site
from tests.browser.test_changes import COUNTER
from tests.helpers.agent import ScriptedAgent
from tests.server import Call, Request, call, calls, text

SHOP = "<title>Shop</title><h1>Tea</h1><p>Darjeeling costs 7 euros.</p><button>Buy it</button>"


@pytest.fixture
def surfer(agent: ScriptedAgent) -> ScriptedAgent:
    """Provide an agent with the profile `browser`, which may access loopback."""
    settings = agent.workspace.parent / "manus.toml"
    settings.write_text('[egress]\nallow_private = ["127.0.0.1"]\n')
    agent.graph = build_agent(BROWSER, checkpointer=agent.saver)
    return agent


def last_words(request: Request) -> str:
    """Return the text of the next-step prompt."""
    content = request.messages[-1]["content"]
    parts = [{"text": content}] if isinstance(content, str) else content
    return "\n".join(part.get("text", "") for part in parts)


def pictures(messages: list[dict[str, Any]]) -> int:
    """Return the number of images in messages on the wire."""
    parts = [m["content"] for m in messages if isinstance(m["content"], list)]
    return sum(part["type"] == "image_url" for content in parts for part in content)


@pytest.mark.environ(MANUS_VISION="false")
async def test_without_pictures_and_with_effect(surfer: ScriptedAgent, site: Site) -> None:
    site.pages["/"] = SHOP + COUNTER + f"<div>{'Assam costs more. ' * 300}</div>"
    outcome = await surfer.run(
        call("browser_use", action="go_to_url", url=site.base),
        call("browser_use", action="extract_content", goal="the price of Darjeeling"),
        text("7 euros"),
        *[call("browser_use", action="click_element", index=2)] * 4,
        call("terminate", status="success", answer="Done."),
    )
    assert (outcome.stop_reason, outcome.success) == ("terminated", True)
    assert outcome.usage["tool_calls"] == 7, "none was refused"
    first, second, question, third, *_ = requests = surfer.server.requests
    assert "No page is open" in last_words(first)
    assert "Buy it" in last_words(second)
    assert "Darjeeling" in last_words(second)
    assert pictures(second.messages) == 0
    assert question.tools == []
    assert "the price of Darjeeling" in question.text
    assert any("7 euros" in result for result in third.tool_results.values())
    assert not any("stuck in a loop" in request.text for request in requests)


async def test_a_button_without_effect_is_refused(surfer: ScriptedAgent, site: Site) -> None:
    """Here with a profile that sees the page only around browser calls."""
    site.pages["/"] = "<title>Still</title><p>Nothing moves.</p><button>Nothing</button>"
    plain = replace(BROWSER, tools=("browser_use", "planning", "terminate"), extras={})
    agent = ScriptedAgent(surfer.server, surfer.workspace, surfer.saver, plain)
    plans = [call("planning", command="create", title=title, steps=["a"]) for title in "abc"]
    goes = call("browser_use", action="go_to_url", url=site.base)
    click = call("browser_use", action="click_element", index=1)
    outcome = await agent.run(plans[0], goes, *plans[1:], *[click] * 6)
    assert outcome.stop_reason == "stuck"
    has_hint = ["Nothing moves" in last_words(request) for request in agent.server.requests]
    assert has_hint[:5] == [False, False, True, True, False]
    messages = agent.server.requests[2].messages
    assert (pictures(messages[:-1]), pictures(messages[-1:])) == (0, 1)
    history = "".join(str(message.content) for message in await agent.messages())
    assert "image_url" not in history
    hinted = ["stuck in a loop" in r.text for r in agent.server.requests]
    assert hinted.index(True) == 7, "after the third click"
    refused = [o.startswith("Not executed") for o in await agent.observations()]
    assert refused == [False] * 8 + [True] * 2


def use(action: str, **arguments: Any) -> Call:
    return call("browser_use", action=action, **arguments)


async def test_a_form_is_not_sent_after_a_field_that_was_not_filled(
    surfer: ScriptedAgent, site: Site
) -> None:
    site.pages["/"] = "<title>Form</title><form action=/sent><input name=a><button>Send</button>"
    site.pages["/sent"] = "<title>Sent</title>"
    fills = use("input_text", index=9, text="Ada")
    leaves = use("go_to_url", url=f"{site.base}/sent")
    await surfer.run(
        use("go_to_url", url=site.base),
        calls(fills, use("click_element", index=2), leaves, use("extract_content")),
        calls(use("input_text", index=1, text="Ada"), use("click_element", index=2)),
        call("terminate", status="success", answer="Done."),
    )
    _, failed, sends, leaving, read, filled, result, _ = await surfer.observations()
    assert "[9] is not on the page" in failed
    assert sends.startswith("Not executed, because an earlier call in the same message failed")
    assert leaving.startswith("Not executed, because an earlier call in the same message failed")
    assert "Form" in read, "the page is still there, and can be read"
    assert "Typed" in filled
    assert "/sent?a=Ada" in result


async def test_calls_for_a_page_that_was_left_are_not_executed(
    surfer: ScriptedAgent, site: Site
) -> None:
    site.pages["/"] = "<title>One</title><a href=/two>Next</a><button>Keep</button>"
    site.pages["/two"] = "<title>Two</title><button>Delete</button><button>Delete all</button>"
    clicks = [use("click_element", index=index) for index in (1, 2)]
    await surfer.run(
        use("go_to_url", url=site.base),
        calls(*clicks, use("go_back"), use("extract_content")),
        call("terminate", status="success", answer="Done."),
    )
    _, went, stopped, back, read, _ = await surfer.observations()
    assert "The page is now" in went
    assert stopped.startswith("Nothing was done: the page has changed since it was shown to you")
    assert back.startswith("Not executed")
    assert "Delete all" in read


async def test_a_new_request_reports_that_the_browser_was_closed(
    surfer: ScriptedAgent, site: Site
) -> None:
    site.pages["/"] = SHOP
    await surfer.run(
        call("browser_use", action="go_to_url", url=site.base),
        call("browser_use", action="extract_content"),
        call("terminate", status="success", answer="It costs 7 euros."),
    )
    await surfer.run(text("Seven."), request="How much was it?")
    assert "The browser was closed" in last_words(surfer.server.requests[-1])


LOGIN = """<title>Sign in</title><form method=post><input aria-label=User name=u>
  <input type=password aria-label=Password name=p><button>Sign in</button></form>"""


@pytest.mark.parametrize("after", [LOGIN + "<p>Wrong password.</p>", "<title>Welcome</title>"])
async def test_the_page_of_a_failed_sign_in_is_not_left(
    surfer: ScriptedAgent, site: Site, after: str
) -> None:
    site.pages["/"] = lambda request: Answer(after if request.method == "POST" else LOGIN)
    site.pages["/admin"] = "<title>Admin</title>"
    await surfer.run(
        use("go_to_url", url=site.base),
        calls(
            use("input_text", index=2, text="guess"),
            use("click_element", index=3),
            use("go_to_url", url=f"{site.base}/admin"),
        ),
        call("terminate", status="success", answer="Done."),
    )
    *_, left, _ = await surfer.observations()
    is_failed = after.startswith(LOGIN)
    assert left.startswith("Nothing was done: the page still asks" if is_failed else "Opened")


async def test_a_question_shows_the_page_to_the_user(surfer: ScriptedAgent, site: Site) -> None:
    site.pages["/"] = SHOP
    profile = replace(BROWSER, tools=("browser_use", "ask_human", "terminate"))
    surfer.graph = build_agent(profile, checkpointer=surfer.saver)
    go = call("browser_use", action="go_to_url", url=site.base)
    waiting = await surfer.run(go, call("ask_human", inquire="Please sign in."))
    shown = str(waiting.questions[0].value["question"])
    assert f"The browser shows {site.base}" in shown
    picture = Path(shown.partition("A picture: ")[2].partition(". To act")[0])
    assert picture.read_bytes().startswith(b"\xff\xd8")
    outcome = await surfer.invoke(Command(resume="I am in."), text("Thank you."))
    assert outcome.output == "Thank you."
    assert "Darjeeling" in last_words(surfer.server.requests[-1])
