"""Figures of lesson 11: from scores to a token, top-p, a beam, surprise, reward."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, SKY, canvas
from helpers.figures.play import Choice, Labels, Scene, Slider
from helpers.generation.sampling import Settings, filtered


def readable(token: str) -> str:
    """A token as it can be printed: its space and its line break become visible."""
    token = token.replace(" ", "␣").replace("\n", "⏎").replace("$", r"\$")
    return printable(token) or "∅"


def printable(token: str) -> str:
    r"""A token whose control characters are spelt: \x1b, which no font can draw."""
    spelt = (one if one.isprintable() else repr(one)[1:-1] for one in token)
    return "".join(spelt)


def pipeline(tokens: Sequence[str], logits: Tensor, how: Settings) -> Figure:
    """Draw the way from a model's scores to the token that is written.

    Args:
        tokens: N texts, the most likely first
        logits: (N,), their scores, none below 0
        how: the temperature, top-k and top-p that are drawn
    """
    figure, (axes,) = canvas(10.5, 3.7)
    figure.set_layout_engine("none")
    axes.set_position((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=(-0.1, 10.45), ylim=(-1.65, 2.1))
    axes.axis("off")
    stages = _stages(logits, how)
    names = ["logits", f"÷ temperature {how.temperature:g}", f"top-k, k = {how.top_k}",
             f"top-p, p = {how.top_p:g}", "softmax"]  # fmt: skip
    for number, (name, heights) in enumerate(zip(names, stages, strict=True)):
        left = 1.55 + 1.6 * number
        last = number == len(names) - 1
        most = heights.nan_to_num(0.0).max() if last else logits.max()
        _small_bars(axes, left, heights / most, GREEN if last else BLUE)
        axes.text(left + 0.5, 1.82, name, ha="center", fontsize=10, weight="bold")
        shape = "probabilities (B, V)" if last else "(B, V)"
        axes.text(left + 0.5, 1.55, shape, ha="center", fontsize=8.5, color=GREY)
        if number:
            _point(axes, (left - 0.45, 0.6), (left - 0.12, 0.6))
    for place, token in enumerate(tokens):
        axes.text(1.68 + 0.2 * place, -0.12, readable(token), rotation=60, fontsize=8,
                  ha="center", va="top", family="monospace")  # fmt: skip
    _block(axes, (0.62, 0.6), "GPT-2")
    _point(axes, (1.1, 0.6), (1.43, 0.6))
    _point(axes, (9.1, 0.6), (9.43, 0.6))
    _block(axes, (9.85, 0.6), "draw\none")
    _point(axes, (9.85, 0.2), (9.85, -1.02))
    _block(axes, (9.85, -1.3), "token")
    axes.text(9.6, -0.45, "(B, 1)", fontsize=8.5, color=GREY, ha="center")
    _point(axes, (9.4, -1.3), (1.15, -1.3))
    axes.text(5.6, -1.22, "put behind the text, and ask again", ha="center",
              fontsize=9)  # fmt: skip
    _block(axes, (0.62, -1.3), "text\nso far")
    _point(axes, (0.62, -0.92), (0.62, 0.2))
    axes.text(0.68, -0.4, "(B, T)", fontsize=8.5, color=GREY)
    return figure


def _stages(logits: Tensor, how: Settings) -> list[Tensor]:
    """What each step makes of scores (N,): five rows, blocked tokens are NaN."""
    none = torch.empty(1, 0, dtype=torch.long)
    warm = Settings(how.temperature)
    steps = (warm, Settings(how.temperature, how.top_k),
             Settings(how.temperature, how.top_k, how.top_p))  # fmt: skip
    rows = [filtered(logits[None], none, step)[0] for step in steps]
    scores = [logits, *rows]
    shown = [row.masked_fill(row.isinf(), torch.nan) for row in scores]
    shares = rows[-1].softmax(-1)
    return [*shown, shares.masked_fill(rows[-1].isinf(), torch.nan)]


def _small_bars(axes: Axes, left: float, heights: Tensor, colour: str) -> None:
    """Draw bars as high as 1.4, a cross where a token is blocked."""
    for place, height in enumerate((1.4 * heights).tolist()):
        at = left + 0.11 + 0.2 * place
        if height != height:  # NaN
            axes.text(at, 0.06, "×", ha="center", color=RED, fontsize=11)
        else:
            axes.bar(at, height, 0.15, color=colour)
    axes.plot([left, left + 1.12], [0, 0], color=GREY, linewidth=0.8)


def _point(axes: Axes, start: tuple, end: tuple) -> None:
    style = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=style)


def _block(axes: Axes, place: tuple[float, float], text: str) -> None:
    box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": BLUE}
    axes.text(*place, text, ha="center", va="center", fontsize=10, bbox=box)


def next_tokens(tokens: Sequence[str], shares: Tensor, prompt: str) -> Figure:
    """Draw the most likely next tokens, the best on top.

    Args:
        tokens: N texts, the most likely first
        shares: (N,), their probabilities
        prompt: what they follow
    """
    figure, (axes,) = canvas(7, 0.26 * len(tokens) + 1)
    places = np.arange(len(tokens))
    axes.barh(places, shares.numpy(), color=BLUE)
    axes.set_yticks(places, [readable(token) for token in tokens], family="monospace")
    axes.invert_yaxis()
    axes.set(xlabel="probability", title=f"after “{prompt}”")
    for place, share in zip(places, shares.tolist(), strict=True):
        axes.text(share, place, f" {share:.3f}", va="center", fontsize=8)
    axes.margins(x=0.1)
    _open(axes)
    return figure


def temperatures(
    by_heat: Mapping[float, Tensor], ids: Tensor, tokens: Sequence[str]
) -> Figure:
    """Draw the same tokens at several temperatures.

    Args:
        by_heat: temperature -> probabilities (V)
        ids: (N,), which tokens
        tokens: N texts
    """
    figure, panels = canvas(2.4 * len(by_heat) + 0.6, 3.2, columns=len(by_heat))
    places = np.arange(len(tokens))
    for axes, (heat, shares) in zip(panels, by_heat.items(), strict=True):
        axes.barh(places, shares[ids].numpy(), color=BLUE)
        axes.set_yticks(places, [readable(one) for one in tokens], family="monospace")
        rest = 1 - shares[ids].sum().item()
        axes.set(title=f"temperature {heat}", xlim=(0, 1), xlabel="probability")
        axes.set_xticks([0, 0.5, 1])
        axes.text(0.97, 0.06, f"all others: {rest:.2f}", transform=axes.transAxes,
                  ha="right", fontsize=9)  # fmt: skip
        axes.invert_yaxis()
        _open(axes)
    for axes in panels[1:]:
        axes.set_yticklabels([])
    return figure


def nuclei(rows: Mapping[str, Tensor], p: float, k: int) -> Figure:
    """Draw sorted probabilities, and how far top-p and top-k reach.

    Args:
        rows: prompt -> probabilities (V)
        p: of top-p
        k: of top-k
    """
    figure, panels = canvas(4.2 * len(rows), 3.2, columns=len(rows))
    for axes, (prompt, shares) in zip(panels, rows.items(), strict=True):
        falling = shares.sort(descending=True).values.numpy()
        size = int((falling.cumsum() < p).sum()) + 1
        edges = np.arange(min(len(falling), 1000) + 1) + 0.5
        label = f"p = {p}: {size} token{'s' * (size > 1)}"
        shown, floor = falling[:1000], {"baseline": 1e-6}
        axes.stairs(shown[:size], edges[: size + 1], fill=True, color=SKY,
                    label=label, **floor)  # fmt: skip
        axes.stairs(shown, edges, color=BLUE, **floor)
        axes.axvline(k, color=ORANGE, linestyle="--", label=f"k = {k}")
        axes.set(xscale="log", yscale="log", ylim=(1e-6, 1.5), xlim=(0.5, 1000))
        axes.set(title=f"after “{prompt}”", xlabel="rank", ylabel="probability")
        axes.legend(loc="lower left", fontsize=9)
    for axes in panels[1:]:
        axes.set(ylabel="")
    return figure


def choosing(
    rows: Mapping[str, Tensor], pieces: Callable[[Tensor], Sequence[str]]
) -> Scene:
    """Let temperature, top-k and top-p move over what a model says: what is drawn?

    Args:
        rows: beginning of a text -> scores (B=1, V) of the next token
        pieces: ids (N,) -> N texts
    """
    shown, throws = 14, 10
    figure, (axes,) = canvas(9, 4.4)
    figure.set_layout_engine("none")
    axes.set_position((0.17, 0.12, 0.53, 0.77))
    places = np.arange(shown + 1)
    says = axes.barh(places, places, color="none", edgecolor=GREY, height=0.8)
    drawn = axes.barh(places, places, color=BLUE, height=0.5)
    drawn[-1].set_color(ORANGE)
    axes.set(xlim=(0, 1.12), ylim=(shown + 0.7, -0.7), yticks=[], xlabel="probability")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.plot([], [], color=GREY, label="what the model says")
    axes.plot([], [], color=BLUE, linewidth=5, label="what is drawn from")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.1))
    _open(axes)
    axes.text(1.24, -0.35, "ten draws", va="center")
    names = Labels(axes, 10, "right", monospace=True)
    numbers, title = Labels(axes, 8, "left"), Labels(axes, 11, "left")
    written = Labels(axes, 10, "left", monospace=True)
    random = torch.rand(throws, generator=torch.Generator().manual_seed(0))

    def move(beginning: str, temperature: float, top_k: str, top_p: float) -> str:
        logits = rows[beginning]
        how = Settings(temperature, None if top_k == "all" else int(top_k), top_p)
        kept = filtered(logits, torch.empty(1, 0, dtype=torch.long), how)[0]
        likely = logits[0].topk(shown).indices
        tokens = [readable(one)[:12] for one in pieces(likely)]
        heights = [_with_rest(one.softmax(-1), likely) for one in (logits[0], kept)]
        for bars, some in zip((says, drawn), heights, strict=True):
            for bar, width in zip(bars, some, strict=True):
                bar.set_width(width)
        left = int(kept.isfinite().sum())
        names.write([*tokens, "all others"], [(-0.015, at) for at in places])
        ends = np.maximum(*heights)
        numbers.write(
            [f"{share:.2f}" if share else "cut" for share in heights[1]],
            [(end + 0.012, at) for at, end in zip(places, ends, strict=True)],
        )
        title.write([f"after “{beginning}”: {left:,} of {len(kept):,} tokens left"],
                    [(-0.3, -1.2)])  # fmt: skip
        draws = _drawn(kept.softmax(-1), random)
        written.write(
            [readable(one)[:12] for one in pieces(draws)],
            [(1.24, at + 0.65) for at in range(throws)],
        )
        best = ", ".join(
            f"{token} {share:.2f}"
            for token, share in zip(tokens[:3], heights[1][:3], strict=True)
        )
        return (
            f"The next token after “{beginning}” at temperature {temperature}, top-k "
            f"{top_k}, top-p {top_p}: {left} of {len(kept)} tokens left; {best}; "
            f"all beyond the {shown} most likely {heights[1][-1]:.2f}. "
            f"Ten draws: {', '.join(map(readable, pieces(draws)))}."
        )

    heat = (0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
    few = ("1", "2", "3", "5", "10", "20", "50", "100", "500", "all")
    part = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
    controls = {
        "beginning": Choice("the text so far", tuple(rows), next(iter(rows))),
        "temperature": Slider("temperature", heat, 1.0),
        "top_k": Slider("top-k", few, "all"),
        "top_p": Slider("top-p", part, 0.9),
    }
    moving = [*says, *drawn, names, numbers, title, written]
    return Scene(figure, controls, move, moving)


def _with_rest(shares: Tensor, some: Tensor) -> np.ndarray:
    """Probabilities (V) of some tokens (N), and the sum of all others: (N + 1,)."""
    rest = shares.double().index_fill(0, some, 0).sum()
    return torch.cat([shares[some].double(), rest[None]]).numpy()


def _drawn(shares: Tensor, random: Tensor) -> Tensor:
    """Draw from probabilities (V), a token for each random number (N) in [0, 1).

    The tokens are sorted by probability first, so that a slider that is moved a little
    changes few of the draws.
    """
    falling, order = shares.double().sort(descending=True)
    spots = torch.searchsorted(falling.cumsum(0), random.double())
    return order[spots.clamp(max=int((falling > 0).sum()) - 1)]


def beam_tree(
    first: Tensor, second: Tensor, tokens: Sequence[str], width: int
) -> Figure:
    """Draw two steps of a beam search: kept texts in colour, dropped ones grey.

    Args:
        first: (V,), probabilities of the first token
        second: (V, V), of the second one after each first
        tokens: the text of each token
        width: of the beam
    """
    figure, (axes,) = canvas(8, 3.6)
    size = len(first)
    both = first[:, None] * second
    kept = set(first.topk(width).indices.tolist())
    candidates = {(a, b): both[a, b].item() for a in kept for b in range(size)}
    last = sorted(candidates, key=candidates.get, reverse=True)[:width]
    greedy = int(first.argmax()), int(second[first.argmax()].argmax())
    middle = (size * size - 1) / 2
    axes.text(-0.04, middle, "start", ha="right", va="center")
    second_from = 1.11 + 0.0405 * (max(map(len, tokens)) + 5)  # behind the first labels
    for a in range(size):
        height = size * a + (size - 1) / 2
        colour = BLUE if a in kept else GREY
        label = f"{printable(tokens[a])}  {first[a]:.2f}"
        _branch(axes, (0, middle), (1, height), label, colour, greedy[0] == a)
        for b in range(size if a in kept else 0):
            colour = BLUE if (a, b) in last else GREY
            words = printable(tokens[a] + tokens[b])
            label = f"{words}  {both[a, b]:.2f}"
            start = second_from, height
            stop = second_from + 1, size * a + b
            _branch(axes, start, stop, label, colour, greedy == (a, b))
    axes.plot([], [], color=BLUE, label="kept by the beam")
    axes.plot([], [], color=GREY, label="dropped")
    axes.plot([], [], color=RED, linestyle=":", linewidth=3, label="greedy's way")
    axes.legend(loc="lower right", frameon=False)
    axes.set(xlim=(-0.3, 3.6), ylim=(size * size - 0.3, -0.7))
    axes.axis("off")
    return figure


def _branch(
    axes: Axes, start: tuple, stop: tuple, label: str, colour: str, greedy: bool
) -> None:
    """Draw an edge of the tree and what stands at its end."""
    ends = [start[0], stop[0]], [start[1], stop[1]]
    axes.plot(*ends, color=colour, linewidth=1.5)
    if greedy:
        axes.plot(*ends, color=RED, linestyle=":", linewidth=3)
    weight = "bold" if colour == BLUE else "normal"
    axes.text(stop[0] + 0.03, stop[1], label, va="center", color=colour,
              weight=weight, family="monospace")  # fmt: skip


def surprise_bars(texts: Mapping[str, tuple[Sequence[str], Tensor]]) -> Figure:
    """Draw texts as rows of bars: -log p of each token.

    Args:
        texts: title -> (N tokens, (N,) surprises)
    """
    figure, panels = canvas(9, 1.75 * len(texts), rows=len(texts))
    highest = max(heights.max().item() for _, heights in texts.values())
    most = max(len(tokens) for tokens, _ in texts.values())
    for axes, (title, (tokens, heights)) in zip(panels, texts.items(), strict=True):
        places = np.arange(len(tokens))
        axes.bar(places, heights.numpy(), color=BLUE)
        names = [_short(token) for token in tokens]
        axes.set_xticks(places, names, rotation=30, ha="right", fontsize=8)
        axes.set(ylim=(0, 1.05 * highest), xlim=(-0.6, most - 0.4), ylabel="surprise")
        axes.set_title(title, fontsize=10, loc="left")
        _open(axes)
    return figure


def surprise_of_ways(ways: Mapping[str, Tensor]) -> Figure:
    """Draw the mean surprise of several texts for each way to write them.

    Args:
        ways: name -> (N,), the mean of -log p of each text; the first one is the
            measure for the others and gets a line
    """
    figure, (axes,) = canvas(8, 0.42 * len(ways) + 1)
    for place, each in enumerate(ways.values()):
        colour = GREEN if not place else BLUE
        heights = place + np.linspace(-0.22, 0.22, len(each))
        axes.plot(each.exp().numpy(), heights, "o", color=colour, alpha=0.45,
                  markersize=4, markeredgewidth=0)  # fmt: skip
        middle = each.mean().exp().item()
        axes.plot([middle, middle], [place - 0.34, place + 0.34], color=colour,
                  linewidth=2.5)  # fmt: skip
        if not place:
            axes.axvline(middle, color=GREEN, linestyle=":", linewidth=1)
    axes.set_yticks(range(len(ways)), list(ways))
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="perplexity of 60 tokens (a dot for each text)")
    _open(axes)
    return figure


def best_of(
    counts: Sequence[int], rewards: Tensor, label: str = "stars of the chosen text"
) -> Figure:
    """Draw what choosing the best of n gains.

    Args:
        counts: N numbers n
        rewards: (N, prompts), of the chosen texts
        label: of the rewards
    """
    figure, (axes,) = canvas(5.5, 3)
    axes.plot(counts, rewards.numpy(), color=GREY, linewidth=0.8)
    axes.plot(counts, rewards.mean(1).numpy(), "o-", color=GREEN, label="mean")
    axes.plot([], [], color=GREY, linewidth=0.8, label="each beginning")
    axes.set(xscale="log", xlabel="n", ylabel=label)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9)
    _open(axes)
    return figure


def _short(token: str) -> str:
    """A token as the label of a bar."""
    ends = token.startswith("<|") and token.endswith("|>")
    return "(end)" if ends else readable(token.strip(" ") or token)[:11]


def _open(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
