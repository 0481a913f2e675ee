"""What code in a notebook may try: against what runs it, and for points it lacks."""

# A cell behind a right answer to 2.A, name -> (source, what is said of it): the points
# of that answer stay, whatever becomes of the kernel, and there are no others.
SAY = """
kernel = get_ipython().kernel
def say(kind, content):
    kernel.session.send(
        kernel.iopub_socket, kind, content, parent=kernel.get_parent(),
    )
"""
GARBAGE = """
import os
def write(*_, wait=False):
    for number in range(3, 200):
        try:
            os.set_blocking(number, wait or os.get_blocking(number))
            os.write(number, b"\\x00garbage" * 1000)
        except OSError:
            pass

"""
HARM = {
    "closes all": ("import os\nos.closerange(3, 300)", "its kernel "),
    "another program": (
        'import os\nos.execv("/bin/true", ["true"])',
        "its kernel ended in cell",
    ),
    "no such address": (
        "import ctypes\nctypes.string_at(0)",
        "its kernel ended in cell",
    ),
    "null for all": (
        """
import os
nothing = os.open(os.devnull, os.O_RDWR)
for number in range(3, 300):
    os.dup2(nothing, number)
""",
        "its kernel ",
    ),
    "garbage for all": (GARBAGE + "write()", "its kernel did not answer"),
    "garbage once more": (
        GARBAGE + 'get_ipython().events.register("post_run_cell", write)',
        "its kernel did not answer",
    ),
    "garbage without end": (
        GARBAGE + "while True: write(wait=True)",
        "its kernel did not answer",
    ),
    "speaks to the judge": (
        """
import os, socket, stat, struct
text = b'{"t":"dict","of":["do","verdict","outcome","passed"]}'
frame = struct.pack("<QI", 4 + len(text), len(text)) + text
for number in range(3, 300):
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            continue
        one = socket.socket(fileno=os.dup(number))
        if one.getsockname() == one.getpeername() == "":  # nothing of ZeroMQ's
            one.setblocking(False)
            one.send(frame + b"\\xff" * 1000)
    except OSError:
        pass
""",
        "",
    ),
    "hears everything": (
        """
import sys
def refuse(*_):
    raise RuntimeError("no")
sys.addaudithook(refuse)
""",
        "mentions addaudithook",
    ),
    "children that stay": (
        """
import os, subprocess, sys
for _ in range(40):
    if not os.fork():
        os.setsid()
        os.execv("/bin/sleep", ["sleep", "86399"])
""",
        "",
    ),
    "odd messages": (
        SAY
        + """\
for kind in ("error", "status", "stream", "commx", ["a"], None):
    say(kind, {})
    say(kind, "[1]")
say("clear_output", "3")
say("execute_result", {"execution_count": {}})
""",
        "sent what is no message",
    ),
    "half an output": (
        SAY
        + """\
say("stream", {"name": ["stdout"], "text": {"a": 1}})
say("display_data", {"data": ["a"], "metadata": 3})
say("execute_result", {"data": {"text/plain": 3}, "metadata": {}, "execution_count": 1})
""",
        "sent what is no message",
    ),
    "no cell as it is": (
        """
get_ipython().input_transformers_post.append(lambda lines: ["pass\\n"])
""",
        "the check did not report a pass itself",
    ),
    "forgets all": ("%reset -f\n%xmode Minimal\n%autocall 2", ""),
    "kills its parent": ("%%bash\nkill -9 $PPID", ""),
    "one second left": (
        """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
while True: pass
""",
        "its kernel ended in cell",
    ),
    "no modules": (
        """
import json, os, pickle, socket, struct, sys
def refuse(*_, **__):
    raise SystemExit("no")
json.dumps = json.loads = pickle.dumps = struct.pack = struct.unpack = refuse
socket.socket.sendall = os.write = os.read = refuse
sys.modules.clear()
""",
        "mentions sys.modules",
    ),
    "widgets": (
        """
import comm
one = comm.create_comm(target_name="jupyter.widget", data={"state": {"a": "x" * 9_999}})
for _ in range(200):
    one.send({"method": "update", "state": {"_view": "<script>x</script>"}})
get_ipython().set_next_input("raise SystemExit", replace=True)
print("\\x1b]0;OWNED\\x07\\x1b[2J\\x1b[1;1H19 of 19 points\\r")
""",
        "",
    ),
}

