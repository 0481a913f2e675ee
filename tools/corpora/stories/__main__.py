"""Tell stories: ``python -m tools.corpora.stories --draw 10 --seed 5``."""

import argparse
import csv
import io

from helpers.corpora import whole
from helpers.corpora.stories import STORIES
from helpers.files import write_whole
from tools.corpora.stories import PLOTS, tell


def bundled() -> bytes:
    """The held-out stories as helpers/corpora/stories.csv has them."""
    from tools.pretrain.stories import held_out_stories

    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(["happy", "text"])
    for story in held_out_stories():
        rows.writerow([int(story.happy), story.text()])
    return table.getvalue().encode()


def main(arguments: list[str] | None = None) -> None:
    """Print some stories, with what they are."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.corpora.stories", description=__doc__
    )
    parser.add_argument("--draw", type=int, default=5, help="how many; default 5")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--ending", choices=("happy", "sad"))
    parser.add_argument("--plot", choices=sorted(PLOTS))
    parser.add_argument(
        "--bundle",
        action="store_true",
        help="write the held-out stories that lesson 11 reads, and print nothing",
    )
    options = parser.parse_args(arguments)
    if options.bundle:
        write_whole(STORIES, bundled())
        whole.record(STORIES.parent)
        return
    for seed in range(options.seed, options.seed + options.draw):
        story = tell(seed, options.ending, options.plot)
        print(f"--- {seed}: {story.plot}, {story.ending}\n{story.text()}\n")


if __name__ == "__main__":
    main()
