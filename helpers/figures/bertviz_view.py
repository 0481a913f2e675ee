"""BertViz that draws without a network, where somebody is there to click on it.

BertViz 1.4 loads require.js, d3 and jQuery from the web. Here d3 5.7 comes from the
package mpld3 and jQuery from XStatic-jQuery, and the view sits in an iframe of its own.
A built or tested notebook gets one line of text instead: a picture of the same weights
belongs beside every view.
"""

import html
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from torch import Tensor

D3 = ("mpld3", "js/d3.v5.min.js")
JQUERY = ("xstatic.pkg.jquery", "data/jquery.min.js")
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
    import bertviz

    _display(bertviz.head_view, attentions, tokens, height=420, **more)


def model_view(attentions: Sequence[Tensor], tokens: Sequence[str], **more) -> None:
    """Show all heads of all layers as small pictures; a click makes one large.

    Args:
        attentions: one (1, H, T, T) for each layer, as in `outputs.attentions`
        tokens: the T tokens
        **more: further arguments of `bertviz.model_view`
    """
    import bertviz

    more = {"display_mode": "light", **more}
    _display(bertviz.model_view, attentions, tokens, height=530, **more)


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
    libraries = _library(*D3) + _library(*JQUERY)
    return (
        f"<!doctype html><meta charset='utf-8'><style>{STYLE}</style>{body}"
        f"<script>{libraries}(function () {{{SHIM}{script}}})();</script>"
    )


@cache
def _library(package: str, file: str) -> str:
    """A library's text, kept from taking a module loader for its home."""
    text = files(package).joinpath(file).read_text("utf-8")
    return f"(function (define, module, exports) {{{text}\n}}).call(window);"


def _display(
    view: Callable,
    attentions: Sequence[Tensor],
    tokens: Sequence[str],
    height: int,
    **more,
) -> None:
    if not somebody_watches():
        print(ABSENT)
        return
    from IPython.display import display

    text = html.escape(page(view, attentions, tokens, **more))
    frame = f'<iframe style="width:100%;height:{height}px;border:0" srcdoc="{text}">'
    display({"text/html": f"{frame}</iframe>", "text/plain": ABSENT}, raw=True)
