import copy
import json
import unittest

from patches import diff, merge


class Issue(unittest.TestCase):
    def same(self, first, second):
        """Compare as JSON: Python finds true and 1 equal."""
        self.assertEqual(json.dumps(first, sort_keys=True), json.dumps(second, sort_keys=True))

    def test_nulls_of_a_new_object_are_left_out(self):
        self.assertEqual(merge({}, {"a": {"b": {"c": None}, "d": 1}}), {"a": {"b": {}, "d": 1}})

    def test_an_object_in_place_of_a_value(self):
        self.assertEqual(merge({"a": [1]}, {"a": {"b": None, "c": 1}}), {"a": {"c": 1}})
        self.assertEqual(merge("x", {"a": None, "b": 2}), {"b": 2})

    def test_arguments_stay_as_they_are(self):
        target, patch = {"a": {"b": [1]}, "z": {"y": 1}}, {"a": {"c": {"d": 1}}, "e": {"f": [None]}}
        originals = copy.deepcopy((target, patch))
        result = merge(target, patch)
        self.assertEqual((target, patch), originals)
        result["a"]["c"]["d"] = 2
        result["a"]["b"].append(2)
        result["z"]["y"] = 2
        result["e"]["f"].append(2)
        self.assertEqual((target, patch), originals)

    def test_diff_of_different_kinds(self):
        self.same(diff({"a": True}, {"a": 1}), {"a": 1})
        self.same(diff({"a": 0}, {"a": False}), {"a": False})
        self.same(diff({"a": {"b": [1, {"c": True}]}}, {"a": {"b": [1, {"c": 1}]}}), {"a": {"b": [1, {"c": 1}]}})


class Regression(unittest.TestCase):
    def test_examples_of_the_standard(self):
        rows = [
            ({"a": "b"}, {"a": "c"}, {"a": "c"}),
            ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
            ({"a": "b"}, {"a": None}, {}),
            ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
            ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
            (["a", "b"], ["c", "d"], ["c", "d"]),
            ({"a": "b"}, ["c"], ["c"]),
            ({"a": "foo"}, None, None),
            ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ]
        for target, patch, result in rows:
            self.assertEqual(merge(target, patch), result)

    def test_nulls_in_an_array_stay(self):
        self.assertEqual(merge({}, {"a": [None, {"b": None}]}), {"a": [None, {"b": None}]})

    def test_diff(self):
        self.assertEqual(diff({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}), {"a": {"c": None}})
        self.assertEqual(diff({"a": [1, 2], "b": {"c": 1}}, {"b": {"c": 1}, "a": [1, 2]}), {})
        with self.assertRaises(ValueError):
            diff({}, {"a": {"b": None}})
