"""Calls from one process into another, with gradients.

Either side may call what the other side lends it; while it waits for the result it
serves the calls of the other. So exactly one side works at any time, and the calls lie
within each other as they would on one stack. A call carries the random states and the
settings of the caller and brings the states back: it does what it would have done here.
"""

import builtins
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import _get_current_function_mode_stack

from helpers.checks.limit import TimeLimit, TimeUp
from helpers.checks.observe import said, untouched_world
from helpers.checks.plain import plain
from helpers.checks.recognise import Watch
from tools.grading.wire import Broken, Pipe, pack, unpack

LIMIT = 10.0  # seconds of the processor for one call
WAIT = 3 * LIMIT + 20  # seconds of the clock until the other side is given up
LENT = 2000  # things that are lent at once
GRAPHS = 2000  # results of one check that a gradient may go back through
METHODS = ("", "eval", "train", "encode", "decode")


class Link:
    """One end of it.

    Args:
        pipe: To the other end.
        trusting: Whether the other end may be believed (the kernel believes the judge).
    """

    def __init__(self, pipe: Pipe, trusting: bool) -> None:
        self.pipe, self.trusting = pipe, trusting
        self.lent: dict[int, Any] = {}
        self.graphs: list[tuple] = []

    def __deepcopy__(self, memo: dict) -> "Link":
        """Copies of what is called through it call through it as well."""
        return self

    def forget(self) -> None:
        """A check is over: nothing that was lent can be called any more."""
        self.lent, self.graphs = {}, []

    def lend(self, thing: Any) -> int:
        """The number under which the other side may call something."""
        number = len(self.lent)
        if number >= LENT:
            raise Broken("too much was lent")
        self.lent[number] = thing
        return number

    def _handle(self, value: Any) -> int | None:
        if callable(value) and not isinstance(value, type):
            known = [n for n, thing in self.lent.items() if thing is value]
            return known[0] if known else self.lend(value)
        return None

    def send(self, message: dict) -> None:
        """Send a message: what can be called is lent, unless the other is a student."""
        handle = (lambda it: None) if self.trusting else self._handle
        self.pipe.send(pack(message, handle), WAIT)

    def receive(self, seconds: float | None) -> dict:
        """The next message."""
        frame = self.pipe.receive(seconds)
        message = unpack(frame, self._thing, strides=self.trusting)
        if type(message) is not dict or type(message.get("do")) is not str:
            raise Broken("a message that says nothing")
        return message

    def _thing(self, number: int) -> Any:
        if not self.trusting:
            raise Broken("the other side has nothing to lend")
        return Far(self, number)

    def exchange(self, message: dict) -> dict:
        """Send a request, serve what comes meanwhile, and return the reply.

        An alarm that rings meanwhile waits: it would cut a frame in two.
        """
        with _no_alarm():
            try:
                self.send(message)
                while True:
                    reply = self.receive(WAIT)
                    if reply["do"] in ("gave", "raised"):
                        return reply
                    self.send(self.serve(reply))
            except Broken:
                self.pipe.dead = True
                raise

    # --- calling ----------------------------------------------------------------------

    def call(
        self,
        number: int,
        args: tuple = (),
        options: dict | None = None,
        method: str = "",
        weights: dict[str, Tensor] | None = None,
        modes: dict[str, bool] | None = None,
    ) -> Any:
        """Call something on the other side.

        Args:
            number: Which thing.
            args: Its arguments; one that it changes in place is changed here too.
            options: Its keyword arguments.
            method: Of the thing; itself where empty.
            weights: Name -> what its parameters and buffers are.
            modes: Module -> whether it is training.

        Raises:
            Exception: What it raised, as a class of the same name.
        """
        message = {
            "do": "call",
            "number": number,
            "method": method,
            "args": list(args),
            "options": options or {},
            "weights": weights or {},
            "modes": modes or {},
        }
        inside = [*args, *(options or {}).values(), *(weights or {}).values()]
        wanted = [one for one in _tensors(inside) if one.requires_grad]
        if not (wanted and torch.is_grad_enabled()):
            return self._called(message, args)["result"]
        box: dict = {}
        results = Through.apply(self, message, args, box, *wanted)
        return _filled(box["result"], iter(results))

    def _called(self, message: dict, args: tuple) -> dict:
        watch = _watching()
        last = None if watch is None else watch.last  # before anything is done here
        reply = self.exchange(message | _world() | {"watch": last})
        _set_states(reply.get("states"))
        print(str(reply.get("printed", "")), end="")
        error = _error(reply) if reply["do"] == "raised" else None
        for place, new in (reply.get("after") or {}).items():
            _put_back(args[place], new)
        if watch is not None and isinstance(seen := reply.get("watch"), tuple):
            watch.last, watch.failed, same = seen
            watch.error = error if same is True else None
        if error is not None:
            raise error
        return reply | {"result": reply.get("result")}

    # --- serving ----------------------------------------------------------------------

    def serve(self, message: dict) -> dict:
        """Do what the other side asks for."""
        if message["do"] == "back":
            return self._back(message)
        if message["do"] != "call":
            raise Broken("a request of another kind")
        number, method = message.get("number"), message.get("method")
        if number not in self.lent or method not in METHODS:
            raise Broken("a call of what was not lent")
        thing = self.lent[number]
        called = getattr(thing, method) if method else thing
        return self.run(called, message, thing)

    def run(self, called: Callable, message: dict, thing: Any = None) -> dict:
        """Call something as the other side asks for it; the reply."""
        watch, reply = None, {}
        if message.get("watch") is not None:
            watch = Watch()
            watch.last = message["watch"]
        with untouched_world() as printed:
            try:
                with self._limited(), _as_over_there(message):
                    _fill(thing, message)
                    reply = self._ran(called, message, thing, watch)
            except (KeyboardInterrupt, Broken):
                raise
            except BaseException as error:
                reply |= _told(error)
                if watch is not None:
                    same = error is watch.error
                    reply["watch"] = watch.last, watch.failed, same
            reply["states"] = _states()
        return reply | {"printed": printed.text}

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """The student's side has a limit; this one runs the course's own code."""
        if not self.trusting:
            yield
            return
        with _no_alarm(False), TimeLimit(LIMIT):
            yield

    def _ran(
        self, called: Callable, message: dict, thing: Any, watch: Watch | None
    ) -> dict:
        given, options = list(message["args"]), dict(message["options"])
        leaves = [one for one in _tensors([*given, *options.values()])
                  if one.requires_grad]  # fmt: skip
        given, options = _grown(given), _grown(options)
        before = [pack(one) for one in given]
        if watch is not None:
            with watch:
                result = plain(called(*given, **options))
        else:
            result = plain(called(*given, **options))
        outs = [one for one in _tensors([result]) if one.requires_grad]
        reply: dict = {"do": "gave", "result": result, "graph": None}
        if watch is not None:
            reply["watch"] = watch.last, watch.failed, False
        if outs and len(self.graphs) < GRAPHS:
            names = message["weights"]
            weights = _named(thing) if isinstance(thing, nn.Module) else {}
            leaves += [weights[name] for name, value in names.items()
                       if value.requires_grad and name in weights]  # fmt: skip
            reply["graph"] = len(self.graphs)
            self.graphs.append((outs, leaves))
        reply["after"] = {
            place: one
            for place, (one, old) in enumerate(zip(given, before, strict=True))
            if isinstance(one, Tensor | list | dict | set) and pack(one) != old
        }
        return reply

    def _back(self, message: dict) -> dict:
        try:
            outs, leaves = self.graphs[message["graph"]]
            slopes = zip(outs, message["slopes"], strict=True)
            with untouched_world(), self._limited():
                # One number: with `grad_outputs` torch imports for two seconds.
                total = sum((out * slope).sum() for out, slope in slopes
                            if slope is not None)  # fmt: skip
                options = {"allow_unused": True, "retain_graph": True}
                found = torch.autograd.grad(total, leaves, **options)
            return {"do": "gave", "result": list(found)}
        except (KeyboardInterrupt, Broken):
            raise
        except BaseException as error:
            return _told(error)


