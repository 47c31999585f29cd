import json
import os
import sys
from pathlib import Path

record = Path(os.environ["POSTED"])
posts = [json.loads(line) for line in record.read_text().splitlines()] if record.is_file() else []
rewards = [float(post["form"]["reward"][0]) for post in posts if post["path"] == "/reward"]
if not rewards:
    sys.exit("the episode has not ended")
if rewards[0] < 0.9:
    sys.exit(f"the page's reward is {rewards[0]:g}")
