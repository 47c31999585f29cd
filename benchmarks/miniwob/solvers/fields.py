"""Pages with fields that have to be filled."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.registry import solves


@solves("enter-text", "enter-text-dynamic")
async def enter_text(player: Player) -> None:
    await player.write(player.view.first("textbox"), player.view.quoted[0])
    await player.submit()


@solves("enter-text-2")
async def enter_text_in_case(player: Player) -> None:
    text = player.view.quoted[0]
    text = text.upper() if "upper case" in player.instruction else text.lower()
    await player.write(player.view.first("textbox"), text)
    await player.submit()


@solves("enter-password")
async def enter_password(player: Player) -> None:
    password = player.view.quoted[0]
    for field in player.view.find("password field"):
        await player.write(field, password)
    await player.submit()


@solves("login-user", "login-user-popup")
async def log_in(player: Player) -> None:
    name, password = player.view.quoted[:2]
    for role, text in (("textbox", name), ("password field", password)):
        await player.click(role)  # focusing a field may open a window
        await close_popups(player)
        await player.write(player.view.first(role), text)
    await player.click_on(player.view.find("button")[0])  # it has several names


async def close_popups(player: Player) -> None:
    """Dismiss whatever covers the page and disables its fields."""
    for button in player.view.find("button", "Cancel"):
        await player.click_on(button)


@solves("enter-date")
async def enter_date(player: Player) -> None:
    month, day, year = player.read(r"(\d+)/(\d+)/(\d+)")
    await player.write(player.view.first("date field"), f"{year}-{month}-{day}")
    await player.submit()


@solves("enter-time")
async def enter_time(player: Player) -> None:
    hour, minute, half = player.read(r"(\d+):(\d+) ([AP])M")
    hours = int(hour) % 12 + (12 if half == "P" else 0)
    await player.write(player.view.first("time field"), f"{hours:02}:{minute}")
    await player.submit()


@solves("find-word")
async def find_word(player: Player) -> None:
    words = player.view.texts()[0].split()
    word = words[player.read_ordinal()]
    await player.write(player.view.first("textbox"), word.strip(",."))
    await player.submit()


@solves("copy-paste", "copy-paste-2")
async def copy_and_paste(player: Player) -> None:
    """Copy with the keyboard, like a user: the page may show more than the observation has."""
    areas = [field for field in player.view.find("textbox") if field.has("multiline")]
    answer = next(field for field in player.view.find("textbox") if not field.has("multiline"))
    await player.click_on(areas[player.read_ordinal()])
    await player.press("Control+A")
    await player.press("Control+C")
    await player.click_on(answer)
    await player.press("Control+V")
    await player.submit()


@solves("text-transform")
async def type_distorted_text(player: Player) -> None:
    text = "".join(player.view.texts()[0].split())
    await player.write(player.view.first("textbox"), text)
    await player.submit()


@solves("simple-arithmetic")
async def compute(player: Player) -> None:
    first, sign, second = re.findall(r"-?\d+|[-+x]", player.view.texts()[0])
    operations = {"+": operator.add, "-": operator.sub, "x": operator.mul}
    result = operations[sign](int(first), int(second))
    await player.write(player.view.first("textbox"), str(result))
    await player.submit()


@solves("simple-algebra")
async def solve_for_x(player: Player) -> None:
    first, sign, second, _, result = player.view.texts()[0].split()
    if first == "x":
        value = int(result) - int(second) if sign == "+" else int(result) + int(second)
    else:
        value = int(result) - int(first) if sign == "+" else int(first) - int(result)
    await player.write(player.view.first("textbox"), str(value))
    await player.submit()


@solves("read-table")
async def read_value(player: Player) -> None:
    (label,) = player.read("value of (.*) into")
    rows = dict(text.split(" | ") for text in player.view.texts() if text.count(" | ") == 1)
    await player.write(player.view.first("textbox"), rows[label])
    await player.submit()


@solves("read-table-2")
async def read_values(player: Player) -> None:
    rows = dict(text.split(" | ") for text in player.view.texts() if text.count(" | ") == 1)
    for field in player.view.find("textbox"):
        label = player.view.lines[field.position - 1].text
        await player.write(field, rows[label.strip(" :")])
    await player.submit()


@solves("multi-layouts", "multi-orderings")
async def search_movies(player: Player) -> None:
    genre, director, year = player.read(r"for (.*) movies directed by (.*) from year (\d+)")
    values = {"genre": genre, "director": director, "year": year, "released": year}
    lines = [line.text.lower() for line in player.view.lines]
    for field in player.view.find("textbox"):
        # the label precedes the field, covers it, or follows it
        near = [field.name.lower(), lines[field.position - 1], *lines[field.position + 1 :][:1]]
        key = next(key for text in near for key in values if key in text)
        await player.write(field, values[key])
    await player.click_on(player.view.find("button|clickable")[-1])


@solves("guess-number")
async def guess_number(player: Player) -> None:
    low = 0
    high = 9
    while low <= high:
        guess = (low + high) // 2
        await player.write(player.view.first("spinbutton"), str(guess))
        await player.submit()
        if "lower than" in player.view.text:
            high = guess - 1
        elif "higher than" in player.view.text:
            low = guess + 1
        else:
            return


@solves("generate-number")
async def generate_number(player: Player) -> None:
    comparison, limit, parity = player.read(r"(less|greater) than (\d+)|(odd|even)")
    checks: dict[str, Callable[[int], bool]] = {
        "less": lambda number: number < int(limit),
        "greater": lambda number: number > int(limit),
        "odd": lambda number: number % 2 == 1,
        "even": lambda number: number % 2 == 0,
    }
    check = checks[comparison or parity]
    await player.click("button", "Generate")
    while not check(int(player.view.texts()[0])):
        await player.click("button", "Generate")
    await player.submit()


@solves("form-sequence-2")
async def check_and_fill(player: Player) -> None:
    radio, text, field = player.read(r"(\d)\w\w radio .*\"(-?\d+)\" .*(\d)\w\w textbox")
    await player.click_on(player.view.find("radio")[int(radio) - 1])
    await player.write(player.view.find("textbox")[int(field) - 1], text)
    await player.submit()
