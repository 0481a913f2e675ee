"""BertViz that draws without a network, where somebody is there to click on it.

BertViz 1.4 loads require.js, d3 and jQuery from the web. Here d3 5.7 and jQuery come
from packages, see `helpers.third_party`, and the view sits in an iframe of its own. A
built or tested notebook gets one line of text instead, and so does a person if
something is missing: a picture of the same weights belongs beside every view.
"""

import html
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from torch import Tensor

from helpers import third_party

# BertViz asks `require` for its libraries; ours are on the page already.
SHIM = "const require = {config() {}}, requirejs = (_, draw) => draw(jQuery, d3);"
# White in a dark theme too; shrunk, so that twelve heads fit beside each other.
STYLE = "html {background: white; color-scheme: light; zoom: 0.8}"
ABSENT = "The interactive view appears here when you run this cell in JupyterLab."


def head_view(attentions: Sequence[Tensor], tokens: Sequence[str], **more) -> None:
    """Show the attention of one layer as lines from query (left) to key (right).

    Args:
        attentions: one (1, H, T, T) for each layer, as in `outputs.attentions`
        tokens: the T tokens
        **more: further arguments of `bertviz.head_view`, such as layer=0, heads=[2]
    """
    _display("head_view", attentions, tokens, height=420, **more)


def model_view(attentions: Sequence[Tensor], tokens: Sequence[str], **more) -> None:
    """Show all heads of all layers as small pictures; a click makes one large.

    Args:
        attentions: one (1, H, T, T) for each layer, as in `outputs.attentions`
        tokens: the T tokens
        **more: further arguments of `bertviz.model_view`
    """
    more = {"display_mode": "light", **more}
    _display("model_view", attentions, tokens, height=530, **more)


def somebody_watches() -> bool:
    """Whether this cell was run by a front end with a person before it.

    Only such a front end offers to type in an answer to `input()`. nbclient, nbval and
    nbgrader run cells without that offer.
    """
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return False
    request = kernel.get_parent("shell") or {}
    return bool(request.get("content", {}).get("allow_stdin"))


def page(
    view: Callable, attentions: Sequence[Tensor], tokens: Sequence[str], **more
) -> str:
    """One of BertViz's views as a whole HTML page that fetches nothing.

    Raises:
        ValueError: The weights are not one (1, H, T, T) per layer.
    """
    if not len(attentions) or attentions[0].dim() != 4:
        raise ValueError(
            "no weights of shape (1, heads, query, key): load the model with "
            'attn_implementation="eager" and take outputs.attentions by its name'
        )
    with warnings.catch_warnings():  # BertViz leaves its script file open
        warnings.simplefilter("ignore", ResourceWarning)
        made = view(attentions, tokens, html_action="return", **more).data
    made = re.sub(r"<script src=.*?</script>", "", made, flags=re.DOTALL)
    body, script = made.split('<script type="text/javascript">', 1)
    script = script.rsplit("</script>", 1)[0]
    scripts = (third_party.find("d3"), third_party.find("jquery"))
    libraries = "".join(map(_library, scripts))
    return (
        f"<!doctype html><meta charset='utf-8'><style>{STYLE}</style>{body}"
        f"<script>{libraries}(function () {{{SHIM}{script}}})();</script>"
    )


@cache
def _library(file: Path) -> str:
    """A library's text, kept from taking a module loader for its home."""
    text = file.read_text("utf-8")
    return f"(function (define, module, exports) {{{text}\n}}).call(window);"


def missing() -> str:
    """What a view lacks, with what to do about it; empty where nothing is missing."""
    if not find_spec("bertviz"):
        return "BertViz is missing. Run `pip install bertviz==1.4.1`."
    states = map(third_party.state, ("d3", "jquery"))
    return next((text for here, text in states if not here), "")


def _display(
    view: str, attentions: Sequence[Tensor], tokens: Sequence[str], height: int, **more
) -> None:
    if not somebody_watches():
        print(ABSENT)
        return
    if lacking := missing():
        print(f"The interactive view does not appear: {lacking}")
        return
    import bertviz
    from IPython.display import display

    text = html.escape(page(getattr(bertviz, view), attentions, tokens, **more))
    frame = f'<iframe style="width:100%;height:{height}px;border:0" srcdoc="{text}">'
    display({"text/html": f"{frame}</iframe>", "text/plain": ABSENT}, raw=True)
