"""A reader's own reviews: a CSV file with the columns `label` and `text`."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

from helpers.corpora.reviews import FOLDS, STARS

COLUMNS = ("label", "text")
FEWEST = 100  # reviews, so that four fifths of them are a few batches
PER_LABEL = FOLDS  # so that each label is in the test split
NAMED = 3  # wrong rows that a message names
LARGEST = 20_000_000  # bytes
ASKED = f"a label from 0 to {len(STARS) - 1} (the stars minus one) and a text"


class ReviewsError(OSError):
    """Reviews that are out of reach or wrong; shown as one sentence."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines() or [type(self).__name__]


def read(file: str | Path) -> list[dict[str, Any]]:
    """The rows of a file, each with its label and its text.

    Args:
        file: CSV in UTF-8; its first line names the columns, and columns of other
            names are passed over

    Raises:
        ReviewsError: It is missing, too large, no such CSV, or some of its rows have
            no label or no text; the sentence names the first of them.
    """
    file = Path(file)
    try:
        if (size := file.stat().st_size) > LARGEST:
            raise ReviewsError(
                f"{file} has {size / 1e6:.0f} MB: give at most {LARGEST / 1e6:.0f}."
            )
        with open(file, encoding="utf-8-sig", newline="") as lines:
            return _rows(csv.DictReader(lines), file)
    except UnicodeDecodeError:
        raise ReviewsError(f"{file} is not in UTF-8: save it as CSV UTF-8.") from None
    except csv.Error as error:
        raise ReviewsError(f"{file} can't be read as CSV ({error}).") from None
    except ReviewsError:
        raise
    except OSError as error:
        raise ReviewsError(f"{file} can't be read ({error.strerror}).") from None


def _rows(table: csv.DictReader, file: Path) -> list[dict[str, Any]]:
    found = [name or "" for name in table.fieldnames or ()]
    if not set(COLUMNS) <= set(found):
        raise ReviewsError(
            f"{file} has the columns {', '.join(found) or 'of an empty file'}: its "
            "first line has to name the columns label and text, with a comma between."
        )
    rows, wrong = [], []
    for row in table:
        label, text = ((row[name] or "").strip() for name in COLUMNS)
        if label not in set(map(str, range(len(STARS)))):
            wrong.append(f"line {table.line_num} has the label {label[:20]!r}")
        elif not text:
            wrong.append(f"line {table.line_num} has no text")
        else:
            rows.append({"label": int(label), "text": text})
    if wrong:
        said = ", ".join(wrong[:NAMED])
        if len(wrong) > NAMED:
            said += f", and of the other rows {len(wrong) - NAMED} are wrong as well"
        raise ReviewsError(f"In {file}, {said}: each row needs {ASKED}.")
    counts = Counter(row["label"] for row in rows)
    few = [str(n) for n in range(len(STARS)) if counts[n] < PER_LABEL]
    if len(rows) < FEWEST or few:
        lack = (
            f", and fewer than {PER_LABEL} with label {', '.join(few)}" if few else ""
        )
        raise ReviewsError(
            f"{file} has {len(rows)} reviews{lack}: give at least {FEWEST}, and "
            f"{PER_LABEL} of each label."
        )
    return rows


def split(rows: list[dict[str, Any]], fold: int) -> Any:
    """Training and test split; in each, labels come in turn as far as they go.

    Args:
        rows: as `read` returns them
        fold: which fifth of each label is the test split

    Returns:
        A `datasets.DatasetDict` with the columns of the bundled reviews.
    """
    from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

    seen: Counter = Counter()
    parts: dict[str, list] = {"train": [], "test": []}
    for row in rows:
        turn = seen[row["label"]]
        seen[row["label"]] += 1
        parts["test" if turn % FOLDS == fold else "train"].append((turn, row))
    features = Features({"label": ClassLabel(names=STARS), "text": Value("string")})
    sets = {}
    for name, some in parts.items():
        some.sort(key=lambda pair: (pair[0], pair[1]["label"]))
        columns = {key: [row[key] for _, row in some] for key in COLUMNS}
        sets[name] = Dataset.from_dict(columns, features=features)
    return DatasetDict(sets)
