import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from hidden_tests import run_hidden_tests

ISSUE = "hidden_router.Issue."
REGRESSION = "hidden_router.Regression."
run_hidden_tests(
    Path(__file__).parent,
    [
        ISSUE + "test_a_value_is_decoded",
        ISSUE + "test_an_encoded_slash_belongs_to_the_value",
        ISSUE + "test_a_written_value_is_encoded",
        ISSUE + "test_a_path_keeps_its_slashes",
        ISSUE + "test_what_is_written_is_read",
    ],
    [
        REGRESSION + "test_plain_values",
        REGRESSION + "test_literals_win",
        REGRESSION + "test_numbers",
        REGRESSION + "test_query_is_ignored",
        REGRESSION + "test_no_route",
    ],
)
