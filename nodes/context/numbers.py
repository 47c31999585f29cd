"""The numbers in a text, each in one form, however it is written.

`1,234`, `1 234` and `1'234` are 1234, and `1.234` is another number; `½` is 0.5, `12 %` is 12%,
`3 million` and `三百万` are 3000000. Numbers are compared as text: they may have any length.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

_GROUPS = ",'’_\u00a0\u202f\u2009"
"""What stands between groups of three digits; a point may, but means a fraction as well."""
_NUMBER = re.compile(rf"\d+(?:[.{_GROUPS}]\d+)*")
_THOUSANDS = re.compile(rf"\d{{1,3}}([{_GROUPS}])\d{{3}}(?:\1\d{{3}})*(?:\.\d+)?")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_RATIO = re.compile(r"(?<![\d/])(\d{1,6})\s?[/⁄]\s?(\d{1,6})(?![\d/])")

_PERCENT = re.compile(r"\s?(?:%|％|percent\b|per cent\b|Prozent\b)", re.IGNORECASE)
_SCALES = {
    "thousand": 3, "k": 3, "K": 3, "千": 3, "万": 4, "萬": 4, "million": 6, "millions": 6, "M": 6,
    "Mio": 6, "百万": 6, "千万": 7, "亿": 8, "億": 8, "billion": 9, "billions": 9, "bn": 9, "B": 9,
    "trillion": 12, "万亿": 12,
}  # fmt: skip
_SCALE = re.compile(
    r"\s?(thousand|millions?|billions?|trillion|Mio|bn)\b|([kKMB])\b|\s?(万亿|百万|千万|[千万萬亿億])"
)

_DIGITS = dict(zip("〇零一二三四五六七八九", (0, *range(10)), strict=True))
_DIGITS |= dict(zip("两兩壹贰叁肆伍陆柒捌玖", (2, 2, *range(1, 10)), strict=True))
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1_000, "仟": 1_000}
_LARGE = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_SIGNS = "".join((*_DIGITS, *_UNITS, *_LARGE))
_CHINESE = re.compile(rf"(百分之|(?<!\d))([{_SIGNS}]+)(?:点([{''.join(_DIGITS)}]+))?")
_NO_NUMBER = re.compile(rf"(?<![{_SIGNS}])(?:一(?![{_SIGNS}])|十分(?!之|钟|鐘))")
"""Words that are written like a number and mean none: `一` stands in hundreds of them."""

TORN = re.compile(rf"[\d{_SIGNS}][\d.,{_GROUPS}{_SIGNS}]*…$")
"""A number at the end of a text that was cut off there: it would be another one."""


def numbers_in(text: str) -> frozenset[str]:
    """The numbers that a text states."""
    found = set(_chinese_in(text)) | set(_signs_in(text))
    for number in _NUMBER.finditer(text):
        plain = _plain(number[0])
        if len(plain) > 1 or not _PLAIN.fullmatch(plain[0]):
            found.update(plain)
        elif _PERCENT.match(text, number.end()):
            found.add(f"{plain[0]}%")
        elif scale := _SCALE.match(text, number.end()):
            power = _SCALES[next(filter(None, scale.groups()))]
            found.add(_of_fraction(Fraction(plain[0]) * 10**power))
        elif sign := _fraction_at(text, number.end()):
            found.add(_of_fraction(Fraction(plain[0]) + sign))
        else:
            found.add(plain[0])
    return frozenset(found)


def numbers_held(text: str) -> frozenset[str]:
    """The numbers that a text may be quoted with: those it states, and those they are made of."""
    found = set(numbers_in(text))
    for number in _NUMBER.finditer(text):
        found.update(_plain(number[0]))
    for above, below in _RATIO.findall(text):
        if int(below):
            found.add(_of_fraction(Fraction(int(above), int(below))))
    return frozenset(found)


def _plain(number: str) -> list[str]:
    """A number without what groups its digits; its parts where that is no grouping."""
    if _THOUSANDS.fullmatch(number):
        return [_trimmed(re.sub(rf"[{_GROUPS}]", "", number))]
    if _PLAIN.fullmatch(number):
        return [_trimmed(number)]
    if set(number) & set(_GROUPS) - {","}:
        return [one for part in re.split(rf"[{_GROUPS}]", number) for one in _plain(part)]
    return [number]  # a version, an address, a list, a decimal with a comma


def _trimmed(number: str) -> str:
    """A number without zeros that say nothing, in digits of one script."""
    number = "".join(c if c == "." else str(unicodedata.decimal(c)) for c in number)
    whole, _, part = number.partition(".")
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    return f"{whole}.{part}" if part else whole


def _signs_in(text: str) -> list[str]:
    """Fractions, circled and Roman numbers that are one sign; not the raised ones of `m²`."""
    if not (signs := {s for s in set(text) if _is_number(s)}):
        return []
    found = []
    for place, sign in enumerate(text):
        if sign not in signs:
            continue
        before, form = text[place - 1 : place], unicodedata.decomposition(sign)
        is_raised = "<super>" in form and before.isalpha()
        ends_number = "<fraction>" in form and before.isdecimal()
        if not is_raised and not ends_number:
            value = Fraction(unicodedata.numeric(sign, 0.0))
            found.append(_of_fraction(value.limit_denominator(1_000)))
    return found


def _is_number(sign: str) -> bool:
    return unicodedata.category(sign) in ("No", "Nl") and sign not in _DIGITS


def _fraction_at(text: str, place: int) -> Fraction | None:
    """The fraction that is one sign at a place: `½`."""
    sign = text[place : place + 1]
    if not sign or "<fraction>" not in unicodedata.decomposition(sign):
        return None
    return Fraction(unicodedata.numeric(sign)).limit_denominator(1_000)


def _of_fraction(value: Fraction) -> str:
    """`0.5`, or `1/3` where there are no digits for it."""
    below = value.denominator
    for factor in (2, 5):
        while below % factor == 0:
            below //= factor
    if below != 1:
        return f"{value.numerator}/{value.denominator}"
    power = value.denominator.bit_length() * 4
    whole, part = divmod(value.numerator * 10**power // value.denominator, 10**power)
    return _trimmed(f"{whole}.{part:0{power}}")


def _chinese_in(text: str) -> list[str]:
    found = []
    for percent, signs, part in _CHINESE.findall(_NO_NUMBER.sub(" ", text)):
        value = _chinese(signs)
        if value is not None:
            digits = "".join(str(_DIGITS[sign]) for sign in part)
            found.append(_trimmed(f"{value}.{digits}") + ("%" if percent else ""))
    return found


def _chinese(signs: str) -> int | None:
    """The value of Chinese numerals; None for what is none, as `万一` and `两三` are."""
    if all(sign in _DIGITS for sign in signs):
        is_about = len(signs) == 2  # `两三个`
        return None if is_about else int("".join(str(_DIGITS[sign]) for sign in signs))
    if signs[0] not in _DIGITS and _UNITS.get(signs[0]) != 10:
        return None
    total = section = digit = 0
    for sign in signs:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _UNITS:
            section += (digit or 1) * _UNITS[sign]
            digit = 0
        else:
            total = (total + section + digit) * _LARGE[sign]
            section = digit = 0
    return total + section + digit
