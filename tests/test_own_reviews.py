"""A reader's own reviews: what is read, what is refused, and how they are parted."""

import pytest

from helpers.reading import own_reviews, reviews
from helpers.reading.own_reviews import ReviewsError
from tools import finetune

pytestmark = pytest.mark.lesson("09")
GOOD = [(n % 5, f'No. {n}, "lovely", and\nit was cold.') for n in range(103)]


def written(folder, rows=GOOD, top="label,text", encoding="utf-8"):
    """A CSV file with these rows, quoted as spreadsheets do."""
    lines = [top]
    for label, text in rows:
        quoted = text.replace('"', '""')
        lines.append(f'{label},"{quoted}"')
    file = folder / "my.csv"
    file.write_bytes("\r\n".join(lines).encode(encoding))
    return file


def test_own_reviews_take_the_place_of_the_bundled_ones(tmp_path):
    file = written(tmp_path, encoding="utf-8-sig")
    ours, theirs = reviews.load(1, file), reviews.load(1)
    assert ours["train"].features == theirs["train"].features
    texts = {name: list(part["text"]) for name, part in ours.items()}
    assert sorted(texts["train"] + texts["test"]) == sorted(t for _, t in GOOD)
    for part in ours.values():
        assert part["label"][:15] == [0, 1, 2, 3, 4] * 3
        for label, text in zip(part["label"], part["text"], strict=True):
            assert (label, text) in GOOD


def test_each_review_is_tested_in_one_fold(tmp_path):
    file = written(tmp_path)
    tested = [
        text for fold in range(5) for text in reviews.load(fold, file)["test"]["text"]
    ]
    assert sorted(tested) == sorted(text for _, text in GOOD)
    with pytest.raises(ValueError, match="fold=5 does not exist"):
        reviews.load(5, file)


def test_columns_may_stand_in_any_order_and_others_are_passed_over(tmp_path):
    file = tmp_path / "my.csv"
    lines = [f"Text {n},x,{n % 5}" for n in range(100)]
    file.write_text("\n".join(["text,shop,label", *lines]))
    assert own_reviews.read(file)[7] == {"label": 2, "text": "Text 7"}


EACH = "each row needs a label from 0 to 4 (the stars minus one) and a text."


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({7: (5, "fine")}, "line 16 has the label '5'"),
        ({0: ("good", "fine")}, "line 2 has the label 'good'"),
        ({0: ("", "fine")}, "line 2 has the label ''"),
        ({3: (2, "  ")}, "line 8 has no text"),
        (
            {
                1: ("3.0", "a"),
                2: (-1, "b"),
                3: (1, ""),
                4: ("x" * 99, "c"),
                5: (9, "d"),
            },
            "line 4 has the label '3.0', line 5 has the label '-1', line 6 has no "
            "text, and of the other rows 2 are wrong as well",
        ),
    ],
)
def test_wrong_rows_are_named_in_one_sentence(tmp_path, wrong, said):
    file = written(tmp_path, [wrong.get(n, row) for n, row in enumerate(GOOD)])
    with pytest.raises(ReviewsError) as caught:
        reviews.load(0, file)
    assert str(caught.value) == f"In {file}, {said}: {EACH}"
    assert caught.value._render_traceback_() == [str(caught.value)]


def test_a_row_that_lacks_a_column_is_named(tmp_path):
    file = written(tmp_path)
    file.write_text(file.read_text() + "\n3\n")
    with pytest.raises(ReviewsError, match="line 208 has no text: each row"):
        own_reviews.read(file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has the columns of an empty file: its first line has to name"),
        (b"label;text\n1;good\n", "has the columns label;text: its first line"),
        (b"stars,text\n1,good\n", "has the columns stars, text: its first line"),
        ("label,text\n1,café\n".encode("latin-1"), "is not in UTF-8: save it"),
        (b"label,text\n1," + b"x" * 200_000, "can't be read as CSV (field larger"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path, content, said):
    file = tmp_path / "my.csv"
    file.write_bytes(content)
    with pytest.raises(ReviewsError) as caught:
        own_reviews.read(file)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_is_missing_or_huge_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ReviewsError, match="can't be read .No such file"):
        own_reviews.read(tmp_path / "nowhere.csv")
    monkeypatch.setattr(own_reviews, "LARGEST", 100)
    with pytest.raises(ReviewsError, match="has 0 MB: give at most 0"):
        own_reviews.read(written(tmp_path))


def test_too_few_reviews_are_refused(tmp_path):
    few = "has 99 reviews: give at least 100, and 5 of each label."
    with pytest.raises(ReviewsError, match=few):
        own_reviews.read(written(tmp_path, GOOD[:99]))
    lopsided = [(0 if label == 3 and n > 20 else label, text)
                for n, (label, text) in enumerate(GOOD)]  # fmt: skip
    with pytest.raises(ReviewsError, match="and fewer than 5 with label 3: give"):
        own_reviews.read(written(tmp_path, lopsided))


def test_the_command_refuses_a_wrong_file_before_it_trains(tmp_path, capsys):
    file = written(tmp_path, [(7, "fine"), *GOOD])
    output = tmp_path / "result"
    assert finetune.main(["--csv", str(file), "--output", str(output)]) == 2
    said = capsys.readouterr()
    assert said.err == f"In {file}, line 2 has the label '7': {EACH}\n"
    assert said.out == "" and [path.name for path in tmp_path.iterdir()] == ["my.csv"]
