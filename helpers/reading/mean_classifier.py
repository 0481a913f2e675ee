"""A classifier for sequences whose head reads the mean of all real tokens."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertForSequenceClassification
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import SequenceClassifierOutput

from helpers.text.sentence_search import mean_of_tokens


class MeanClassifier(BertForSequenceClassification):
    """BERT for sequence classification, with another look at the encoder's output.

    The library's head reads the first token through a layer called pooler, which this
    model does without. Whoever trained the bundled encoder had it compare means of
    tokens; so the mean is where it keeps what it knows about a text.

    Source: Reimers and Gurevych 2019 (arXiv 1908.10084), for the mean.
    """

    def __init__(self, config: Any) -> None:
        """Create encoder, dropout and classifier."""
        super().__init__(config)
        self.bert.pooler = None

    def below(self, input_ids: Tensor, attention_mask: Tensor, layers: int) -> Tensor:
        """What the first so many layers make of ids (B, T): (B, T, D)."""
        states = self.bert.embeddings(input_ids=input_ids)
        mask = create_bidirectional_mask(
            config=self.config, inputs_embeds=states, attention_mask=attention_mask
        )
        for layer in self.bert.encoder.layer[:layers]:
            states = layer(states, mask)
        return states

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **more: Any,
    ) -> SequenceClassifierOutput:
        """(B, T) -> logits (B, labels), and the loss where labels (B,) are given."""
        if attention_mask is None:
            attention_mask = input_ids.new_ones(input_ids.shape)
        hidden = self.bert(input_ids, attention_mask, **more)[0]  # (B, T, D)
        pooled = mean_of_tokens(hidden, attention_mask)  # (B, D)
        logits = self.classifier(self.dropout(pooled))
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class UpperLayers(nn.Module):
    """The layers of a classifier that learn, on top of states that were kept.

    The weights are the classifier's own: to train these is to train it.

    Args:
        classifier: the whole model
        frozen: how many lower layers were run once and for all
    """

    def __init__(self, classifier: MeanClassifier, frozen: int) -> None:
        """Take the layers above, and the head."""
        super().__init__()
        self.config = classifier.config
        self.layers = classifier.bert.encoder.layer[frozen:]
        self.dropout, self.classifier = classifier.dropout, classifier.classifier

    def vectors(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T, D) -> one vector per text, (B, D)."""
        mask = create_bidirectional_mask(
            config=self.config, inputs_embeds=states, attention_mask=attention_mask
        )
        for layer in self.layers:
            states = layer(states, mask)
        return mean_of_tokens(states, attention_mask)

    def forward(
        self, states: Tensor, attention_mask: Tensor, labels: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """(B, T, D) -> logits (B, labels), and the loss where labels (B,) are given."""
        logits = self.classifier(self.dropout(self.vectors(states, attention_mask)))
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)
