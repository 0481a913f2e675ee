"""Independent solutions to 9.K."""

import random

import torch


def pairs_by_numbers(documents):
    found = []
    for n in range(len(documents)):
        for k in range(len(documents[n]) - 1):
            real = random.randint(0, 1) == 1
            if real:
                second = documents[n][k + 1]
            else:
                other = n
                while other == n:
                    other = random.randrange(len(documents))
                second = documents[other][random.randrange(len(documents[other]))]
            found.append((documents[n][k], second, real))
    return found


def pairs_by_torch(documents):
    owners = [(n, text) for n, some in enumerate(documents) for text in some]
    found = []
    for n, sentences in enumerate(documents):
        strangers = [text for owner, text in owners if owner != n]
        for first, following in zip(sentences, sentences[1:], strict=False):
            if torch.rand(()) < 0.5:
                found.append((first, following, True))
            else:
                place = int(torch.randint(len(strangers), ()))
                found.append((first, strangers[place], False))
    return found


def pairs_by_shift(documents):
    def stranger(number):
        other = (number + random.randint(1, len(documents) - 1)) % len(documents)
        return random.choice(documents[other])

    return [
        [first, *((second, True) if random.random() > 0.5 else (stranger(n), False))]
        for n, sentences in enumerate(documents)
        for first, second in zip(sentences[:-1], sentences[1:], strict=True)
    ]


VARIANTS = {
    "9.K": (pairs_by_numbers, pairs_by_torch, pairs_by_shift),
}
