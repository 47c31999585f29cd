"""Pages with an inbox or with posts, of which the window shows only a part."""

from __future__ import annotations

import re

from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.lists import scroll_area
from benchmarks.miniwob.solvers.registry import solves
from benchmarks.miniwob.view import Element


@solves(
    "email-inbox",
    "email-inbox-delete",
    "email-inbox-forward",
    "email-inbox-forward-nl",
    "email-inbox-forward-nl-turk",
    "email-inbox-important",
    "email-inbox-nl-turk",
    "email-inbox-noscroll",
    "email-inbox-reply",
    "email-inbox-star-reply",
)
async def handle_email(player: Player) -> None:
    """Do what the instruction asks in one of its many wordings: delete, mark, forward or reply."""
    instruction = player.instruction
    row = await _find_mail(player, instruction)
    sender = row.name.split()[0]
    if text := re.search(r'"(.*)"', instruction):
        await player.click_on(row)
        await player.click("clickable", "Reply")
        await player.write(player.view.first("textbox", "reply-text"), text[1])
        await player.click(hint="send-reply")
    elif re.search(r"\bstar|important|flag|priorit", instruction, re.IGNORECASE):
        await _click_beside(player, sender, "star")
    elif re.search(r"delete|trash|remove|rid of|erase", instruction, re.IGNORECASE):
        await _click_beside(player, sender, "trash")
    else:
        names = [name for name in _names(instruction) if name != sender]
        await _forward(player, row, names[-1])


_SENDER = re.compile(
    r"(?:[Ff]rom|[Bb]y) ([A-Z][a-z]+)|([A-Z][a-z]+)(?:'s|s last)"
    r"|([A-Z][a-z]+) (?:sent|wrote)|Ask ([A-Z][a-z]+) to"
)


def _names(instruction: str) -> list[str]:
    """Return the capitalized words of a request, except those that it quotes."""
    return re.findall(r"\b[A-Z][a-z]+\b", re.sub(r'".*"', "", instruction))


async def _find_mail(player: Player, instruction: str) -> Element:
    """Scroll until the mail that the request is about is in view.

    Of several people, the wording determines which one is the sender.
    """
    senders = ["".join(groups) for groups in _SENDER.findall(instruction)]
    while True:
        rows = {row.name.split()[0]: row for row in player.view.find("clickable") if row.name}
        for name in senders or _names(instruction):
            if name in rows:
                return rows[name]
        await scroll_area(player, 100)


async def _click_beside(player: Player, sender: str, icon: str) -> None:
    """Click the icon in the row of a mail, or in the open mail if the row's is out of view."""
    rows = [row for row in player.view.find("clickable") if row.name.startswith(f"{sender} ")]
    after = [
        element
        for element in player.view.find("clickable", hint=f"looks like: {icon}")
        if element.position - rows[0].position in (1, 2)
    ]
    if after:
        await player.click_on(after[0])
        return
    await player.click_on(rows[0])
    await player.click(hint=f"looks like: {icon}")


async def _forward(player: Player, row: Element, name: str) -> None:
    await player.click_on(row)
    await player.click("clickable", "Forward")
    await player.write(player.view.first("textbox", hint="forward-sender"), name)
    await player.click(hint="send-forward")


@solves("social-media")
async def act_on_post(player: Player) -> None:
    """Find the user's post, and its icon or the entry of its menu."""
    name = _user(player)
    button = player.view.quoted[0]
    icon = button.lower() if button in ("Reply", "Retweet", "Like") else "more"
    while not (icons := _icons_of(player, name, icon)):
        await scroll_area(player, 60)
    await player.click_on(icons[0])
    if icon != "more":
        return
    entry = f"{button} {name}" if button in ("Mute", "Block") else button
    if not player.view.find("clickable", "Share via DM") and "New on" not in player.message:
        # the icon changes under the mouse, and disappears for a moment when that first happens
        await player.click_on(icons[0])
    while not player.view.find(name=entry):  # the menu may reach below the area
        await scroll_area(player, 60)
    await player.click("", entry)


@solves("social-media-all", "social-media-some")
async def act_on_posts(player: Player) -> None:
    """Scroll through the posts, and click the icon of each of the user's posts."""
    name = _user(player)
    icon = player.view.quoted[0].lower()
    count = re.search(r"on (\d+) post", player.instruction)
    clicked: list[int] = []
    is_at_end = False
    while not is_at_end:
        is_at_end = bool(player.view.find("button", "Submit"))
        for element in _icons_of(player, name, icon):
            is_enough = count is not None and len(clicked) == int(count[1])
            if element.number not in clicked and not is_enough:
                await player.click_on(element)
                clicked.append(element.number)
        if not is_at_end:
            await scroll_area(player, 50)
    await player.submit()


def _user(player: Player) -> str:
    (name,) = player.read(r"(@\w+)")
    return name


def _icons_of(player: Player, name: str, icon: str) -> list[Element]:
    """Return the icons of a user's posts that are in view.

    A post's icons follow its text. Names of posts that are out of view have no icons, so the
    nearest name above an icon is its author's.
    """
    authors: dict[int, str] = {}
    author = ""
    for position, line in enumerate(player.view.lines):
        if position and line.number is None and (match := re.search(r"@\w+", line.text)):
            author = match[0]
        authors[position] = author
    icons = player.view.find("clickable", hint=f"looks like: {icon})")
    in_view = [element for element in icons if "the view)" not in element.line]
    return [element for element in in_view if authors[element.position] == name]