class Far:
    """Something on the other side, as it is seen here: it can be called."""

    def __init__(self, link: Link, number: int) -> None:
        self._link, self.number = link, number

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call it there."""
        return self._link.call(self.number, args, options)

    def eval(self) -> "Far":
        """Set it to eval mode there, if it is a model."""
        self._link.call(self.number, method="eval")
        return self

    def train(self, mode: bool = True) -> "Far":
        """Set it to training mode there, if it is a model."""
        self._link.call(self.number, (mode,), method="train")
        return self


class Through(torch.autograd.Function):
    """A call of the other side as one operation of autograd."""

    @staticmethod
    def forward(
        ctx: Any, link: Link, message: dict, args: tuple, box: dict, *wanted: Tensor
    ) -> tuple[Tensor, ...]:
        """Call; the tensors among the results, in their order."""
        with torch.enable_grad():
            reply = link._called(message, args)
        box["result"] = reply["result"]
        found = [one.detach() for one in _tensors([reply["result"]])]
        grown = [one.requires_grad for one in _tensors([reply["result"]])]
        fixed = [one for one, grows in zip(found, grown, strict=True) if not grows]
        ctx.mark_non_differentiable(*fixed)
        ctx.set_materialize_grads(False)
        ctx.link, ctx.graph, ctx.grown = link, reply.get("graph"), grown
        ctx.shapes = [(one.shape, one.dtype) for one in wanted]
        return tuple(found)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *slopes: Tensor | None) -> tuple:
        """Ask the other side for the gradients."""
        asked = [slope for slope, grows in zip(slopes, ctx.grown, strict=True) if grows]
        message = {"do": "back", "graph": ctx.graph, "slopes": asked}
        reply = ctx.link.exchange(message)
        if reply["do"] == "raised":
            raise _error(reply)
        found = reply.get("result")
        fits = isinstance(found, list) and len(found) == len(ctx.shapes)
        if not fits or not all(
            one is None or isinstance(one, Tensor) and (one.shape, one.dtype) == wanted
            for one, wanted in zip(found, ctx.shapes, strict=True)
        ):
            raise Broken("gradients that do not fit")
        return None, None, None, None, *found


# --- tensors within values ------------------------------------------------------------


def _tensors(value: Any) -> list[Tensor]:
    """The tensors in a value, in their order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, tuple | list):
        return []
    return [tensor for one in value for tensor in _tensors(one)]


