import unittest

from layers import Settings


class Issue(unittest.TestCase):
    def test_a_circle_is_named(self):
        settings = Settings({"a": "${b}", "b": "x${c}", "c": "${a}", "d": "${b}", "e": "${e}"})
        for name, circle in (("a", "a -> b -> c -> a"), ("d", "b -> c -> a -> b"), ("e", "e -> e")):
            with self.assertRaises(ValueError) as raised:
                settings[name]
            self.assertIn(circle, str(raised.exception))

    def test_twice_is_no_circle(self):
        settings = Settings({"a": "${b}${b}-${c}", "b": "${c}", "c": "1"})
        self.assertEqual(settings["a"], "11-1")

    def test_an_escaped_reference_stays(self):
        settings = Settings({"a": "$${b}", "b": "1", "c": "${a}", "d": "$$${b}", "e": "$$$$"})
        self.assertEqual([settings[name] for name in "acde"], ["${b}", "${b}", "$1", "$$"])

    def test_values_with_equals_and_hash(self):
        settings = Settings()
        settings.add_lines(["url = http://x/?a=b#c", "color = #fff", "  # note", "empty =", "n = 1 # one"])
        self.assertEqual(settings["url"], "http://x/?a=b#c")
        self.assertEqual(settings["color"], "#fff")
        self.assertEqual(settings["empty"], "")
        self.assertEqual(settings["n"], "1 # one")


class Regression(unittest.TestCase):
    def test_layers(self):
        settings = Settings({"a": "1", "b": "${a}"})
        settings.add_lines(["a = 2", ""])
        settings.add_environment({"X_A": "3", "XA": "4"}, prefix="X_")
        self.assertEqual(settings["b"], "3")
        self.assertIn("a", settings)
        self.assertNotIn("x", settings)

    def test_missing(self):
        with self.assertRaises(KeyError):
            Settings({"a": "${b}"})["a"]

    def test_dollar(self):
        self.assertEqual(Settings({"a": "$$5 and $x"})["a"], "$5 and $x")
