"""Colors by name, as in HTML."""

COLORS = {
    "aqua": "#00ffff",
    "black": "#000000",
    "blue": "#0000ff",
    "brown": "#a52a2a",
    "cyan": "#00ffff",
    "gray": "#808080",
    "green": "#008000",
    "grey": "#808080",
    "lime": "#00ff00",
    "magenta": "#ff00ff",
    "maroon": "#800000",
    "navy": "#000080",
    "olive": "#808000",
    "orange": "#ffa500",
    "pink": "#ffc0cb",
    "purple": "#800080",
    "red": "#ff0000",
    "teal": "#008080",
    "white": "#ffffff",
    "yellow": "#ffff00",
}


def channels(color: str) -> tuple[int, int, int]:
    """Return red, green and blue of a color such as `#ff8000`."""
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue


def distance(first: str, second: str) -> int:
    """Return the distance between two colors, summed over the channels."""
    return sum(abs(a - b) for a, b in zip(channels(first), channels(second), strict=True))
