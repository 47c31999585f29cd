"""Print the sum of some spans."""

import sys
from datetime import timedelta

from spans import parse, show

print(show(sum(map(parse, sys.argv[1:]), timedelta())))
