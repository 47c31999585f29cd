import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from hidden_tests import run_hidden_tests

ISSUE = "hidden_spans.Issue."
REGRESSION = "hidden_spans.Regression."
run_hidden_tests(
    Path(__file__).parent,
    [
        ISSUE + "test_negative_spans_are_shown",
        ISSUE + "test_negative_spans_are_read",
        ISSUE + "test_what_is_shown_is_read",
        ISSUE + "test_remains_are_refused",
        ISSUE + "test_less_than_a_millisecond_is_rounded",
    ],
    [
        REGRESSION + "test_parse",
        REGRESSION + "test_show",
        REGRESSION + "test_no_span",
    ],
)
