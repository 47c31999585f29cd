"""Which requests clearly ask for changes to a git repository, so that no question is needed."""

from __future__ import annotations

import pytest

from manus.state.user_words import asks_for_git


@pytest.mark.parametrize(
    "words",
    [
        *("Fix the bug and commit it.", "Commit the changes with the message Fix", "Please commit"),
        *("Create a branch fix-1", "Run git init here", "rebase my branch onto main", "Tag v1.2"),
        *("Bitte mache einen Commit", "stash my changes", "Merge the branch into main."),
        *("修复这个错误并提交", "コミットしてください", "Fix it, then push the branch."),
        "Squash the last two commits on this branch.",
    ],
)
def test_a_request_that_asks_for_it(words: str) -> None:
    assert asks_for_git(words)


@pytest.mark.parametrize(
    "words",
    [
        *("Fix the failing test", "What does the last commit change?", "Which branch am I on?"),
        *("Summarize the last three commits", "Fix the bug. Do not commit.", "Never use git push."),
        *("Read report.md and write a summary of each commit", "merge a.csv and b.csv"),
        *("Write a function that shows commitment", "Is this branch clean?", ""),
    ],
)
def test_a_request_that_does_not(words: str) -> None:
    assert not asks_for_git(words)
