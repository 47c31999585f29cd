"""Pages with tabs, menus, trees, suggestions and numbered pages."""

from __future__ import annotations

import re

from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.registry import solves
from benchmarks.miniwob.view import Element

_LINK = "link|clickable"


@solves("click-tab")
async def click_tab(player: Player) -> None:
    (name,) = player.read(r"(Tab #\d)")
    await player.click("tab|link", name)


@solves("click-tab-2", "click-tab-2-easy", "click-tab-2-medium", "click-tab-2-hard")
async def find_link_in_tabs(player: Player) -> None:
    """Open the tabs in turn, until one has the link."""
    target = player.view.quoted[0]
    for name in [tab.name for tab in player.view.find("tab")]:
        links = [link for link in player.view.find("clickable", target) if link.name != name]
        if links:
            break
        await player.click("tab", name)
        links = [link for link in player.view.find("clickable", target) if link.name != name]
        if links:
            break
    await player.click("clickable", target)


@solves("click-collapsible", "click-collapsible-nodelay")
async def expand_and_submit(player: Player) -> None:
    await player.click("tab")
    await player.submit()


@solves("click-collapsible-2", "click-collapsible-2-nodelay")
async def find_link_in_sections(player: Player) -> None:
    target = player.view.quoted[0]
    for name in [section.name for section in player.view.find("tab")]:
        if player.view.find(_LINK, target):
            break
        await player.click("tab", name)
    await player.click(_LINK, target)


@solves("click-menu")
async def follow_menu(player: Player) -> None:
    path = player.instruction.removeprefix("Select ").split(">")
    for name in path[:-1]:
        await player.do("hover", index=player.view.first("menuitem", name).number)
        if not player.view.find("menuitem", path[-1]):
            await player.do("wait", seconds=0.6)  # a submenu opens after a delay
    await player.click("menuitem", path[-1])


@solves("click-menu-2")
async def find_in_menu(player: Player) -> None:
    """Open menus and submenus until the label or the icon is in view."""
    if "icon" in player.instruction:
        target = f"icon: {player.read(r'image: ([a-z-]+)')[0]}"
    else:
        target = f'"{player.view.quoted[1]}"'
    await player.click("button", "Menu")
    if not player.view.find("menuitem", hint=target):
        await player.do("hover", index=player.view.first("menuitem", "Playback").number)
        await player.do("wait", seconds=0.6)
    await player.click_on(player.view.first("menuitem", hint=target))


@solves("navigate-tree")
async def find_in_tree(player: Player) -> None:
    """Open each folder until the name is in view."""
    target = player.view.quoted[0]
    while not player.view.find("clickable", target):
        folders = player.view.find("clickable", hint="expandable-hitarea")
        if not folders:
            raise LookupError(f"no folder is left to open, and {target} is not in view")
        await player.click_on(folders[0])
    # the item itself follows the row that contains it
    await player.click_on(player.view.find("clickable", target)[-1])


@solves("phone-book")
async def find_contact(player: Player) -> None:
    name, detail = player.read(r"Find (\w+) in the .* their (phone|email|address)")
    while name not in player.view.texts():
        await player.click("link", ">")
    position = ["phone", "email", "address"].index(detail)
    await player.click_on(player.view.find("link")[position])


@solves("search-engine")
async def open_search_result(player: Player) -> None:
    name = player.view.quoted[0]
    await player.write(player.view.first("textbox"), name)
    await player.click("button", "Search")
    page, row = divmod(player.read_ordinal(), 3)
    if page:
        await player.click("link", str(page + 1))
    await player.click_on(player.view.find("link")[row])


@solves("use-autocomplete", "use-autocomplete-nodelay")
async def use_suggestion(player: Player) -> None:
    start, end = player.read(r'starts with "(.*?)"(?: and ends with "(.*?)")?')
    await player.write(player.view.first("textbox"), start)
    if not _suggestions(player, start, end):
        await player.do("wait", seconds=0.6)  # suggestions come after a delay
    # the list itself may also be an element, named after all its options
    await player.click("", min(_suggestions(player, start, end), key=len))
    await player.submit()


def _suggestions(player: Player, start: str, end: str) -> list[str]:
    names = [element.name for element in player.view.find("clickable|option|menuitem")]
    pattern = re.compile(f"{re.escape(start)}.*{re.escape(end)}", re.IGNORECASE)
    return [name for name in names if pattern.fullmatch(name)]


@solves("form-sequence-3")
async def choose_and_answer(player: Player) -> None:
    (option,) = player.read("Choose (.*) from the dropdown")
    button = player.view.quoted[0]
    await player.click("clickable", "▾")
    while not player.view.find(hint=f'"{option}"'):
        await scroll_area(player, 60)
    await player.click("", option)
    await player.click("button", button)


@solves("order-food")
async def order_food(player: Player) -> None:
    """Order dishes by name, or the requested number of one type."""
    if "items that are" in player.instruction:
        quantity, kind = player.read(r"Order (\d+) items that are (\S+)")
        orders = [(f"image: {kind})", int(quantity))]
    else:
        (names,) = player.read("each item: (.*)")
        orders = [(name, 1) for name in names.split(", ")]
    for words, count in orders:
        await scroll_area(player, -2000)
        while not (buttons := _find_buttons(player, words)):
            await scroll_area(player, 60)
        for _ in range(count):
            await player.click_on(buttons[0])
    while not player.view.find("button", "Order!"):
        await scroll_area(player, 400)
    await player.click("button", "Order!")


def _find_buttons(player: Player, words: str) -> list[Element]:
    """Return the plus signs below lines with a dish's name or type, if they are in view."""
    lines = [line.text for line in player.view.lines]
    rows = [at for at, text in enumerate(lines) if at and words in text]
    signs = player.view.find("clickable", "+")
    return [sign for at in rows for sign in signs if at < sign.position <= at + 3]


async def scroll_area(player: Player, pixels: int) -> None:
    """Scroll the scrollable area of the page; upwards if the number is negative.

    Raises:
        LookupError: it is at its end already.
    """
    action = "scroll_down" if pixels > 0 else "scroll_up"
    area = player.view.first("scroll area")
    await player.do(action, index=area.number, scroll_amount=abs(pixels))
    if "already" in player.message and pixels > 0:
        raise LookupError("it is nowhere in the scroll area")


@solves("buy-ticket")
async def buy_ticket(player: Player) -> None:
    durations = re.findall(r"(\d+)h (\d+)m", "\n".join(player.view.texts()))
    minutes = [int(hours) * 60 + int(rest) for hours, rest in durations]
    buttons = player.view.find("button", hint="Book for")
    prices = [int(button.name.partition("$")[2]) for button in buttons]
    values = minutes if "duration" in player.instruction else prices
    is_least = re.search("cheapest|shortest", player.instruction)
    best = min(values) if is_least else max(values)
    await player.click_on(buttons[values.index(best)])


@solves("stock-market")
async def buy_below(player: Player) -> None:
    (limit,) = player.read(r"less than \$([\d.]+\d)")
    while True:
        price = re.search(r"price: \$([\d.]+)", player.view.text)
        # it changes ten times a second: leave a margin
        if price and float(price[1]) < float(limit) - 1:
            break
        await player.do("wait", seconds=0.1)
    await player.click("button", "Buy")
