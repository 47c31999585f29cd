import unittest
from datetime import timedelta

from spans import parse, show


class Issue(unittest.TestCase):
    def test_negative_spans_are_shown(self):
        self.assertEqual(show(timedelta(seconds=-90)), "-1m 30s")
        self.assertEqual(show(-timedelta(days=2, hours=1, milliseconds=5)), "-2d 1h 5ms")

    def test_negative_spans_are_read(self):
        self.assertEqual(parse("-1m 30s"), timedelta(seconds=-90))
        self.assertEqual(parse(" - 2h"), timedelta(hours=-2))

    def test_what_is_shown_is_read(self):
        for ms in (-86_400_001, -1, 0, 1, 999, 3_599_999, 90_061_001):
            span = timedelta(milliseconds=ms)
            self.assertEqual(parse(show(span)), span)

    def test_remains_are_refused(self):
        for text in ("1h 30", "1h and 5m", "5x 3m", "1m -30s", "-", "h", "1..5h", "--1h"):
            with self.assertRaises(ValueError, msg=text):
                parse(text)

    def test_less_than_a_millisecond_is_rounded(self):
        self.assertEqual(show(timedelta(microseconds=999_600)), "1s")
        self.assertEqual(show(timedelta(microseconds=-600)), "-1ms")
        self.assertEqual(show(timedelta(microseconds=-300)), "0s")


class Regression(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse("1d2h3m4s5ms"), timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=5))
        self.assertEqual(parse("0.5 s"), timedelta(milliseconds=500))
        self.assertEqual(parse("30m 1h"), timedelta(minutes=90))

    def test_show(self):
        self.assertEqual(show(timedelta(hours=25, milliseconds=7)), "1d 1h 7ms")
        self.assertEqual(show(timedelta()), "0s")

    def test_no_span(self):
        for text in ("", "soon"):
            with self.assertRaises(ValueError):
                parse(text)
