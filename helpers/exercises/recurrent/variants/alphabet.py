"""Independent solutions to 7.Q."""

import numpy as np
import torch


def encode_by_dict(text, characters):
    ids = {one: place for place, one in enumerate(characters)}
    return torch.tensor([ids[one] for one in text])


def encode_by_numpy(text, characters):
    return torch.from_numpy(np.array(list(map(characters.find, text))))


def encode_in_a_loop(text, characters):
    ids = torch.zeros(len(text), dtype=torch.long)
    for place, one in enumerate(text):
        ids[place] = characters.index(one)
    return ids


def decode_by_adding(ids, characters):
    text = ""
    for number in ids:
        text += characters[number]
    return text


def decode_by_map(ids, characters):
    return "".join(map(characters.__getitem__, ids.tolist()))


def decode_by_dict(ids, characters):
    known = dict(enumerate(characters))
    return "".join([known[number.item()] for number in ids])


VARIANTS = {
    "7.Q": (
        (encode_by_dict, decode_by_adding),
        (encode_by_numpy, decode_by_map),
        (encode_in_a_loop, decode_by_dict),
    ),
}
