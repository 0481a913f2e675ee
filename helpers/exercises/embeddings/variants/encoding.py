"""Independent solutions to 1.F."""

from helpers.exercises.embeddings.variants.shared import (
    _angles_in_float64,
    encoding_by_logarithms,
    encoding_by_loops,
    encoding_stacked,
)


def encoding_in_float64(length, d_model):
    return _angles_in_float64(length, d_model).sin().float()


VARIANTS = {
    "1.F": (
        encoding_by_logarithms,
        encoding_by_loops,
        encoding_in_float64,
        encoding_stacked,
    ),
}
