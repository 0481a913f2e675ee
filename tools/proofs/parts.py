"""Run parts of `make test` one after another, and print how long each took.

    python -m tools.proofs.parts lint check suite

Each part is a target of the Makefile. The first one that fails ends the run.
"""

import os
import subprocess
import sys
import time


def main(parts: list[str] | None = None) -> int:
    """Run the targets; returns the exit status of the first that fails, or 0."""
    make = os.environ.get("MAKE", "make")
    took: list[tuple[str, float, int]] = []
    for part in sys.argv[1:] if parts is None else parts:
        print(f"--- make {part}", flush=True)
        start = time.monotonic()
        status = subprocess.run([make, "--no-print-directory", part]).returncode
        took.append((part, (time.monotonic() - start) / 60, status))
        if status:
            break
    print(f"\n{'part':12} {'minutes':>7}")
    for part, minutes, status in took:
        print(f"{part:12} {minutes:7.1f}{'  failed' if status else ''}")
    print(f"{'together':12} {sum(minutes for _, minutes, _ in took):7.1f}", flush=True)
    return took[-1][2] if took else 0


if __name__ == "__main__":
    sys.exit(main())
