"""Count lines, words and bytes of files."""

import argparse
import sys


def count(path):
    with open(path, "rb") as file:
        data = file.read()
    return data.count(b"\n"), len(data.split()), len(data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    rows, failed = [], False
    for path in given.files:
        try:
            rows.append((path, count(path)))
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)
            failed = True
    if len(given.files) > 1:
        rows.append(("total", tuple(map(sum, zip((0, 0, 0), *(row for _, row in rows))))))
    for path, row in rows:
        print("%7d %7d %7d %s" % (*row, path))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
