"""Print scenes, or check a file: `python -m tools.corpora.scenes [--check FILE]`."""

import argparse
import re
import sys
from pathlib import Path

from tools.corpora.scenes import PatternError, read_patterns, scenes, some_patterns


def main(arguments: list[str] | None = None) -> int:
    """Print what was asked for; 1 where a file has a line that is no pattern."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--check", type=Path, metavar="FILE", help="check a file")
    args = parser.parse_args(arguments)
    if args.check is None:
        most = len(some_patterns())
        if not 0 < args.count <= most:
            parser.error(f"--count is {args.count}: give 1 to {most}.")
        print(*scenes(args.seed, args.count), sep="\n")
        return 0
    try:
        patterns = read_patterns(args.check)
    except (OSError, PatternError) as error:
        print(error, file=sys.stderr)
        return 1
    words = set()
    for pattern in patterns:
        for parts in (pattern.around, *pattern.slots):
            words.update(re.findall(r"[a-z']+", " ".join(parts).lower()))
    print(f"{len(patterns)} patterns, {len(words)} different words.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
