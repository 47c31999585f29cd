"""Pages with calendars."""

from __future__ import annotations

import re
from datetime import datetime

from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.registry import solves

_MONTH = re.compile(
    r"(January|February|March|April|May|June|July|August|September|October|November|December)"
    r"\s+(\d{4})"
)
_OPTION = "clickable|option|menuitem"


@solves("choose-date", "choose-date-easy", "choose-date-medium", "choose-date-nodelay")
async def choose_date(player: Player) -> None:
    (date,) = player.read(r"(\d+/\d+/\d+)")
    await player.click("textbox", "datepicker")
    await pick_day(player, date)
    await player.submit()


async def pick_day(player: Player, date: str) -> None:
    """Page through the open calendar to a month, and click the day."""
    month, day, year = map(int, date.split("/"))
    while (month_in_view := _read_month(player)) != (year, month):
        await player.click("link|clickable", "Prev" if month_in_view > (year, month) else "Next")
    await player.click("link", str(day))


def _read_month(player: Player) -> tuple[int, int]:
    match = _MONTH.search(player.view.text)
    if not match:
        raise LookupError("no calendar is open")
    date = datetime.strptime(match[0], "%B %Y")  # noqa: DTZ007
    return date.year, date.month


@solves("book-flight", "book-flight-nodelay")
async def book_flight(player: Player) -> None:
    origin, destination, date = player.read(r"from: (.*) to: (.*) on ([\d/]+)")
    for field, place in (("From:", origin), ("To:", destination)):
        await player.write(player.view.first("textbox", field), place)
        hint = f"({place})" if place.isupper() else place
        if not player.view.find(_OPTION, hint=hint):
            await player.do("wait", seconds=0.6)  # suggestions come after a delay
        options = player.view.find(_OPTION, hint=hint)
        # the list itself may also be an element, named after all its options
        await player.click_on(min(options, key=lambda option: len(option.name)))
    is_cheapest = "cheapest" in player.instruction
    await player.click("textbox", "datepicker")
    await pick_day(player, date)
    await player.click("button", "Search")
    await _book_best(player, is_cheapest)


async def _book_best(player: Player, is_cheapest: bool) -> None:
    """Scroll through the flights, then back to the best one."""
    flights: dict[str, tuple[int, int]] = {}
    area = player.view.first("scroll area").number
    while True:
        for button in player.view.find("button", hint="Book flight"):
            duration = re.search(r"(\d+)h (\d+)m", player.view.lines[button.position - 1].text)
            price = int(button.name.partition("$")[2])
            if duration:
                flights[button.name] = price, int(duration[1]) * 60 + int(duration[2])
        await player.do("scroll_down", index=area, scroll_amount=60)
        if "already" in player.message:
            break
    column = 0 if is_cheapest else 1
    name = min(flights, key=lambda name: flights[name][column])
    while not player.view.find("button", name):
        await player.do("scroll_up", index=area, scroll_amount=60)
    await player.click("button", name)
