"""Write the site to site/: `python -m tools.site`."""

import argparse
import importlib.util
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.build.published import address
from tools.build.stubs import LessonError

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
NEEDED = ("sphinx", "myst_parser", "sphinx_book_theme", "ziamath", "nbconvert")
MADE = "searchindex.js"  # that a folder was made by Sphinx


class SiteError(Exception):
    """Why there is no site, in a sentence."""


def stage(root: Path, source: Path) -> None:
    """Write what Sphinx reads: every page, and the figures."""
    from tools.site.pages import site

    made = site(root, address(root))
    texts = {f"{name}.md": text.encode() for name, text in made.pages.items()}
    for name, content in (texts | made.files).items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def build(root: Path, target: Path) -> None:
    """Write the site to a folder, whole or not at all.

    Raises:
        SiteError: The folder holds something else, or a page is faulty.
    """
    from sphinx.cmd.build import build_main

    if target.exists() and any(target.iterdir()) and not (target / MADE).exists():
        raise SiteError(
            f"{target} holds something else than a site: move it away, or name "
            "another folder with --to."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".site-") as folder:
        source, pages = Path(folder, "source"), Path(folder, "pages")
        stage(root, source)
        options = ["-b", "html", "-q", "-W", "--keep-going", "-j", "2"]
        options += ["-c", str(HERE), "-d", f"{folder}/doctrees"]
        if build_main([*options, str(source), str(pages)]):
            raise SiteError("The site was not written: see the lines above.")
        (pages / ".buildinfo").unlink(missing_ok=True)
        (pages / ".nojekyll").touch()  # GitHub would leave _static out
        shutil.rmtree(target, ignore_errors=True)
        pages.rename(target)


def main(arguments: list[str] | None = None) -> int:
    """Write the site, and say where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.site",
        description="Write the course as web pages, which need no network.",
    )
    parser.add_argument("--to", type=Path, default=ROOT / "site", metavar="FOLDER")
    target = parser.parse_args(arguments).to.resolve()
    if missing := [one for one in NEEDED if importlib.util.find_spec(one) is None]:
        print(
            f"The site needs {', '.join(missing)}, not installed for "
            f"{sys.executable}: run `make site`, or "
            "`python -m pip install -e '.[slides,site]'`.",
            file=sys.stderr,
        )
        return 1
    start = time.monotonic()
    try:
        build(ROOT, target)
    except (OSError, LessonError, SiteError) as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    took = time.monotonic() - start
    print(f"{target / 'index.html'}  {size / 1e6:.1f} MB, {took:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
