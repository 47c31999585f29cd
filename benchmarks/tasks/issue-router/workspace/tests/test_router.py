import unittest

from routes import Match, NoRouteError, Router


class RouterTest(unittest.TestCase):
    def setUp(self):
        self.router = Router()
        self.router.add("/users/<id:int>", "user")
        self.router.add("/users/me", "me")
        self.router.add("/files/<rest:path>", "files")

    def test_match(self):
        self.assertEqual(self.router.match("/users/7"), Match("user", {"id": 7}))
        self.assertEqual(self.router.match("/users/me"), Match("me"))

    def test_no_route(self):
        with self.assertRaises(NoRouteError):
            self.router.match("/users/x")

    def test_url_for(self):
        self.assertEqual(self.router.url_for("files", rest="a/b.txt"), "/files/a/b.txt")


if __name__ == "__main__":
    unittest.main()
