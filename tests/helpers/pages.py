"""Extracts from the pages of the documentation."""

import re


def find_code_blocks(page: str, language: str = r"\w+") -> list[str]:
    """Return the code blocks of a page that are in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
