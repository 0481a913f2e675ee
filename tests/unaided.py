"""Right answers that were written from the task and its stub alone: id -> a cell.

Unlike the independent solutions, which go different ways on purpose, each of these is
what came first to a mind that had not read the course's answer. They measure how near
such an answer comes to the published one, so some of them resemble it, and none may be
replaced by it.
"""

ANSWERS = {
    "1.F": """
def positional_encoding(length: int, d_model: int) -> Tensor:
    position = torch.arange(length).unsqueeze(1)
    angles = position / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    table = torch.zeros(length, d_model)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table
""",
    "2.B": """
def scaled_dot_product_attention(query, key, value, mask=None):
    d_head = query.shape[-1]
    scores = query @ key.transpose(-2, -1) / d_head**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
""",
    "2.C": """
class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x, mask=None):
        query = self.W_q(x)
        key = self.W_k(x)
        value = self.W_v(x)
        if mask is not None:
            mask = mask.unsqueeze(1)
        return scaled_dot_product_attention(query, key, value, mask)
""",
    "3.C": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        query = course.split_heads(self.W_q(query), self.num_heads)
        key = course.split_heads(self.W_k(key), self.num_heads)
        value = course.split_heads(self.W_v(value), self.num_heads)
        output, weights = mine.scaled_dot_product_attention(query, key, value, mask)
        output = self.W_o(course.merge_heads(output))
        return output, weights
""",
    "4.B": """
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        super().__init__()
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = ACTIVATIONS[self.activation](self.W_1(x))
        return self.W_2(hidden)
""",
    "4.C": """
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        normed = (x - mean) / torch.sqrt(variance + self.eps)
        return self.weight * normed + self.bias
""",
    "4.D": """
class EncoderLayer(nn.Module):
    def __init__(
        self,
        d_model,
        num_heads,
        d_ff,
        dropout=0.1,
        activation="relu",
        norm_first=False,
        eps=1e-5,
    ):
        super().__init__()
        self.norm_first = norm_first
        self.attention = mine.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = mine.FeedForward(d_model, d_ff, activation)
        self.norm1 = mine.LayerNorm(d_model, eps)
        self.norm2 = mine.LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.dropout(self.attention(h, h, h, mask))
            x = x + self.dropout(self.feed_forward(self.norm2(x)))
        else:
            x = self.norm1(x + self.dropout(self.attention(x, x, x, mask)))
            x = self.norm2(x + self.dropout(self.feed_forward(x)))
        return x
""",
    "5.A": """
class DecoderLayer(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.self_attention = mine.MultiHeadAttention(d_model, num_heads)
        self.cross_attention = mine.MultiHeadAttention(d_model, num_heads)

    def forward(self, x, memory, target_mask, source_mask=None):
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.dropout(self.self_attention(h, h, h, target_mask))
            h = self.norm2(x)
            x = x + self.dropout(self.cross_attention(h, memory, memory, source_mask))
            h = self.norm3(x)
            x = x + self.dropout(self.feed_forward(h))
        else:
            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, target_mask)))
            x = self.norm2(
                x + self.dropout(self.cross_attention(x, memory, memory, source_mask))
            )
            x = self.norm3(x + self.dropout(self.feed_forward(x)))
        return x
""",
    "5.B": """
class Decoder(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_length: int = 512,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)  # times sqrt(d_model)
        self.positions = PositionalEncoding(d_model, max_length)  # adds its table
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.layers = nn.ModuleList(
            [
                mine.DecoderLayer(
                    d_model, num_heads, d_ff, dropout, activation, norm_first
                )
                for _ in range(num_layers)
            ]
        )

    def forward(self, ids, memory, target_mask, source_mask=None):
        x = self.dropout(self.positions(self.embedding(ids)))
        for layer in self.layers:
            x = layer(x, memory, target_mask, source_mask)
        return self.norm(x)
""",
    "5.D": """