def _filled(value: Any, tensors: Iterator[Tensor]) -> Any:
    """A value with other tensors in it."""
    if isinstance(value, Tensor):
        return next(tensors)
    if type(value) in (tuple, list):
        return type(value)(_filled(one, tensors) for one in value)
    if type(value) is dict:
        return {key: _filled(one, tensors) for key, one in value.items()}
    return value


def _grown(value: Any) -> Any:
    """No leaves for the answer: it may change its own copies in place."""
    grown = [one * 1.0 if one.requires_grad else one for one in _tensors(value)]
    return _filled(value, iter(grown))


def _put_back(old: Any, new: Any) -> None:
    """Do to an argument what was done to its copy on the other side."""
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        if (old.shape, old.dtype) == (new.shape, new.dtype):
            old.data.copy_(new.detach())
        else:
            old.data = new.detach()
    elif isinstance(old, list) and isinstance(new, list):
        old[:] = new
    elif isinstance(old, dict | set) and type(old) is type(new):
        old.clear()
        old.update(new)


def _named(module: nn.Module) -> dict[str, Tensor]:
    """The parameters and buffers of a module, and tensors that are neither."""
    found = dict(module.named_parameters()) | dict(module.named_buffers())
    for place, part in module.named_modules():
        for name, value in vars(part).items():
            if isinstance(value, Tensor):
                found[f"{place}.{name}" if place else name] = value
    return found


@torch.no_grad()
def _fill(thing: Any, message: dict) -> None:
    """Give a module the weights and modes that it has on the other side."""
    if not isinstance(thing, nn.Module):
        return
    mine = _named(thing)
    for name, value in message["weights"].items():
        if (old := mine.get(name)) is not None and not _equal(old, value):
            _exchange(thing, old, value.detach())
    parts = dict(thing.named_modules())
    for name, training in message["modes"].items():
        if name in parts:
            parts[name].training = training


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)


def _exchange(thing: nn.Module, old: Tensor, new: Tensor) -> None:
    """Put another tensor wherever a module holds this one.

    Not other numbers into the same one: a gradient may still go through the old ones.
    """
    if isinstance(old, nn.Parameter):
        new = nn.Parameter(new, requires_grad=old.requires_grad)
    for part in thing.modules():
        for held in (part._parameters, part._buffers, vars(part)):
            for name in [name for name, value in held.items() if value is old]:
                setattr(part, name, new)


# --- the world of a call --------------------------------------------------------------


def _states() -> tuple:
    kind, keys, *rest = np.random.get_state()
    return torch.get_rng_state(), random.getstate(), (kind, keys, *rest)


def _set_states(states: Any) -> None:
    try:
        numbers, python, array = states
        torch.set_rng_state(numbers)
        random.setstate(python)
        np.random.set_state(array)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise Broken("random states that make no sense") from None


def _world() -> dict:
    return {
        "states": _states(),
        "grad": torch.is_grad_enabled(),
        "double": torch.get_default_dtype() == torch.float64,
    }


@contextmanager
def _as_over_there(message: dict) -> Iterator[None]:
    _set_states(message.get("states"))
    wide = torch.float64 if message.get("double") is True else torch.float32
    torch.set_default_dtype(wide)
    with torch.set_grad_enabled(message.get("grad") is True):
        yield


@contextmanager
def _no_alarm(block: bool = True) -> Iterator[None]:
    """Keep the alarm of a `TimeLimit` waiting, or let it ring within such a block."""
    how = signal.SIG_BLOCK if block else signal.SIG_UNBLOCK
    before = signal.pthread_sigmask(how, {signal.SIGALRM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watching() -> Watch | None:
    modes = _get_current_function_mode_stack()
    found = [mode for mode in modes if isinstance(mode, Watch)]
    return found[-1] if found else None


# --- errors ---------------------------------------------------------------------------


def _told(error: BaseException) -> dict:
    """An error as it is sent: what it is called, what it is, what it says."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    if isinstance(error, TimeUp):
        kinds = [TimeUp.__name__]
    known = [name for name in kinds if name in ERRORS]
    return {
        "do": "raised",
        "name": str(type(error).__name__)[:200],
        "base": known[0] if known else "Exception",
        "text": str(said(error))[:4000],
    }


def _error(reply: dict) -> BaseException:
    """The error that a reply tells of, as one of a class of the same name."""
    base = ERRORS.get(reply.get("base"), Exception)
    name, text = str(reply.get("name")), str(reply.get("text"))
    if base is TimeUp:
        return TimeUp()
    kind = type(name, (base,), {"__str__": lambda self: text})
    return kind.__new__(kind, text)


ERRORS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and not issubclass(kind, UnicodeError | BaseExceptionGroup)
} | {"TimeUp": TimeUp, "SystemExit": SystemExit}
