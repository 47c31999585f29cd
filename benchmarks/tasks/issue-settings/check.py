import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from hidden_tests import run_hidden_tests

ISSUE = "hidden_layers.Issue."
REGRESSION = "hidden_layers.Regression."
run_hidden_tests(
    Path(__file__).parent,
    [
        ISSUE + "test_a_circle_is_named",
        ISSUE + "test_an_escaped_reference_stays",
        ISSUE + "test_values_with_equals_and_hash",
    ],
    [
        ISSUE + "test_twice_is_no_circle",
        REGRESSION + "test_layers",
        REGRESSION + "test_missing",
        REGRESSION + "test_dollar",
    ],
)
