import re
import sys
from collections import Counter
from pathlib import Path

log = (Path(__file__).parent / "workspace" / "access.log").read_text()
matches = re.findall(r'(?m)^(\S+) .*?" 5\d\d \d+ "', log)
ranked = sorted(Counter(matches).items(), key=lambda item: (-item[1], item[0]))[:3]
expected = [f"{count} {address}" for address, count in ranked]
if not Path("top.txt").is_file():
    sys.exit("top.txt does not exist")
if (lines := Path("top.txt").read_text().splitlines()) != expected:
    sys.exit(f"{lines}, not {expected}")
