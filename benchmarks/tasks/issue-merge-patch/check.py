import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from hidden_tests import run_hidden_tests

ISSUE = "hidden_patches.Issue."
REGRESSION = "hidden_patches.Regression."
run_hidden_tests(
    Path(__file__).parent,
    [
        ISSUE + "test_nulls_of_a_new_object_are_left_out",
        ISSUE + "test_an_object_in_place_of_a_value",
        ISSUE + "test_arguments_stay_as_they_are",
        ISSUE + "test_diff_of_different_kinds",
    ],
    [
        REGRESSION + "test_examples_of_the_standard",
        REGRESSION + "test_nulls_in_an_array_stay",
        REGRESSION + "test_diff",
    ],
)
