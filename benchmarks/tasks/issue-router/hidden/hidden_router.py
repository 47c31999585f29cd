import unittest

from routes import Match, NoRouteError, Router


class Issue(unittest.TestCase):
    def setUp(self):
        self.router = Router()
        self.router.add("/files/<name>", "file")
        self.router.add("/tree/<rest:path>", "tree")
        self.router.add("/files/readme", "readme")
        self.router.add("/days/<id:int>", "day")

    def test_a_value_is_decoded(self):
        self.assertEqual(self.router.match("/files/a%20b").values, {"name": "a b"})
        self.assertEqual(self.router.match("/files/%C3%BC").values, {"name": "ü"})

    def test_an_encoded_slash_belongs_to_the_value(self):
        self.assertEqual(self.router.match("/files/a%2Fb"), Match("file", {"name": "a/b"}))

    def test_a_written_value_is_encoded(self):
        self.assertEqual(self.router.url_for("file", name="a b/c?ü%"), "/files/a%20b%2Fc%3F%C3%BC%25")

    def test_a_path_keeps_its_slashes(self):
        self.assertEqual(self.router.url_for("tree", rest="a b/c#1"), "/tree/a%20b/c%231")
        self.assertEqual(self.router.match("/tree/a%20b/c").values, {"rest": "a b/c"})

    def test_what_is_written_is_read(self):
        for value in ("100%", "a/b", "?", "Zoë #1", "%2F", "+"):
            path = self.router.url_for("file", name=value)
            self.assertEqual(self.router.match(path), Match("file", {"name": value}))


class Regression(unittest.TestCase):
    setUp = Issue.setUp

    def test_plain_values(self):
        self.assertEqual(self.router.match("/files/a.txt"), Match("file", {"name": "a.txt"}))
        self.assertEqual(self.router.url_for("file", name="a.txt"), "/files/a.txt")

    def test_literals_win(self):
        self.assertEqual(self.router.match("/files/readme"), Match("readme"))

    def test_numbers(self):
        self.assertEqual(self.router.match("/days/3").values, {"id": 3})
        self.assertEqual(self.router.url_for("day", id=3), "/days/3")
        with self.assertRaises(ValueError):
            self.router.url_for("day", id=-1)

    def test_query_is_ignored(self):
        self.assertEqual(self.router.match("/days/3?x=1").values, {"id": 3})

    def test_no_route(self):
        with self.assertRaises(NoRouteError):
            self.router.match("/files/a/b")
        with self.assertRaises(KeyError):
            self.router.url_for("file")
