"""Independent solutions to 9.H."""


def wordpiece_by_recursion(word, vocab):
    def cut(rest, first):
        if not rest:
            return []
        for end in range(len(rest), 0, -1):
            piece = rest[:end] if first else "##" + rest[:end]
            if piece in vocab:
                after = cut(rest[end:], False)
                return None if after is None else [piece, *after]
        return None

    return cut(word, True) or ["[UNK]"]


def wordpiece_as_in_bert(word, vocab):
    is_bad, start, output = False, 0, []
    while start < len(word):
        end, current = len(word), None
        while start < end:
            piece = word[start:end]
            if start > 0:
                piece = "##" + piece
            if piece in vocab:
                current = piece
                break
            end -= 1
        if current is None:
            is_bad = True
            break
        output.append(current)
        start = end
    return ["[UNK]"] if is_bad else output


def wordpiece_by_library(word, vocab):
    from tokenizers.models import WordPiece

    ids = {piece: n for n, piece in enumerate(sorted({*vocab, "[UNK]"}))}
    model = WordPiece(vocab=ids, unk_token="[UNK]")
    return [token.value for token in model.tokenize(word)]


def wordpiece_by_max(word, vocab):
    pieces, rest = [], word
    while rest:
        mark = "##" * bool(pieces)
        fitting = [n for n in range(1, len(rest) + 1) if mark + rest[:n] in vocab]
        if not fitting:
            return ["[UNK]"]
        pieces.append(mark + rest[: max(fitting)])
        rest = rest[max(fitting) :]
    return tuple(pieces)


VARIANTS = {
    "9.H": (
        wordpiece_by_recursion,
        wordpiece_as_in_bert,
        wordpiece_by_library,
        wordpiece_by_max,
    ),
}
