import sys
from pathlib import Path

if not Path("answer.txt").is_file():
    sys.exit("answer.txt does not exist")
if (text := Path("answer.txt").read_text().strip()) != "L-135":
    sys.exit(f"the answer is {text}")