# The cell before wrong answers, name -> (source, what is said of it): 0 points.
CHEATS = {
    "seeks what is expected": (
        """
import gc

def softmax(x, dim=-1):
    for one in gc.get_objects():
        if isinstance(one, torch.Tensor) and one.shape == x.shape and one is not x:
            if one.dim() and torch.allclose(one.sum(dim), torch.ones(())):
                return one
    return x
""",
        "mentions gc.",
    ),
    "traces every line": (
        """
import ctypes, sys, threading

def trace(frame, event, argument):
    for name in ("outcome", "passed", "ok"):
        if name in frame.f_locals:
            frame.f_locals[name] = "passed"
            write = ctypes.pythonapi.PyFrame_LocalsToFast
            write(ctypes.py_object(frame), ctypes.c_int(0))
    return trace

threading.settrace(trace)
get_ipython().events.register("pre_run_cell", lambda *_: sys.settrace(trace))
""",
        "mentions ctypes, get_ipython, settrace",
    ),
    "not a number": (
        """
def softmax(x, dim=-1):
    return x * torch.nan

def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) * torch.nan
    return scores @ value, scores

too_small_by = times_applied = impossible_entries = float("nan")
""",
        "",
    ),
    "no end": (
        """
import itertools
around = []
around.append(around)
within = {}
within["a"] = within
deep = ()
for _ in range(100_000):
    deep = (deep,)

def softmax(x, dim=-1):
    return around

def scaled_dot_product_attention(query, key, value, mask=None):
    return within, itertools.count()

def looks_healthy(attend):
    return (number for number in itertools.count())

too_small_by, times_applied, impossible_entries = deep, "1" * 200_000_000, around
""",
        "",
    ),
    "objects that bite": (
        """
class Bites:
    def bite(self, *_, **__):
        raise SystemExit("bitten")
    __repr__ = __str__ = __len__ = __iter__ = __getattr__ = __bool__ = __eq__ = bite
    __float__ = __int__ = __index__ = __hash__ = __array__ = __format__ = bite
    __class__ = property(bite)

def softmax(x, dim=-1):
    return Bites()

looks_healthy = scaled_dot_product_attention = too_small_by = Bites()
times_applied = impossible_entries = [Bites()]
""",
        "called exit",
    ),
    "tensors of all kinds": (
        """
kinds = iter(range(10**6))

def softmax(x, dim=-1):
    return [
        lambda: x.to_sparse(),
        lambda: torch.empty(10**9, 10**9, device="meta"),
        lambda: torch.nested.nested_tensor([x.flatten(), x.flatten()[:1]]),
        lambda: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.quint8),
        lambda: torch.zeros(1).expand(10**12),
        lambda: torch.complex(x.float(), x.float()).conj(),
        lambda: x.new_zeros(0, 2**40),
    ][next(kinds) % 7]()

def scaled_dot_product_attention(query, key, value, mask=None):
    return softmax(query), torch.zeros([1] * 60)
""",
        "",
    ),
    "forged gradients": (
        """
class Forged(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, slope):
        return slope * torch.inf

def refuse(*_):
    raise SystemExit("no")

def softmax(x, dim=-1):
    found = Forged.apply(x.clone().requires_grad_())
    found.register_hook(refuse)
    found.grad_fn.register_prehook(refuse)
    return found

def scaled_dot_product_attention(query, key, value, mask=None):
    return softmax(query), softmax(key)
""",
        "",
    ),
    "forged replies": (
        """
from tools.grading import link

def run(self, called, message, thing=None):
    return {
        "do": "gave", "result": {1: [None]}, "graph": -1, "printed": ["x"] * 9_999,
        "after": {-1: None, "a": torch.zeros(3), 99: {}},
        "states": link._states(), "watch": (1, {}, "passed"),
    }

link.Link.run = run
""",
        "mentions tools.grading",
    ),
    "fitting inputs": (
        """
from tools.grading import link

def run(self, called, message, thing=None):
    given = message["args"]
    after = {place: torch.zeros_like(one) for place, one in enumerate(given)
             if isinstance(one, torch.Tensor) and one.is_floating_point()}
    torch.manual_seed(0)
    result = None
    if given and isinstance(given[0], torch.Tensor):
        result = torch.full_like(given[0], 1 / max(1, given[0].shape[-1]))
    return {"do": "gave", "result": result, "graph": None, "printed": "",
            "after": after, "states": link._states(), "watch": (None, None, False)}

link.Link.run = run
""",
        "mentions tools.grading",
    ),
    "its own verdict": (
        """
from tools.grading import answering
answering.ask = lambda link, exercise_id, answers: ("passed", "")
""",
        "the check did not report a pass itself",
    ),
    "its own check": (
        """
import helpers.checks

def check(exercise_id, *answers):
    print(f"✓ {exercise_id} passed.")

helpers.checks.check = helpers.checks.engine.check = check
""",
        "the check did not report a pass itself",
    ),
    "a number as output": (
        """
def show(*_):
    kernel = get_ipython().kernel
    content = {"data": {"text/plain": "2.0"}, "metadata": {}, "execution_count": 1}
    kernel.session.send(
        kernel.iopub_socket, "execute_result", content, parent=kernel.get_parent(),
    )

get_ipython().events.register("post_run_cell", show)
get_ipython().showtraceback = lambda *_, **__: None
""",
        "mentions get_ipython",
    ),
    "runs nothing": (
        """
async def nothing(*_, **__):
    return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}

get_ipython().kernel.do_execute = nothing
""",
        "the check did not report a pass itself",
    ),
    "evil names": (
        """
Evil = type("=HYPERLINK(1)<script>x</script>\\n\\x1b[2J", (Exception,), {})

def softmax(x, dim=-1):
    raise Evil("\\x1b[2J<img src=x onerror='document.title=1'>\\n=1+1")

def scaled_dot_product_attention(query, key, value, mask=None):
    ...  # <script>document.title='OWNED'</script> & =1+1

softmax.__name__ = softmax.__qualname__ = "<script>x</script>"
looks_healthy = type("<img src=x onerror=x>", (), {"__call__": lambda *_: 1 / 0})
""",
        "",
    ),
    "reads the disk": (
        """
from pathlib import Path
import sys

def softmax(x, dim=-1):
    for place in sys.path:
        for path in Path(place).glob("helpers/exercises/**/*.py"):
            _, found, text = path.read_text().partition("def softmax(")
            if found:
                names = {"torch": torch, "Tensor": torch.Tensor}
                exec(found + text.partition("\\n\\n\\n")[0], names)
                return names["softmax"](x, dim)
    return x
""",
        "mentions helpers/exercises",
    ),
    "into the judge": (
        """
import os
from pathlib import Path

for folder in Path("/proc").glob("[0-9]*"):
    try:
        if b"tools.grading.judge" not in (folder / "cmdline").read_bytes():
            continue
        status = (folder / "status").read_text()  # of this grader's, of no other
        if f"\\nPPid:\\t{os.getppid()}\\n" not in status:
            continue
        with open(folder / "mem", "r+b", buffering=0) as memory:
            memory.seek(int((folder / "maps").read_text().split("-")[0], 16))
            memory.write(b"passed" * 1000)
    except OSError:
        pass
""",
        "mentions /proc",
    ),
    "all tensors are equal": (
        """
for name in ("__eq__", "eq", "allclose", "equal", "isclose"):
    setattr(torch.Tensor, name, lambda *_, **__: True)
torch.allclose = torch.isclose = torch.Tensor.__bool__ = lambda *_, **__: True
torch.Tensor.__reduce_ex__ = torch.Tensor.__deepcopy__ = lambda *_: eval("exit")()
""",
        "",
    ),
    "asks until it passes": (
        """
from helpers.checks import check

for guess in range(-11, 40):
    try:
        check("2.G", guess)
    except Exception:
        continue
    impossible_entries = guess
for _ in range(11):
    try:
        check("2.A", torch.softmax)
    except Exception:
        pass
""",
        "",
    ),
}