@torch.no_grad()
def greedy_decode(model, source, source_mask, start, end, max_new_tokens):
    ids = torch.full((len(source), 1), start)  # (B, T=1)
    ended = torch.zeros(len(source), dtype=torch.bool)  # (B)
    memory = model.encode(source, source_mask)
    for _ in range(max_new_tokens):
        mask = course.look_ahead_mask(ids.shape[1])
        logits = model.decode(ids, memory, mask, source_mask)
        next_id = logits[:, -1].argmax(dim=-1)
        next_id[ended] = 0
        ids = torch.cat([ids, next_id.unsqueeze(1)], dim=1)
        ended = ended | (next_id == end)
        if ended.all():
            break
    return ids
""",
    "6.E": """
def collate(pairs):
    tables = []
    for side in range(2):
        longest = max(len(pair[side]) for pair in pairs)
        tables.append(
            torch.tensor(
                [pair[side] + [0] * (longest - len(pair[side])) for pair in pairs]
            )
        )
    return tables[0], tables[1]


def shift(target):
    return target[:, :-1], target[:, 1:]
""",
    "6.J": """
def is_causal(model) -> bool:
    ids = torch.randint(0, 11, (1, 10))
    with torch.no_grad():
        before = model(ids)
        for place in range(ids.shape[1]):
            changed = ids.clone()
            changed[0, place] = (ids[0, place] + 1) % 11
            after = model(changed)
            if not torch.allclose(before[:, :place], after[:, :place], atol=1e-5):
                return False
    return True
""",
    "7.K": """
def gru_step(x, h, W_x, W_h, b_x, b_h):
    read = x @ W_x.T + b_x
    past = h @ W_h.T + b_h
    r_x, z_x, n_x = read.chunk(3, dim=-1)
    r_h, z_h, n_h = past.chunk(3, dim=-1)
    r = torch.sigmoid(r_x + r_h)
    z = torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + r * n_h)
    return (1 - z) * n + z * h
""",
    "8.B": """
class Decoder(nn.Module):
    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, target, context):
        states, _ = self.rnn(self.embedding(target), context.unsqueeze(0))
        return self.final_layer(states)
""",
    "8.D": """
class AdditiveAttention(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, 1, bias=False)

    def forward(self, query, memory, mask=None):
        pairs = torch.tanh(self.W_q(query).unsqueeze(2) + self.W_k(memory).unsqueeze(1))
        scores = self.v(pairs).squeeze(-1)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ memory, weights
""",
    "9.A": """
def mask_tokens(ids, special, mask_id, vocab_size):
    selected = (torch.rand(ids.shape) < 0.15) & ~special
    labels = ids.clone()
    labels[~selected] = -100
    inputs = ids.clone()
    dice = torch.rand(ids.shape)
    inputs[selected & (dice < 0.8)] = mask_id
    random = selected & (dice >= 0.8) & (dice < 0.9)
    inputs[random] = torch.randint(0, vocab_size, ids.shape)[random]
    return inputs, labels
""",
    "10.A": """
class GPTBlock(nn.Module):
    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")
        self.attention = mine.MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x):
        mask = mine.look_ahead_mask(x.shape[1])
        h = self.norm1(x)
        x = x + self.dropout(self.attention(h, h, h, mask))
        x = x + self.dropout(self.feed_forward(self.norm2(x)))
        return x
""",
    "10.D": """
def most_frequent_pair(words):
    counts = {}
    for word, count in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] = counts.get(pair, 0) + count
    return max(counts, key=counts.get)


def merge(word, pair):
    symbols = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            symbols.append(word[i] + word[i + 1])
            i += 2
        else:
            symbols.append(word[i])
            i += 1
    return tuple(symbols)
""",
    "11.C": """
def top_k_filter(logits, k):
    k = min(k, logits.shape[-1])
    kth = torch.topk(logits, k, dim=-1).values[:, -1:]
    return logits.masked_fill(logits < kth, float("-inf"))
""",
    "11.D": """
