"""English prose out of a docstring: sentences only, without code and markup."""

import inspect
import re
from collections.abc import Iterator

FUNCTION_WORDS = frozenset(
    "a about after all also an and any are as at be because been before but by can do "
    "does each for from has have how if in into is it its may more most must no not of "
    "on one only or other out over same should so some such than that the their them "
    "then there these they this those to two under up used was we were what when where "
    "which while will with without would you your".split()
)
KEPT_DIRECTIVES = "note warning important tip hint caution seealso admonition".split()
PLAIN_WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*\Z")
MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{6}")
CODE_CHARACTERS = re.compile(r"[^A-Za-z0-9_ .,;:!?'\"()%&/-]|\b_|_\b")
DOTTED_NAME = re.compile(r"\w\.[A-Za-z_]|\w\(|\(\)|//|--|\.\.|\s[,.;:]|::|/\w*/")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]?[A-Z])")
ABBREVIATION = re.compile(r"(?:\b(?:[A-Z]|cf|vs|etc|al|Fig|Eq|Eqs|Ref|no|pp|resp))\.\Z")
PARAMETER = re.compile(
    r"^(?::\w+(?: +[^:]*)?:|[*`]*\w[\w.]*[*`]*(?: *\([^()]*(?:\([^()]*\)[^()]*)*\))? *:"
    r"|[*`]*\w+[*`]* *(?:\([^()]*\))? +--|@\w+ *\w*:) +"
)
BULLET = re.compile(r"^(?:[-*+•]|\(?\d+[.)]|\(?[a-z]\)|#\.) +")
MARKUP = (
    (re.compile(r"\[([^\]]+)\]\([^)\s]*\)"), r"\1"),  # [text](link)
    (re.compile(r":[\w:+.-]+:`[~!]?([^`<]*?)(?: *<[^`]*>)?`"), r"\1"),  # :role:`text`
    (re.compile(r"`([^`<]+?) *<[^`>]*>`_*"), r"\1"),  # `text <link>`_
    (re.compile(r" ?\[[#\w]+\]_"), ""),  # [1]_
    (re.compile(r"(?<![\w`])`{1,2}([^`]+)`{1,2}_{0,2}"), r"\1"),  # ``code``, `code`
    (re.compile(r"(?<![\w*])\*{1,2}([A-Za-z][^*]*?)\*{1,2}(?![\w*])"), r"\1"),  # *word*
    (re.compile(r"\be\.g\.,?"), "for example,"),
    (re.compile(r"\bi\.e\.,?"), "that is,"),
    (re.compile(r"[‘’]"), "'"),
    (re.compile(r"[“”]"), '"'),
    (re.compile(r"[–—]| -- "), " - "),
    (re.compile(r"\s+"), " "),
)


def strip_blocks(docstring: str) -> list[str]:
    """Lines of a docstring without code blocks, directives, doctests and rules."""
    lines: list[str] = []
    skip_deeper_than: int | None = None  # indentation of a block being dropped
    fenced = doctest = False
    for line in inspect.cleandoc(docstring).expandtabs().splitlines():
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if text.startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if skip_deeper_than is not None and text and indent <= skip_deeper_than:
            skip_deeper_than = None
        doctest = bool(text) and (doctest or text.startswith((">>>", "In [", "$ ")))
        if fenced or doctest or (skip_deeper_than is not None and text):
            continue
        if match := re.match(r"\.\. *([\w-]+)::", text):
            if match[1] not in KEPT_DIRECTIVES:
                skip_deeper_than = indent
            line = ""
        elif text.startswith(".. "):
            line, skip_deeper_than = "", indent
        elif text.endswith("::"):
            line, skip_deeper_than = line.rstrip()[:-1], indent
        elif re.fullmatch(r"[-=~^+|*#\"_:. ]{3,}", text):
            lines[-1:] = [""]  # an underlined heading, or a rule of a table
            line = ""
        lines.append(line)
    return lines


def paragraphs(lines: list[str]) -> Iterator[str]:
    """Runs of lines at one indentation, without bullets and parameter names."""
    block: list[str] = []
    last_indent = 0
    for line in [*lines, ""]:
        text, indent = line.strip(), len(line) - len(line.lstrip())
        bare = PARAMETER.sub("", BULLET.sub("", text))
        if block and (not text or bare != text or indent != last_indent):
            if not (text and bare == text and len(block) == 1 and indent > last_indent):
                yield " ".join(block)
                block = []
            elif not re.search(r"\w{3,} \w+ \w+", block[0]):
                block = []  # a term of a definition list: its text starts here
        if text:
            block.append(bare)
        last_indent = indent


def strip_markup(text: str) -> str:
    """Plain text of one paragraph of reStructuredText or Markdown."""
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()


def sentences(text: str) -> list[str]:
    """Split at full stops before a capital, but not after an abbreviation."""
    pieces: list[str] = []
    for piece in SENTENCE_END.split(text):
        if pieces and ABBREVIATION.search(pieces[-1]):
            pieces[-1] += " " + piece
        else:
            pieces.append(piece)
    return pieces


def is_english(sentence: str) -> bool:
    """True for an ordinary English sentence: words, few symbols, function words."""
    if not re.match(r"[A-Z]", sentence) or sentence[-1] not in ".!?":
        return False
    if CODE_CHARACTERS.search(sentence) or DOTTED_NAME.search(sentence):
        return False
    words = [word.strip(".,;:!?'\"()%") for word in sentence.split()]
    if not 5 <= len(words) <= 60 or sentence.count("(") != sentence.count(")"):
        return False
    plain = sum(bool(PLAIN_WORD.match(w)) and not MIXED_CASE.search(w) for w in words)
    function = sum(word.lower() in FUNCTION_WORDS for word in words)
    return plain >= 0.9 * len(words) and function >= 0.25 * len(words)


def prose(docstring: str) -> Iterator[str]:
    """Paragraphs of English prose: two sentences or more, or one of 10 words."""
    for paragraph in paragraphs(strip_blocks(docstring)):
        run: list[str] = []
        for sentence in [*sentences(strip_markup(paragraph)), ""]:
            if sentence and is_english(sentence):
                run.append(sentence)
                continue
            if len(run) > 1 or len(" ".join(run).split()) >= 10:
                yield " ".join(run)
            run = []
