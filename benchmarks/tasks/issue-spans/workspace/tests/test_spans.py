import unittest
from datetime import timedelta

from spans import parse, show


class SpansTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse("1h 30m"), timedelta(minutes=90))
        self.assertEqual(parse("1.5h"), timedelta(minutes=90))

    def test_show(self):
        self.assertEqual(show(timedelta(days=1, seconds=5)), "1d 5s")
        self.assertEqual(show(timedelta()), "0s")


if __name__ == "__main__":
    unittest.main()
