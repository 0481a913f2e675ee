"""Small reward models: how many stars is a text worth, does a story end well?

Bags of words of lesson 09, trained on bundled texts in about a second. A fine-tuned
encoder reads better; these cost next to nothing, so that a hundred texts can be judged
while you wait.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.corpora.stories import HeldOutStory, load_stories
from helpers.reading.baselines import BAGS

ENDING = 50  # words at the end of a story that tell how it ends
LABELLED = 300  # bundled stories that the reader of endings learns from


class StarReader:
    """Expected stars of a text, from 1 to 5."""

    def __init__(self) -> None:
        """Learn from the bundled reviews of the training split."""
        from helpers.corpora.reviews import load_reviews

        self.reviews: Any = load_reviews()
        rows = self.reviews["train"][:]
        self.model = BAGS["TF-IDF of words and pairs"]()
        self.model.fit(rows["text"], rows["label"])

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """(N,): the mean of the stars, weighted by their probabilities."""
        shares = torch.from_numpy(self.model.predict_proba(list(texts)))  # (N, 5)
        return shares @ torch.arange(1.0, 6.0, dtype=shares.dtype)

    def accuracy(self) -> float:
        """The share of held-out reviews that get exactly their stars."""
        rows = self.reviews["test"][:]
        return float(self.model.score(rows["text"], rows["label"]))


class EndingReader:
    """How likely a story is to end well, by the words and pairs of words at its end."""

    def __init__(
        self,
        stories: Sequence[HeldOutStory] | None = None,
        bag: str = "TF-IDF of words and pairs",
    ) -> None:
        """Learn from stories whose endings are known.

        Args:
            stories: by default the first `LABELLED` bundled ones; the others are then
                in `held_out`
            bag: a name in `helpers.reading.baselines.BAGS`
        """
        bundled = load_stories() if stories is None else []
        learned = bundled[:LABELLED] if stories is None else stories
        self.held_out = bundled[LABELLED:]
        self.model: Any = BAGS[bag]()
        labels = [story.happy for story in learned]
        self.model.fit(_ends([story.text for story in learned]), labels)

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """(N,): the probability of a happy end, by the last `ENDING` words."""
        return torch.from_numpy(self.model.predict_proba(_ends(texts))[:, 1])

    def accuracy(self, stories: Sequence[HeldOutStory]) -> float:
        """The share of stories whose ending it tells."""
        read = self([story.text for story in stories]) > 0.5
        return (read == torch.tensor([s.happy for s in stories])).double().mean().item()

    def favourites(self, count: int) -> list[str]:
        """The single words that speak most for a happy ending, strongest first."""
        vectorizer, classifier = (step for _, step in self.model.steps)
        names = vectorizer.get_feature_names_out()
        order = classifier.coef_[0].argsort()[::-1]
        return [str(names[n]) for n in order if " " not in names[n]][:count]


def _ends(texts: Sequence[str]) -> list[str]:
    """The last words of each text."""
    return [" ".join(text.split()[-ENDING:]) for text in texts]
