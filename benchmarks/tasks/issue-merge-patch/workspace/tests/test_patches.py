import unittest

from patches import diff, merge


class MergeTest(unittest.TestCase):
    def test_replace_add_remove(self):
        self.assertEqual(merge({"a": 1, "b": 2}, {"a": 3, "b": None, "c": 4}), {"a": 3, "c": 4})

    def test_arrays_are_replaced(self):
        self.assertEqual(merge({"a": [1, 2]}, {"a": [3]}), {"a": [3]})

    def test_diff(self):
        self.assertEqual(diff({"a": 1, "b": {"c": 1}}, {"b": {"c": 2}}), {"a": None, "b": {"c": 2}})


if __name__ == "__main__":
    unittest.main()
