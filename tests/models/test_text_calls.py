# ruff: noqa: E501 - the lines are those of models
"""Tool calls that arrive as text, in the dialects of models whose server does not parse them.

The forms are those of the models' chat templates and of the parsers of vLLM, SGLang and llama.cpp.
"""

import json
from typing import Any

import pytest

from manus.models.text_calls import read_text_calls
from manus.models.text_marks import TextHolder, ToolIndex
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import Scripted, build_chunk, reply_stream, text

SCHEMAS: dict[str, dict[str, Any]] = {
    "bash": {
        "command": {"type": "string"},
        "timeout": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "append": {"path": {"type": "string"}, "line": {"type": "string"}},
    "poll": {},
}
TOOLS = ToolIndex(
    [
        {"type": "function", "function": {"name": name, "parameters": {"properties": properties}}}
        for name, properties in SCHEMAS.items()
    ]
)
B = {"command": "ls -la"}
A = json.dumps(B)
J = json.dumps({"name": "bash", "arguments": B})
P = json.dumps({"name": "bash", "parameters": B})
DIALECTS: dict[str, str] = {
    "hermes": f"<tool_call>\n{J}\n</tool_call>",
    "hermes-prose": f"Let me look.\n\n<tool_call>\n{J}\n</tool_call>",
    "hermes-inline": f"Let me look.<tool_call>{J}</tool_call>",
    "hermes-open": f"<tool_call>\n{J}",
    "close only": f"{J}\n</tool_call>",
    "qwencoder": "<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>",
    "qwencoder2": "<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>",
    "tools": f"<tools>\n{J}\n</tools>",
    "ds3": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{A}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "ds31": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{A}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "ds32": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="bash">\n<｜DSML｜parameter name="command" string="true">ls -la</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "harmony": f"<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{A}<|call|>",
    "harmony2": f"<|channel|>analysis<|message|>Need to look.<|end|><|start|>assistant<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{A}<|call|>",
    "harmony3": f"<|start|>assistant to=functions.bash<|channel|>commentary json<|message|>{A}",
    "harmony4": f"Need to look.assistantcommentary to=functions.bash json{A}",
    "harmony5": f"commentary to=functions.bash code<|message|>{A}",
    "mistral": f"[TOOL_CALLS] [{J}]",
    "mistral11": f"[TOOL_CALLS]bash[ARGS]{A}",
    "mistral_id": f"[TOOL_CALLS]bash[CALL_ID]abc123xyz[ARGS]{A}",
    "mistral_b": f"[TOOL_CALLS]bash{A}",
    "llama": f"<|python_tag|>{P}<|eom_id|>",
    "llamabare": P,
    "llamapy": '<|python_tag|>bash.call(command="ls -la")',
    "llamafn": f"<function=bash>{A}</function>",
    "llama4": '<|python_start|>[bash(command="ls -la")]<|python_end|>',
    "llama4bare": '[bash(command="ls -la")]',
    "kimi": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{A}<|tool_call_end|><|tool_calls_section_end|>",
    "glm45": "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls -la</arg_value>\n</tool_call>",
    "glm47": "<tool_call>bash<arg_key>command</arg_key><arg_value>ls -la</arg_value></tool_call>",
    "glm4": f"bash\n{A}",
    "minimax1": f"<tool_calls>\n{J}\n</tool_calls>",
    "minimax2": '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">ls -la</parameter>\n</invoke>\n</minimax:tool_call>',
    "anthropic": '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls -la</parameter>\n</invoke>\n</function_calls>',
    "anthropic-old": "<function_calls>\n<invoke>\n<tool_name>bash</tool_name>\n<parameters>\n<command>ls -la</command>\n</parameters>\n</invoke>\n</function_calls>",
    "gemma-fn": "<start_function_call>call:bash{command:<escape>ls -la<escape>}<end_function_call>",
    "gemma4": '<|tool_call>call:bash{command:<|"|>ls -la<|"|>}<tool_call|>',
    "granite": f"<|tool_call|>[{J}]",
    "granite2": f"<tool_call>[{J}]",
    "granite20": f"<function_call> {J}",
    "phi": f"functools[{J}]",
    "phi4": f"<|tool_call|>[{J}]<|/tool_call|>",
    "commandr": 'Action: ```json\n[\n    {"tool_name": "bash", "parameters": ' + A + "}\n]\n```",
    "commanda": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "bash", "parameters": '
    + A
    + "}]<|END_ACTION|>",
    "internlm": f"Sure.<|action_start|><|plugin|>\n{P}<|action_end|>",
    "jamba": f"<tool_calls>[{J}]</tool_calls>",
    "xlam": f"[{J}]",
    "seed": "<seed:tool_call>\n<function=bash>\n<parameter=command>ls -la</parameter>\n</function>\n</seed:tool_call>",
    "step3": '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="bash"><steptml:parameter name="command">ls -la</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
    "functionary": f">>>bash\n{A}",
    "functionary2": f"<|from|>assistant\n<|recipient|>bash\n<|content|>{A}",
    "nemotron": f"<TOOLCALL>[{J}]</TOOLCALL>",
    "apertus": '<|tools_prefix|>[{"bash": ' + A + "}]<|tools_suffix|>",
    "lfm2": '<|tool_call_start|>[bash(command="ls -la")]<|tool_call_end|>',
    "olmo": '<function_calls>\nbash(command="ls -la")\n</function_calls>',
    "react": f"I look.\nAction: bash\nAction Input: {A}",
    "label with json": f"[Calling tool: bash({A})]",
    "label with keywords": 'I look.\n[Tool call: bash(command="ls -la")]',
    "label without brackets": f"Calling tool: bash({A})",
    "attribute with json": f"<function name='bash' arguments='{A}'></function>",
    "attribute with escaped json": '<function=bash arguments="{&quot;command&quot;: &quot;ls -la&quot;}">',
    "attributes": '<tool_call name="bash" command="ls -la" />',
    "qwenold": f"✿FUNCTION✿: bash\n✿ARGS✿: {A}",
    "grok": '<xai:function_call name="bash">\n<parameter name="command">ls -la</parameter>\n</xai:function_call>',
    "cline": "<bash>\n<command>ls -la</command>\n</bash>",
    "cherry": f"<tool_use>\n  <name>bash</name>\n  <arguments>{A}</arguments>\n</tool_use>",
    "clinemcp": f"<use_mcp_tool>\n<server_name>x</server_name>\n<tool_name>bash</tool_name>\n<arguments>\n{A}\n</arguments>\n</use_mcp_tool>",
    "lmstudio": f"[TOOL_REQUEST]{J}[END_TOOL_REQUEST]",
    "openai": '{"tool_calls": [{"id": "x", "type": "function", "function": {"name": "bash", "arguments": '
    + json.dumps(A)
    + "}}]}",
    "fc": '{"function_call": {"name": "bash", "arguments": ' + json.dumps(A) + "}}",
    "functype": '{"type": "function", "name": "bash", "parameters": ' + A + "}",
    "toolinput": '{"tool": "bash", "input": ' + A + "}",
    "toolinline": '{"action": "bash", "command": "ls -la"}',
    "key": '{"bash": ' + A + "}",
    "uses": '{"tool_uses": [{"recipient_name": "functions.bash", "parameters": ' + A + "}]}",
    "python dict": "<tool_call>{'name': 'bash', 'arguments': {'command': 'ls -la'}}</tool_call>",
    "fencedin": f"<tool_call>\n```json\n{J}\n```\n</tool_call>",
    "attr": f'<tool_call name="bash">{A}</tool_call>',
    "longcat": f"<longcat_tool_call>{J}</longcat_tool_call>",
    "giga": f"function call<|role_sep|>\n{J}",
    "im_end": f"<tool_call>\n{J}\n</tool_call><|im_end|>",
    "attribute tool": f'<call tool="bash">{A}</call>',
    "attribute tool_name": f'<tool_call tool_name="bash">{A}</tool_call>',
    "label with input": f"Tool: bash\nInput: {A}",
    "harmony6": f"assistant<|channel|>analysis to=bash code<|message|>{A}<|call|>",
    "toolcode": '<tool_code>\nprint(default_api.bash(command="ls -la"))\n</tool_code>',
    "prosejson": f"I will look.\n\n{J}",
}

KEPT = ("Let me look.", "Need to look.", "Sure.", "I look.", "I will look.")
"""Texts before calls, in these dialects."""


def test_dialects(subtests: pytest.Subtests) -> None:
    for name, reply in DIALECTS.items():
        with subtests.test(name=name):
            read = read_text_calls(reply, TOOLS)
            [read_call] = read.calls
            assert (read_call.name, json.loads(read_call.arguments)) == ("bash", B)
            assert read.text in ("", *KEPT)
            assert not read.is_unreadable


def test_two_calls_and_other_types(subtests: pytest.Subtests) -> None:
    timeout = {**B, "timeout": 3}
    xml = "<parameter=command>ls -la</parameter><parameter=timeout>3</parameter>"
    for reply in (
        f"<tool_call><function=bash>{xml}</function></tool_call>\n<tool_call>{J}</tool_call>",
        f"[TOOL_CALLS]bash[ARGS]{json.dumps(timeout)}[TOOL_CALLS]bash[ARGS]{A}",
        f"<|python_tag|>{json.dumps({'name': 'bash', 'parameters': timeout})}; {P}",
        '<|tool_call_start|>[bash(command="ls -la", timeout=3), bash(command="ls -la")]<|tool_call_end|>',
    ):
        with subtests.test(reply=reply):
            calls = [(c.name, json.loads(c.arguments)) for c in read_text_calls(reply, TOOLS).calls]
            assert calls == [("bash", timeout), ("bash", B)]


ANSWERS = [
    "Use `<tool_call>` to call.",
    "Qwen emits <tool_call>{...}</tool_call> blocks, as you see.",
    "Models write calls in tags such as <tool_call>, which servers parse.",
    "The server uses [TOOL_CALLS] as a token.",
    "Write `to=functions.bash` first.",
    f"```\n{DIALECTS['hermes']}\n```\nThat is the form.",
    f"Here is the form:\n\n```xml\n{DIALECTS['hermes']}\n```\n",
    '{"name": "Ada", "age": 3}',
    '{"name": "bash", "version": "5.2"}',
    '[{"name": "bash", "kind": "shell"}, {"name": "append"}]',
    "[1] Source\n[2] Other",
    "Run bash (it is installed).",
    "bash is a shell.",
    "bash",
    "<html><body><p>Hi</p></body></html>",
    "Action: call the customer.\nThen wait.",
    "Tool: bash\nUse it well.",
    "x <b>bash</b>",
    "if a < b and c > d: pass",
    "<function>f</function>",
]


def test_an_answer_about_calls_is_text(subtests: pytest.Subtests) -> None:
    for answer in ANSWERS:
        with subtests.test(answer=answer):
            read = read_text_calls(answer, TOOLS)
            assert (read.text, [*read.calls], read.is_unreadable) == (answer, [], False)


UNREADABLE = [
    '<|message|>{"command": "ls"}<|call|>',
    '<tool_call>\n{"name": "nope',
    "<tool_call>",
    "<|python_tag|>import os\nprint(os.getcwd())",
    "[TOOL_CALLS]",
    'I look. <tool_call>{"x": 1}</tool_call>',
    f"{DIALECTS['hermes']}\n\nNow I wait for the result.",
]
BROKEN = [
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls}\n</tool_call>',
    "<function=bash>\n<parameter=command>\nrm -rf /tmp/a",
    "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>rm -rf /tm",
]


