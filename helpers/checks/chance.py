"""Random answers are judged by how often something happens."""


def near(count: int, total: int, rate: float, sigmas: float = 5.0) -> bool:
    """Whether something happened as often as it should.

    Args:
        count: how often it happened
        total: how often it could have happened
        rate: its probability
        sigmas: how many standard errors are allowed either way, and one count more
    """
    return abs(count - rate * total) <= sigmas * (rate * (1 - rate) * total) ** 0.5 + 1
