import re
import sys
from collections import Counter
from pathlib import Path

log = (Path(__file__).parent / "workspace" / "access.log").read_text()
found = re.findall(r'(?m)^(\S+) .*?" 5\d\d \d+ "', log)
ranked = sorted(Counter(found).items(), key=lambda item: (-item[1], item[0]))[:3]
wanted = [f"{count} {address}" for address, count in ranked]
if not Path("top.txt").is_file():
    sys.exit("there is no top.txt")
if (said := Path("top.txt").read_text().splitlines()) != wanted:
    sys.exit(f"{said}, not {wanted}")