def test_markup_that_cannot_be_read_is_no_answer(subtests: pytest.Subtests) -> None:
    for reply in UNREADABLE:
        with subtests.test(reply=reply):
            read = read_text_calls(reply, TOOLS)
            assert ([*read.calls], read.is_unreadable) == ([], True)
    for reply in BROKEN:
        with subtests.test(reply=reply):
            [read_call] = read_text_calls(reply, TOOLS).calls
            assert read_call.name == "bash"
            assert read_call.arguments.startswith("…"), "reported like any malformed call"


def test_an_answer_is_shown_as_it_arrives() -> None:
    pieces = [" The", " sum", " is", " 12.", "\n"]
    assert [*map(TextHolder(TOOLS).feed, pieces)] == pieces
    long_line = ["word "] * 2_000
    assert [*map(TextHolder(TOOLS).feed, long_line)] == long_line
    holder = TextHolder(TOOLS)
    shown = [*map(holder.feed, (*long_line, "<tool_call>", "{"))]
    assert "<" not in "".join(shown)


def test_a_stream_shows_no_markup(subtests: pytest.Subtests) -> None:
    for reply in (*DIALECTS.values(), *ANSWERS):
        for size in (1, 3, 50):
            with subtests.test(reply=reply, size=size):
                holder = TextHolder(TOOLS)
                parts = [reply[start : start + size] for start in range(0, len(reply), size)]
                shown = "".join(map(holder.feed, parts))
                if reply in ANSWERS:
                    assert shown + holder.end() == reply
                else:
                    words = ("assistant", "commentary", "function call", *KEPT)
                    assert not {"{", "<", "["} & {*shown}
                    assert shown.strip() in ("", *words, "Need to look.assistantcommentary")


