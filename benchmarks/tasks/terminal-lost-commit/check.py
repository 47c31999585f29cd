import subprocess
import sys
from pathlib import Path


def git(*arguments):
    command = ["git", "-C", "notes", *arguments]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


if not Path("notes/.git").is_dir():
    sys.exit("the repository is gone")
if git("log", "-1", "--format=%s|%an|%at|%ct", "tides") != (
    "Write Tides|Ada|1772532000|1772532000"
):
    sys.exit("the branch tides is not at the lost commit")
if "twice a day" not in git("show", "tides:tides.md"):
    sys.exit("the chapter differs")
parents = git("log", "-1", "--format=%P", "main").split()
if len(parents) != 2 or parents[1] != git("rev-parse", "tides"):
    sys.exit("main does not end with the merge of tides")
if git("log", "-1", "--format=%s", parents[0]) != "Write Clouds":
    sys.exit("the first parent of the merge is not the previous main")
if git("rev-parse", "--abbrev-ref", "HEAD") != "main" or git("status", "--porcelain"):
    sys.exit("the working tree is not main, or not clean")
if sorted(git("ls-files").split()) != ["clouds.md", "tides.md", "winds.md"]:
    sys.exit("one of the three chapters is missing")
subjects = set(git("log", "--all", "--format=%s").splitlines())
if subjects & {"Draft Tides", "WIP"}:
    sys.exit("a draft was restored")
