"""List the exercises and what became of them: `python -m helpers.checks [folder]`."""

import sys
from pathlib import Path

from helpers.checks import progress

if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]]
    if len(folders) > 1 or not all(folder.is_dir() for folder in folders):
        sys.exit("Give the folder of your notebooks, or nothing: it is work/ then.")
    progress.main(*folders or [Path("work")])