async def test_a_call_in_text_is_executed_under_the_usual_rules(
    agent: ScriptedAgent, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    append = json.dumps({"name": "append", "arguments": {"path": "a", "line": "1"}})
    forms = [f"I write.\n<tool_call>\n{append}\n</tool_call>", append]
    for number, form in enumerate(forms, start=1):
        with subtests.test(form=form):
            shown = await agent.watched(text(form), text("Done."), thread=str(number))
            assert agent.lines("a") == ["1"] * number
            assert (await agent.outcome(str(number))).output == "Done."
            assert "".join(chunk.text for chunk in shown).count("append") == 0
            assert_paired(await agent.messages(str(number)))
    assert agent.server.requests[1].messages[-3]["tool_calls"][0]["function"]["name"] == "append"
    warnings = [r.message for r in caplog.records if "does not parse the tool calls" in r.message]
    assert len(warnings) == 1
    assert "--tool-call-parser" in warnings[0]
    await agent.run(text(forms[0], finish_reason="length"), text("Done."), thread="cut off")
    assert "length limit" in (await agent.observations("cut off"))[0]
    assert agent.lines("a") == ["1"] * len(forms)


async def test_a_call_in_the_reasoning_alone_is_one(agent: ScriptedAgent) -> None:
    append = json.dumps({"name": "append", "arguments": {"path": "a", "line": "1"}})
    thought = f"I write.\n<tool_call>\n{append}\n</tool_call>"
    unclosed = reply_stream(build_chunk({"reasoning_content": thought}), build_chunk({}, "stop"))
    outcome = await agent.run(unclosed, text("Done."))
    assert (agent.lines("a"), outcome.output) == (["1"], "Done.")
    in_prose = reply_stream(
        build_chunk({"reasoning_content": f"Not `{thought}`."}), build_chunk({}, "stop")
    )
    outcome = await agent.run(in_prose, text("No call."), thread="mentioned")
    assert (agent.lines("a"), outcome.output) == (["1"], "No call.")


FENCE = "```bash\nls\n```"


async def test_the_form_is_explained_once(agent: ScriptedAgent, subtests: pytest.Subtests) -> None:
    for number, reply in enumerate((*UNREADABLE, FENCE)):
        with subtests.test(reply=reply):
            before = len(agent.server.requests)
            outcome = await agent.run(text(reply), text("Done."), thread=f"once {number}")
            assert (outcome.output, outcome.success) == ("Done.", True)
            assert "<tool_call>" in agent.server.requests[-1].last["content"]
            outcome = await agent.run(text(reply), text(reply), thread=f"twice {number}")
            assert (outcome.stop_reason, outcome.success) == ("error", False)
            assert len(agent.server.requests) == before + 4
    outcome = await agent.run(text(f"See:\n{FENCE}"), thread="prose")
    assert outcome.success is True
    outcome = await agent.run(text(FENCE), thread="no tools", tool_choice="none")
    assert outcome.output == FENCE


ENDS: dict[str, Scripted] = {
    "a call is announced": text("I will", finish_reason="tool_calls"),
    "unknown": text("I will", finish_reason="malformed_function_call"),
}
OUTAGES: dict[str, Scripted] = {
    "half a sentence": text("I will", finish_reason="network_error"),
    "an error": text("I will", finish_reason="error"),
    "natively an error": reply_stream(
        build_chunk({"content": "I will"}),
        {"choices": [{"delta": {}, "finish_reason": "stop", "native_finish_reason": "ERROR"}]},
    ),
}


@pytest.mark.environ(MANUS_RETRY_FOR="60")
async def test_a_reply_without_a_proper_end_is_no_answer(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.001)
    for name, reply in (ENDS | OUTAGES).items():
        with subtests.test(name=name):
            outcome = await agent.run(reply, text("Done."), thread=name)
            assert (outcome.output, outcome.success) == ("Done.", True)
    for name, reply in ENDS.items():
        with subtests.test(name=f"always {name}"):
            outcome = await agent.run(reply, reply, reply, thread=f"always {name}")
            assert (outcome.stop_reason, outcome.success) == ("error", False)
            assert "finish reason" in outcome.output
    for reason in ("stop", "STOP", "end_turn", "eos", "stop_sequence", "COMPLETE", "completed"):
        with subtests.test(reason=reason):
            outcome = await agent.run(text("Done.", finish_reason=reason), thread=reason)
            assert (outcome.output, outcome.success) == ("Done.", True)
