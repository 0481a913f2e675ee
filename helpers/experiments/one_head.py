"""Look inside one attention head of the bundled pretrained encoder."""

from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.models.multi_head import MultiHeadAttention


@dataclass(frozen=True)
class Head:
    """What goes into one head for one sentence, and what the library computes."""

    tokens: list[str]  # T words and pieces of words, with [CLS] and [SEP]
    vectors: Tensor  # (T, D), what comes into the layer
    query: Tensor  # (T, K)
    key: Tensor  # (T, K)
    value: Tensor  # (T, K)
    weights: Tensor  # (T, T), by `transformers`

    def asked_by(self, word: str) -> Tensor:
        """The weights that one token gives to all: (T,).

        Args:
            word: the token that asks; the first one if there are several

        Raises:
            ValueError: The text has no such token.
        """
        if word not in self.tokens:
            raise ValueError(
                f"“{word}” is not one of the tokens of this text. They are: "
                f"{' '.join(self.tokens)}"
            )
        return self.weights[self.tokens.index(word)]


def one_head(text: str, layer: int, head: int) -> Head:
    """Run the encoder on a sentence and keep what one head saw.

    Args:
        text: the sentence
        layer: 0 to 5, counted from the input
        head: 0 to 11
    """
    from helpers.pretrained import load_encoder, load_tokenizer

    tokenizer = load_tokenizer("encoder")
    model = load_encoder(attn_implementation="eager")
    attention = model.encoder.layer[layer].attention.self
    batch = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        outputs = model(**batch, output_hidden_states=True, output_attentions=True)
        came_in = outputs.hidden_states[layer]  # (B=1, T, D)
        parts = (attention.query, attention.key, attention.value)
        query, key, value = (
            part(came_in)[0].view(came_in.shape[1], -1, attention.attention_head_size)
            for part in parts
        )
    return Head(
        tokenizer.convert_ids_to_tokens(batch["input_ids"][0]),
        came_in[0],
        query[:, head],
        key[:, head],
        value[:, head],
        outputs.attentions[layer][0, head],
    )


def attention_layer(layer: int) -> MultiHeadAttention:
    """All heads of one layer of the encoder, copied into the course's own class.

    Args:
        layer: 0 to 5, counted from the input
    """
    from helpers.pretrained import load_encoder

    theirs = load_encoder().encoder.layer[layer].attention
    parts = (theirs.self.query, theirs.self.key, theirs.self.value, theirs.output.dense)
    heads = theirs.self.num_attention_heads
    own = MultiHeadAttention(parts[0].in_features, heads).copy_layers(*parts)
    return own.eval().requires_grad_(False)
