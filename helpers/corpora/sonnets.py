"""The bundled sonnets, or a text of your own, for models that read characters."""

from pathlib import Path

from helpers.corpora.whole import whole

__all__ = ["SONNETS", "load_text", "split_text"]

SONNETS = Path(__file__).with_name("sonnets.txt")


def load_text(path: str | Path = SONNETS, at_least: int = 10_000) -> str:
    """Return a text to train on: the bundled sonnets, or a file of your own.

    Args:
        path: A text file in UTF-8. The sonnets have 14 lines each and one empty line
            between them.
        at_least: How many characters the text must have. A file that is too short
            would otherwise become an epoch without a single batch.

    Returns:
        The text, its lines ended by one newline character each.

    Raises:
        ValueError: The file is missing, is not text, or is too short.
    """
    text = _decode(whole(Path(path))).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise ValueError(f"{path} is empty: it needs {at_least:,} characters or more.")
    if len(text) < at_least:
        raise ValueError(
            f"{path} is too short: it has {len(text):,} characters and needs "
            f"{at_least:,} or more."
        )
    return text


def _decode(path: Path) -> str:
    """Return what a file holds, or raise one sentence that says what is wrong."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"There is no file {path}.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        if b"\0" not in content:
            return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise ValueError(f"{path} is not plain text: save it as UTF-8 text and try again.")


def split_text(text: str, every: int = 10) -> tuple[str, str]:
    """Split a text into one to train on and one to measure on.

    The last of `every` poems (blocks between empty lines) is held out, so that no poem
    is in both. A text with fewer than `every` blocks is cut once, before its last part.

    Args:
        text: What `load_text` returned.
        every: One part in how many is held out, 2 or more.

    Returns:
        The training text and the held-out text.

    Raises:
        ValueError: `every` is below 2, or the text has fewer characters than that.
    """
    if not 2 <= every <= len(text):
        raise ValueError(
            f"every={every} does not fit a text of {len(text):,} characters: "
            "it must be at least 2 and at most the length."
        )
    blocks = [block.strip("\n") for block in text.split("\n\n") if block.strip()]
    if len(blocks) < every:
        cut = len(text) - len(text) // every
        return text[:cut], text[cut:]
    held_out = blocks[every - 1 :: every]
    train = [b for i, b in enumerate(blocks) if i % every != every - 1]
    return "\n\n".join(train) + "\n", "\n\n".join(held_out) + "\n"
