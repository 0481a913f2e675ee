"""Values as bytes: JSON for their structure, raw bytes for their numbers, no pickle.

A frame is the length of all of it, the length of the header, the header, and the bytes
of all tensors. Whoever reads one may be reading what an attacker wrote: everything has
a limit, and whatever is not exactly as it should be is `Broken`.
"""

import json
import math
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.plain import Odd, kind_of, plain
from helpers.models.gpt import GPTConfig
from helpers.models.modern import ModernConfig
from helpers.models.transformer import TransformerConfig

FRAME = 64_000_000  # bytes of one frame
NODES = 200_000  # values in one frame
DEEP = 60  # values within values
TEXT = 1_000_000  # characters
HUGE = 10**18  # a whole number beyond it is named only
LENGTHS = struct.Struct("<QI")
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8),
        *(torch.complex64, torch.complex128),
    )
}
ARRAYS = "?bBhHiIlLqQefdFD"  # kinds of numpy's numbers
ONES = ("float", "range", "ellipsis", "odd", "handle", "tensor", "meta", "array")
NONSENSE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError,
            MemoryError, RuntimeError, struct.error)  # fmt: skip
MANY = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}
CONFIGS = {kind.__name__: kind for kind in (TransformerConfig, GPTConfig, ModernConfig)}


class Broken(Exception):
    """What came is not a frame, or nothing came."""


# --- writing --------------------------------------------------------------------------


def pack(value: Any, handle: Callable[[Any], int | None] = lambda it: None) -> bytes:
    """A frame that holds a value.

    Args:
        value: Plain values; of anything else only the name of its kind is sent.
        handle: Gives the number of what can be called from the other side.
    """
    writer = _Writer(handle)
    header = json.dumps(writer.node(value, 0)).encode()
    rest = b"".join(writer.chunks)
    return LENGTHS.pack(4 + len(header) + len(rest), len(header)) + header + rest


