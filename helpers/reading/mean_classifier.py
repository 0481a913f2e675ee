"""A classifier for sequences whose head reads the mean of all real tokens."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers import BertForSequenceClassification
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
