"""The git guard of a run: whether its programs may change the repositories that were there before.

The user is asked once a run: before a command that plainly changes a repository, or, where a
program turns out to do so, when the call is made again. What the user's request plainly asks for
needs no question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from manus.config.safety_settings import is_covered, matches
from manus.prompts import approval as prompts
from manus.state.user_words import asks_for_git

GIT = "git"
"""The rule that lets programs change repositories, and in `deny` forbids it."""


@dataclass(slots=True, eq=False)
class GitCall:
    """A call that is being carried out."""

    is_admitted: bool
    """Whether its programs may change repositories."""
    is_held: bool = False
    """Whether a program was kept from it."""


class GitGuard:
    """Knows what the user has said about changes to their repositories."""

    def __init__(self) -> None:
        self._is_free = True
        self._asks = True
        self._words = ""
        self._allow: tuple[str, ...] = ()
        self._deny: tuple[str, ...] = ()
        self._calls: list[GitCall] = []
        self._held: set[str] = set()

    def begin(
        self,
        rules: Iterable[str],
        deny: Iterable[str],
        *,
        words: str,
        is_free: bool,
        asks: bool = True,
    ) -> None:
        """Take over what holds for a call and for those to come.

        `rules` let calls through, and `words` are the user's own. `is_free`: nobody is asked about
        anything. `asks`: a person can be asked.
        """
        self._allow = tuple(rules)
        self._deny = tuple(deny)
        self._words = words
        self._is_free = is_free
        self._asks = asks

    def needs_approval(self) -> bool:
        """Return whether a person has to be asked."""
        if self._is_free or is_covered(self._allow, GIT, [""]):
            return False
        return not asks_for_git(self._words)

    def hold(self) -> str:
        """Return why a program may not change a repository; empty if it may."""
        if any(matches(rule, GIT) for rule in self._deny):
            return prompts.GIT_DENIED
        if any(call.is_admitted for call in self._calls) or not self.needs_approval():
            return ""
        for call in self._calls:
            call.is_held = True
        return prompts.GIT_HELD if self._asks else prompts.GIT_REFUSED

    def was_held(self, call: str) -> bool:
        """Return whether a program of the call with that digest was kept from a change before."""
        return call in self._held

    @contextmanager
    def admitting(self, call: str, *, is_approved: bool) -> Iterator[GitCall]:
        """Carry out a call in the block; its programs may change repositories if `is_approved`."""
        under_way = GitCall(is_approved)
        self._calls.append(under_way)
        try:
            yield under_way
        finally:
            self._calls.remove(under_way)
            if under_way.is_held:
                self._held.add(call)
