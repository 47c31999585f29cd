"""Pages on which the right thing has to be clicked."""

from __future__ import annotations

import re
import time

from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.registry import solves


@solves("click-test")
async def click_the_button(player: Player) -> None:
    await player.click("button")


@solves("click-test-2", "click-test-transfer", "click-button-sequence")
async def click_named_buttons(player: Player) -> None:
    for name in re.findall(r"button ([A-Z]+)", player.instruction):
        await player.click("button", name)


@solves("click-button", "unicode-test")
async def click_quoted_button(player: Player) -> None:
    await player.click("button", player.view.quoted[0])


@solves("click-link")
async def click_quoted_link(player: Player) -> None:
    await player.click("link|clickable", player.view.quoted[0])


@solves("click-dialog")
async def close_dialog(player: Player) -> None:
    await player.click("button", "Close")


@solves("click-dialog-2")
async def click_in_dialog(player: Player) -> None:
    name = player.view.quoted[0]
    await player.click("button", "Close" if name == "x" else name)


@solves("click-widget")
async def click_widget(player: Player) -> None:
    kind = player.view.quoted[0]
    roles = {"text": "textbox", "textarea": "textbox"}
    for element in player.view.find(roles.get(kind, kind)):
        if element.role != "textbox" or element.has("multiline") == (kind == "textarea"):
            await player.click_on(element)
            return


@solves("click-checkboxes", "click-checkboxes-large", "click-checkboxes-transfer", "click-option")
async def select_and_submit(player: Player) -> None:
    (names,) = player.read("Select (.*) and click Submit")
    for name in names.split(", "):
        matches = player.view.find("checkbox|radio", name)
        if matches:  # "nothing" means none
            await player.click_on(matches[0])
    await player.submit()


@solves("choose-list", "click-scroll-list")
async def select_from_list(player: Player) -> None:
    (names,) = player.read("Select (.*) from the (?:scroll )?list")
    field = player.view.first("combobox|listbox")
    text = "\n".join(names.split(", "))
    await player.do("select_dropdown_option", index=field.number, text=text)
    await player.submit()


@solves("focus-text", "focus-text-2")
async def focus_field(player: Player) -> None:
    await player.click_on(player.view.find("textbox")[player.read_ordinal()])


@solves("grid-coordinate")
async def click_coordinate(player: Player) -> None:
    (point,) = player.read(r"(\(-?\d,-?\d\))")
    await player.click(hint=point)


@solves("button-delay")
async def click_with_delay(player: Player) -> None:
    (seconds,) = player.read(r"wait (\d+)")
    start = time.monotonic()
    await player.click("button", "ONE")
    # an action lasts until the page is idle, which counts as waiting
    spent = time.monotonic() - start
    await player.do("wait", seconds=max(int(seconds) - spent - 0.1, 0.05))
    await player.click("button", "TWO")


@solves("odd-or-even")
async def mark_odd_and_even(player: Player) -> None:
    texts = [line.text for line in player.view.lines]
    numbers = [text for text in texts if re.fullmatch(r"-?\d+", text)]
    for row, number in enumerate(numbers):
        name = "Odd" if int(number) % 2 else "Even"
        await player.click_on(player.view.find("button", name)[row])
    await player.submit()


@solves("find-greatest")
async def pick_greatest_card(player: Player) -> None:
    cards = player.view.find("clickable")
    await player.click_on(max(cards, key=lambda card: int(card.name)))
    await player.submit()