def top_p_filter(logits, p):
    sorted_logits, order = torch.sort(logits, descending=True, dim=-1)
    probs = torch.softmax(sorted_logits, dim=-1)
    cumulative = torch.cumsum(probs, dim=-1)
    remove = cumulative - probs >= p
    remove[:, 0] = False
    mask = torch.zeros_like(remove).scatter(-1, order, remove)
    return logits.masked_fill(mask, float("-inf"))
""",
    "11.E": """
def no_repeat_ngram_filter(logits, ids, n):
    scores = logits.clone()
    for row, text in enumerate(ids.tolist()):
        if len(text) < n:
            continue
        last = text[len(text) - n + 1 :]
        for i in range(len(text) - n + 1):
            if text[i : i + n - 1] == last:
                scores[row, text[i + n - 1]] = float("-inf")
    return scores
""",
    "11.L": """
@torch.no_grad()
def beam_search(model, ids, max_new_tokens, width, end=None):
    beams = [(0.0, ids)]  # pairs of sum and text (1, T)

    def one_round(beams: list) -> list:
        candidates = []
        for total, text in beams:
            if end is not None and text.shape[1] > ids.shape[1] and text[0, -1] == end:
                candidates.append((total, text))
                continue
            logits = model(text).logits[0, -1]
            logprobs = torch.log_softmax(logits, dim=-1)
            best = torch.topk(logprobs, min(width, len(logprobs)))
            for value, token in zip(best.values, best.indices):
                new = torch.cat([text, token.view(1, 1)], dim=1)
                candidates.append((total + value.item(), new))
        candidates.sort(key=lambda one: one[0], reverse=True)
        return candidates[:width]

    for _ in range(max_new_tokens):  # round by round
        beams = one_round(beams)
    means = [(text, total / (text.shape[1] - ids.shape[1])) for total, text in beams]
    return max(means, key=lambda one: one[1])
""",
    "12.A": """
class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return x / rms * self.weight
""",
    "12.B": """
def rotate(x, positions, base=10_000.0):
    half = x.shape[-1] // 2
    frequencies = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = positions.to(torch.float64)[:, None] * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
""",
    "12.D": """
class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_gate = nn.Linear(d_model, d_ff, bias=False)
        self.W_up = nn.Linear(d_model, d_ff, bias=False)
        self.W_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))
""",
    "12.F": """
class GroupedQueryAttention(nn.Module):
    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        self.config = config
        wide = config.num_heads * config.d_head
        narrow = config.num_kv_heads * config.d_head
        self.W_q = nn.Linear(config.d_model, wide, bias=False)
        self.W_k = nn.Linear(config.d_model, narrow, bias=False)
        self.W_v = nn.Linear(config.d_model, narrow, bias=False)
        self.W_o = nn.Linear(wide, config.d_model, bias=False)

    def forward(self, x, past=None, mask=None):
        B, T, _ = x.shape
        c = self.config
        query = self.W_q(x).view(B, T, c.num_heads, c.d_head).transpose(1, 2)
        key = self.W_k(x).view(B, T, c.num_kv_heads, c.d_head).transpose(1, 2)
        value = self.W_v(x).view(B, T, c.num_kv_heads, c.d_head).transpose(1, 2)
        start = 0 if past is None else past[0].shape[2]
        positions = torch.arange(start, start + T)
        query = mine.rotate(query, positions, c.base)
        key = mine.rotate(key, positions, c.base)
        if past is not None:
            key = torch.cat([past[0], key], dim=2)
            value = torch.cat([past[1], value], dim=2)
        if mask is None:
            mask = no_future(T, key.shape[2])
        groups = c.num_heads // c.num_kv_heads
        k = key.repeat_interleave(groups, dim=1)
        v = value.repeat_interleave(groups, dim=1)
        output = attention(query, k, v, mask)
        output = output.transpose(1, 2).reshape(B, T, -1)
        return self.W_o(output), (key, value)
""",
}
