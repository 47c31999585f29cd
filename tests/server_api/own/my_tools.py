"""A tool of the user's own, as `manus.toml` names it: `my_tools:lookup`."""

MEANINGS = {"thread": "a conversation of one or more runs"}


def lookup(word: str) -> str:
    """Look a word up in the team's glossary.

    Args:
        word: The word, in the singular.
    """
    return MEANINGS.get(word, "It is not in the glossary.")
