"""Independent solutions to 11.E."""

from helpers.exercises.generation.variants.shared import (
    ngrams_by_comparison,
    ngrams_by_dictionary,
    ngrams_by_trying,
)

VARIANTS = {
    "11.E": (ngrams_by_dictionary, ngrams_by_trying, ngrams_by_comparison),
}
