"""Pages with custom controls: sliders, spinners, editors, a terminal, a game."""

from __future__ import annotations

import re

from benchmarks.miniwob.colors import COLORS, distance
from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.registry import solves
from benchmarks.miniwob.view import Element


@solves("use-slider")
async def use_slider(player: Player) -> None:
    (value,) = player.read(r"Select (-?\d+)")
    await _move_slider(player, player.view.first("clickable|slider", hint="handle"), int(value))
    await player.submit()


@solves("use-slider-2")
async def use_sliders(player: Player) -> None:
    (values,) = player.read(r"\[(.*)\]")
    handles = player.view.find("clickable|slider", hint="handle")
    for handle, value in zip(handles, values.split(","), strict=True):
        await _move_slider(player, handle, int(value))
    await player.submit()


async def _move_slider(player: Player, handle: Element, target: int) -> None:
    """Focus a handle, and press arrow keys until the number after it is right."""
    await player.click_on(handle)
    while (value := _value_after(player, handle)) != target:
        key = "ArrowRight" if value < target else "ArrowLeft"
        await player.press(" ".join([key] * min(abs(target - value), 20)))


def _value_after(player: Player, handle: Element) -> int:
    at = player.view.position(handle.number)
    texts = [line.text for line in player.view.lines[at + 1 :] if line.number is None]
    return int(next((text for text in texts if re.fullmatch(r"-?\d+", text)), "0"))


@solves("form-sequence")
async def slide_check_submit(player: Player) -> None:
    (value,) = player.read(r"Select (-?\d+)")
    await _move_slider(player, player.view.first("clickable|slider", hint="handle"), int(value))
    await player.click_on(player.view.find("checkbox")[player.read_ordinal()])
    await player.submit()


@solves("use-spinner")
async def use_spinner(player: Player) -> None:
    (value,) = player.read(r"Select (-?\d+)")
    await player.click("spinbutton")
    key = "ArrowDown" if value.startswith("-") else "ArrowUp"
    for _ in range(abs(int(value))):
        await player.press(key)
    await player.submit()


@solves("use-colorwheel")
async def enter_color(player: Player) -> None:
    """Enter a color by its hex code, which follows from the names of HTML colors."""
    (name,) = player.read(r"Select (\w+) with")
    code = COLORS[name]
    await player.write(player.view.first("textbox"), code.removeprefix("#").upper())
    await player.press("Tab")
    await player.submit()


@solves("scroll-text")
async def find_last_word(player: Player) -> None:
    """Copy the text of the area into the answer field, and read its end there."""
    area, answer = sorted(player.view.find("textbox"), key=lambda f: not f.has("multiline"))
    await player.click_on(area)
    await player.press("Control+End")
    await player.press("Control+Shift+ArrowLeft")
    await player.press("Control+C")
    await player.click_on(answer)
    await player.press("Control+V")
    value = player.view.first("textbox", answer.name).value
    if not value.strip(" ."):  # only the period was selected
        await player.click_on(area)
        await player.press("Control+End")
        await player.press("Control+Shift+ArrowLeft Control+Shift+ArrowLeft")
        await player.press("Control+C")
        await player.click_on(answer)
        await player.press("Control+A Control+V")
        value = player.view.first("textbox", answer.name).value
    await player.write(answer, value.strip(" ."))
    await player.submit()


@solves("scroll-text-2")
async def scroll_to_bottom(player: Player) -> None:
    area = player.view.first("textbox")
    action = "scroll_down" if "bottom" in player.instruction else "scroll_up"
    await player.do(action, index=area.number, scroll_amount=5000)
    await player.submit()


@solves("sign-agreement")
async def sign_agreement(player: Player) -> None:
    if "Click the cancel button" in player.instruction:
        await player.click("button", "Cancel")
        return
    name, button = player.view.quoted
    area = player.view.first("textbox", hint="multiline")
    await player.do("scroll_down", index=area.number, scroll_amount=5000)
    await player.write(player.view.first("textbox", "Name"), name)
    await player.click("button", button)


@solves("terminal")
async def use_terminal(player: Player) -> None:
    """List the files, and remove the one with the extension."""
    (extension,) = player.read(r"extension (\.\S+)|no file extension")
    await player.click("", hint="terminal")
    await player.press("ls")
    await player.press("Enter")
    output = player.view.text.rpartition("user$ ls")[2].partition("user$")[0]
    names = re.findall(r"[\w.]+", output)
    matches = [name for name in names if "." not in name]
    if extension:
        matches = [name for name in names if name.endswith(extension)]
    if not matches:
        raise LookupError(f"the terminal shows no file with the extension {extension}")
    await player.press(f"rm {matches[0]}")
    await player.press("Enter")


@solves("text-editor")
async def style_text(player: Player) -> None:
    """Select the words with the keys, and click the style."""
    words, style = player.read(
        r"(?:give|make) (?:the text )?(.*?) the (?:style|color) (\w+)(?: and press Submit|\.|$)"
    )
    await _select(player, "" if words == "everything" else words)
    buttons = {"bold": "bold", "italics": "italic", "italic": "italic", "underlined": "underline"}
    if style in buttons:
        await player.click("button", hint=f"ql-{buttons[style]}")
    else:
        await player.click("clickable", hint="ql-picker-label")
        items = [item for item in player.view.find("clickable") if item.color]
        await player.click_on(min(items, key=lambda item: distance(item.color, COLORS[style])))
    await player.submit()


async def _select(player: Player, words: str) -> None:
    editor = player.view.first("textbox")
    await player.click_on(editor)
    if not words:
        await player.press("Control+A")
        return
    await player.press("Control+Home")
    text = editor.value
    start = re.search(rf"(?<!\w){re.escape(words)}", text)
    if not start:
        raise LookupError(f"the editor shows no {words!r}")
    if start.start():
        await player.press(" ".join(["ArrowRight"] * start.start()))
    await player.press(" ".join(["Shift+ArrowRight"] * len(words)))
