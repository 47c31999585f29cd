"""Print a file with a patch applied."""

import json
import sys

from patches import merge


def main():
    target, patch = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    json.dump(merge(target, patch), sys.stdout, ensure_ascii=False, indent=2, sort_keys=True)
    print()


main()
