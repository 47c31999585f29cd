import unittest

from layers import Settings


class SettingsTest(unittest.TestCase):
    def test_the_last_layer_wins(self):
        settings = Settings({"root": "/srv", "logs": "${root}/logs"})
        settings.add_lines(["# where", "root = /data"])
        self.assertEqual(settings["logs"], "/data/logs")
        settings.add_environment({"APP_ROOT": "/mnt", "HOME": "/"}, prefix="APP_")
        self.assertEqual(settings["logs"], "/mnt/logs")

    def test_dollar(self):
        self.assertEqual(Settings({"price": "5 $$"})["price"], "5 $")


if __name__ == "__main__":
    unittest.main()