class _Writer:
    def __init__(self, handle: Callable[[Any], int | None]) -> None:
        self.handle, self.chunks, self.at, self.nodes = handle, [], 0, 0

    def node(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > DEEP - 10 or self.nodes > NODES:
            return {"t": "odd", "kind": "value that is too large"}
        if (number := self.handle(value)) is not None:
            return {"t": "handle", "number": number}
        if type(value) in CONFIGS.values():
            parts = [self.node(one, depth + 1) for one in vars(value).values()]
            return {"t": "config", "name": type(value).__name__, "of": parts}
        value = plain(value)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if abs(value) < HUGE else {"t": "odd", "kind": "huge int"}
        if kind is str:
            if len(value) > TEXT:
                return {"t": "odd", "kind": "str of a million letters"}
            return value.encode("utf-8", "replace").decode()
        if kind is float:
            return {"t": "float", "hex": value.hex()}
        if isinstance(value, Tensor):
            return self._tensor(value)
        if kind is np.ndarray and value.dtype.char in ARRAYS:
            head = {"t": "array", "dtype": value.dtype.char, "shape": value.shape}
            return self._numbers(head, np.ascontiguousarray(value).tobytes())
        if kind.__name__ in MANY and kind in MANY.values():
            parts = [self.node(one, depth + 1) for one in value]
            return {"t": kind.__name__, "of": parts}
        if kind is dict:
            pairs = [one for pair in value.items() for one in pair]
            return {"t": "dict", "of": [self.node(one, depth + 1) for one in pairs]}
        if kind is range:
            return {"t": "range", "of": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return {"t": "ellipsis"}
        name = value.kind if kind is Odd else kind_of(value)
        return {"t": "odd", "kind": str(name)[:200]}

    def _tensor(self, value: Tensor) -> dict:
        dtype = str(value.dtype).removeprefix("torch.")
        if value.layout != torch.strided:
            return {"t": "odd", "kind": "sparse tensor"}
        if dtype not in DTYPES:
            return {"t": "odd", "kind": f"tensor of {dtype}"[:100]}
        if value.numel() * value.element_size() > FRAME // 2:
            return {"t": "odd", "kind": "tensor that is too large"}
        if value.device.type == "meta":  # it has no numbers
            return {"t": "meta", "dtype": dtype, "shape": list(value.shape)}
        head = {
            "t": "tensor",
            "dtype": dtype,
            "shape": list(value.shape),
            "stride": list(torch.empty_like(value, device="meta").stride()),
            "grad": value.requires_grad,
        }
        flat = value.detach().cpu().resolve_conj().resolve_neg().reshape(-1)
        # A copy: torch calls one number contiguous wherever the next one would lie.
        flat = flat.clone(memory_format=torch.contiguous_format)
        return self._numbers(head, flat.view(torch.uint8).numpy().tobytes())

    def _numbers(self, head: dict, content: bytes) -> dict:
        head |= {"at": self.at, "bytes": len(content)}
        self.chunks.append(content)
        self.at += len(content)
        return head


# --- reading --------------------------------------------------------------------------


def unpack(frame: bytes, handle: Callable[[int], Any], strides: bool = False) -> Any:
    """The value in a frame, without its first length.

    Args:
        frame: What `pack` made, or an attacker.
        handle: What stands for a number on this side.
        strides: Whether tensors lie in memory as they did: only for who is trusted.

    Raises:
        Broken: The frame is not as it should be.
    """
    try:
        [size] = struct.unpack_from("<I", frame)
        header = json.loads(frame[4 : 4 + size])
        return _Reader(memoryview(frame)[4 + size :], handle, strides).value(header, 0)
    except Broken:
        raise
    except NONSENSE as error:
        raise Broken(f"a frame that makes no sense ({type(error).__name__})") from None


class _Reader:
    def __init__(self, content: memoryview, handle: Callable, strides: bool) -> None:
        self.content, self.handle, self.strides = content, handle, strides
        self.nodes = 0

    def value(self, node: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > DEEP or self.nodes > 2 * NODES:
            raise Broken("a frame with too much in it")
        if node is None or type(node) in (bool, int, str):
            if type(node) is int and abs(node) >= HUGE:
                raise Broken("a number that is too large")
            return node
        kind = node["t"]
        if kind in MANY:
            return MANY[kind](self.value(one, depth + 1) for one in node["of"])
        if kind == "dict":
            parts = [self.value(one, depth + 1) for one in node["of"]]
            return dict(zip(parts[::2], parts[1::2], strict=True))
        if kind == "config":
            parts = [self.value(one, depth + 1) for one in node["of"]]
            return CONFIGS[node["name"]](*parts)
        if kind not in ONES:
            raise Broken("a frame of another kind")
        return getattr(self, f"_{kind}")(node)

    def _float(self, node: dict) -> float:
        return float.fromhex(node["hex"])

    def _range(self, node: dict) -> range:
        return range(*map(int, node["of"]))

    def _ellipsis(self, node: dict) -> Any:
        return ...

    def _odd(self, node: dict) -> Odd:
        return Odd(str(node["kind"])[:200])

    def _handle(self, node: dict) -> Any:
        return self.handle(int(node["number"]))

    def _shape(self, node: dict) -> list[int]:
        shape = [int(size) for size in node["shape"]]
        if min([0, *shape]) < 0 or len(shape) > 32 or math.prod(shape) > FRAME:
            raise Broken("a tensor of an impossible shape")
        return shape

    def _meta(self, node: dict) -> Tensor:
        dtype = DTYPES[node["dtype"]]
        return torch.empty(self._shape(node), dtype=dtype, device="meta")

    def _bytes(self, node: dict, itemsize: int) -> tuple[bytearray, list[int]]:
        shape = self._shape(node)
        at, size = int(node["at"]), int(node["bytes"])
        if math.prod(shape) * itemsize != size or not 0 <= at <= len(self.content):
            raise Broken("a tensor with too few numbers, or too many")
        content = bytearray(self.content[at : at + size])
        if len(content) != size:
            raise Broken("a tensor with too few numbers")
        return content, shape

    def _tensor(self, node: dict) -> Tensor:
        dtype = DTYPES[node["dtype"]]
        content, shape = self._bytes(node, dtype.itemsize)
        if not content:
            found = torch.empty(shape, dtype=dtype)
        else:
            found = torch.frombuffer(content, dtype=dtype).clone().reshape(shape)
        if self.strides and node["stride"] != list(found.stride()):
            found = torch.empty_strided(shape, node["stride"], dtype=dtype).copy_(found)
        return found.requires_grad_(bool(node["grad"]) and found.is_floating_point())

    def _array(self, node: dict) -> np.ndarray:
        if node["dtype"] not in ARRAYS or len(node["dtype"]) != 1:
            raise Broken("an array of another kind")
        dtype = np.dtype(node["dtype"])
        content, shape = self._bytes(node, dtype.itemsize)
        return np.frombuffer(content, dtype).reshape(shape).copy()


# --- the pipe -------------------------------------------------------------------------


class Pipe:
    """Frames over a socket, so many and no more.

    Args:
        end: One end of a pair of sockets.
        most: Bytes that may come in, until `refill`.
    """

    def __init__(self, end: socket.socket, most: int = 1_000_000_000) -> None:
        self.end, self.most, self.left = end, most, most
        self.dead = False  # after a frame that was not as it should be
        end.setblocking(True)

    def refill(self) -> None:
        """Start counting again, for the next check."""
        self.left = self.most

    def send(self, frame: bytes, seconds: float) -> None:
        """Write a frame.

        Raises:
            Broken: Nobody reads.
        """
        if self.dead:
            raise Broken("nobody is there any more")
        try:
            self.end.settimeout(seconds)
            self.end.sendall(frame)
        except OSError:
            raise Broken("nobody is listening") from None

    def receive(self, seconds: float | None) -> bytes:
        """Read a frame, without its first length.

        Raises:
            Broken: None came in time, or one that is too long.
        """
        if self.dead:
            raise Broken("nobody is there any more")
        end = math.inf if seconds is None else time.monotonic() + seconds
        [size] = struct.unpack("<Q", self._read(8, end))
        self.left -= size
        if not 4 <= size <= FRAME or self.left < 0:
            raise Broken("a frame that is too long")
        return self._read(size, end)

    def _read(self, size: int, end: float) -> bytes:
        parts: list[bytes] = []
        while size:
            left = end - time.monotonic()
            if left < math.inf:
                if left <= 0 or not select.select([self.end], [], [], left)[0]:
                    raise Broken("no answer in time")
            try:
                self.end.settimeout(None)
                part = self.end.recv(min(size, 1 << 20))
            except OSError:
                part = b""
            if not part:
                raise Broken("nobody is there any more")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
