"""The git guard of a run, which decides whether programs may change existing repositories.

The user is asked once per run: before a command that clearly changes a repository, or, if a program
was blocked from doing so, when the call is repeated. Changes that the user's request clearly asks
for need no approval.
"""

from __future__ import annotations

from collections.abc import Iterable

from manus.config.safety_settings import is_covered, matches
from manus.execution.egress_guard import RunningCall
from manus.prompts import approval as prompts
from manus.state.user_words import asks_for_git

GIT = "git"
"""The rule that allows programs to change repositories; in `deny` it forbids that."""


class GitGuard:
    """The user's decisions about changes to their repositories."""

    def __init__(self, running_calls: list[RunningCall]) -> None:
        """Create the guard; `running_calls` is the session's list of calls in progress."""
        self._is_free = True
        self._asks = True
        self._words = ""
        self._allow: tuple[str, ...] = ()
        self._deny: tuple[str, ...] = ()
        self._calls = running_calls
        self._blocked: set[str] = set()

    def begin(
        self,
        rules: Iterable[str],
        deny: Iterable[str],
        *,
        words: str,
        is_free: bool,
        asks: bool = True,
    ) -> None:
        """Apply the rules to this call and later ones.

        `rules` are the allow rules, `words` the user's own. `is_free`: nothing needs approval.
        `asks`: the user can be asked.
        """
        self._allow = tuple(rules)
        self._deny = tuple(deny)
        self._words = words
        self._is_free = is_free
        self._asks = asks

    def needs_approval(self) -> bool:
        """Return whether a change needs approval."""
        if self._is_free or is_covered(self._allow, GIT, [""]):
            return False
        return not asks_for_git(self._words)

    def hold(self) -> str:
        """Return why a program must not change a repository; empty if it may."""
        if any(matches(rule, GIT) for rule in self._deny):
            return prompts.GIT_DENIED
        if any(call.may_change_git for call in self._calls) or not self.needs_approval():
            return ""
        for call in self._calls:
            call.is_git_blocked = True
        return prompts.GIT_HELD if self._asks else prompts.GIT_REFUSED

    def was_held(self, call: str) -> bool:
        """Return whether a program of the call with this digest was blocked before."""
        return call in self._blocked

    def note_blocked(self, call: str) -> None:
        """Record that the call with this digest was blocked, in case it is repeated."""
        self._blocked.add(call)
