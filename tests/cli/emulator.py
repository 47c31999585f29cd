"""The screen contents after the bytes that a terminal received; supports the sequences in use."""

import re

from rich.cells import cell_len

_PART = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()][0-9A-B]|\x1b\][^\x07]*\x07|([\s\S])")


def render_screen(raw: str) -> str:
    """Return the text on the screen and in the scrollback, without trailing blanks."""
    rows: list[list[str]] = [[]]
    row = column = 0
    for part in _PART.finditer(raw):
        count = int(part[1] or 1) if part[2] and part[1].isdigit() else 1
        match part[2], part[3]:
            case "A" | "F" as key, _:
                row, column = max(row - count, 0), column if key == "A" else 0
            case "B", _:
                row += count
            case "C", _:
                column += count
            case "D", _:
                column = max(column - count, 0)
            case "G", _:
                column = count - 1
            case "K", _:
                del rows[row][0 if part[1] == "2" else column :]
            case "J", _:
                del rows[row][column:], rows[row + 1 :]
            case None, "\r":
                column = 0
            case None, "\n":
                row += 1
            case None, "\b":
                column = max(column - 1, 0)
            case None, str(sign) if sign >= " ":
                line = rows[row]
                line += [" "] * (column - len(line))
                line[column : column + 1] = [sign, *[""] * (cell_len(sign) - 1)]
                column += cell_len(sign)
        rows += [[] for _ in range(row + 1 - len(rows))]
    return "\n".join("".join(line).rstrip() for line in rows)
