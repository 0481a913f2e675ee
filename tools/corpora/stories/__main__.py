"""Tell stories: ``python -m tools.corpora.stories --draw 10 --seed 5``."""

import argparse

from tools.corpora.stories import PLOTS, tell


def main(arguments: list[str] | None = None) -> None:
    """Print some stories, with what they are."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.corpora.stories", description=__doc__
    )
    parser.add_argument("--draw", type=int, default=5, help="how many; default 5")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--ending", choices=("happy", "sad"))
    parser.add_argument("--plot", choices=sorted(PLOTS))
    options = parser.parse_args(arguments)
    for seed in range(options.seed, options.seed + options.draw):
        story = tell(seed, options.ending, options.plot)
        print(f"--- {seed}: {story.plot}, {story.ending}\n{story.text()}\n")


if __name__ == "__main__":
    main()
