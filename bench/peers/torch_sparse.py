"""RGCN, RGAT and HGT in PyTorch with sparse matrices, written for speed alone.

Products run once per (node, edge type) pair and not per edge, one matrix product per type into one table. Sums over
edges are products with sparse matrices (CSR) made once per graph, so that no row is copied to an edge. Attention scores
are sampled products. Each has its own gradient, made of the same operations.
"""

import math

import torch
from case import Pairs


def csr(rows, columns, values, shape):
    """A sparse matrix, and the order in which it has the entries given."""
    order = torch.argsort(rows * shape[1] + columns)
    ptr = torch.zeros(shape[0] + 1, dtype=torch.int64)
    ptr[1:] = torch.bincount(rows, minlength=shape[0]).cumsum(0)
    return torch.sparse_csr_tensor(ptr, columns[order], values[order], shape), order


class Pattern:
    """Where a sparse matrix has entries; values come with each call."""

    def __init__(self, rows, columns, shape):
        order = torch.argsort(rows * shape[1] + columns)
        self.rows, self.columns, self.shape, self.order = rows[order], columns[order], shape, order
        zeros = torch.zeros(len(rows))
        self.matrix, _ = csr(self.rows, self.columns, zeros, shape)
        self.transposed, self.transposed_order = csr(self.columns, self.rows, zeros, shape[::-1])

    def with_values(self, values):
        m = self.matrix
        return torch.sparse_csr_tensor(m.crow_indices(), m.col_indices(), values, self.shape)

    def transposed_with_values(self, values):
        m = self.transposed
        return torch.sparse_csr_tensor(m.crow_indices(), m.col_indices(), values[self.transposed_order], m.shape)


class Fixed:
    """A sparse matrix that nothing is learned of."""

    def __init__(self, rows, columns, values, shape):
        self.matrix, _ = csr(rows, columns, values, shape)
        self.transposed, _ = csr(columns, rows, values, shape[::-1])

    def __call__(self, x):
        return FixedProduct.apply(x, self)


class FixedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, fixed):
        ctx.fixed = fixed
        return fixed.matrix @ x

    @staticmethod
    def backward(ctx, grad):
        return ctx.fixed.transposed @ grad, None


class Gather(torch.autograd.Function):
    """Rows of `x`; `sums` is the matrix that adds them up again."""

    @staticmethod
    def forward(ctx, x, index, sums):
        ctx.sums = sums
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx, grad):
        return ctx.sums @ grad, None, None


class TypedProduct(torch.autograd.Function):
    """y[i] = x[i] · w[type of i], for rows that are sorted by type; `ptr` says where types start."""

    @staticmethod
    def forward(ctx, x, w, ptr):
        ctx.save_for_backward(x, w)
        ctx.ptr = ptr
        y = x.new_empty(len(x), w.shape[2])
        for i, (begin, end) in enumerate(zip(ptr, ptr[1:])):
            if begin < end:
                torch.mm(x[begin:end], w[i], out=y[begin:end])
        return y

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.zeros_like(w)
        for i, (begin, end) in enumerate(zip(ctx.ptr, ctx.ptr[1:])):
            if begin < end:
                torch.mm(grad[begin:end], w[i].T, out=dx[begin:end])
                torch.mm(x[begin:end].T, grad[begin:end], out=dw[i])
        return dx, dw, None


class WeightedSum(torch.autograd.Function):
    """out = A · x, where A has the values `a`."""

    @staticmethod
    def forward(ctx, a, x, pattern):
        ctx.save_for_backward(a, x)
        ctx.pattern = pattern
        return pattern.with_values(a) @ x

    @staticmethod
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        da = torch.sparse.sampled_addmm(ctx.pattern.matrix, grad, x.T, beta=0).values()
        return da, ctx.pattern.transposed_with_values(a) @ grad, None


class SampledProduct(torch.autograd.Function):
    """The entries of x · yᵀ where the pattern has some."""

    @staticmethod
    def forward(ctx, x, y, pattern):
        ctx.save_for_backward(x, y)
        ctx.pattern = pattern
        return torch.sparse.sampled_addmm(pattern.matrix, x, y.T, beta=0).values()

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return ctx.pattern.with_values(grad) @ y, ctx.pattern.transposed_with_values(grad) @ x, None


def segment_softmax(scores, rows, count):
    """Softmax over the entries of each row."""
    with torch.no_grad():
        top = torch.full((count,), -torch.inf, device=rows.device).scatter_reduce(0, rows, scores, "amax")
    weights = (scores - top.index_select(0, rows)).exp()
    total = torch.zeros(count, device=rows.device).index_add(0, rows, weights)
    return weights / total.index_select(0, rows)


class SummedPairs(Pairs):
    """Pairs, with the matrix that adds their rows up at nodes."""

    def __init__(self, case, node):
        super().__init__(case, node)
        self.ptr = [0, *torch.tensor(self.counts).cumsum(0).tolist()]
        ones = torch.ones(self.count)
        self.sums, _ = csr(self.node, torch.arange(self.count), ones, (case.num_nodes, self.count))

    def gather(self, x):
        return Gather.apply(x, self.node, self.sums)

    def product(self, x, w):
        return TypedProduct.apply(x, w, self.ptr)


def rgcn(case):
    x, w, root, bias = (case.inputs[name] for name in ("x", "W", "root", "bias"))
    n, inverse = case.num_nodes, case.pair_counts()
    by_src, by_dst = SummedPairs(case, case.src), SummedPairs(case, case.dst)
    # Products run where there are fewer rows: before the sum, or between its two halves.
    if by_src.count <= by_dst.count:
        total = Fixed(case.dst, by_src.of_edge, inverse, (n, by_src.count))
        return lambda: torch.addmm(bias, x, root) + total(by_src.product(by_src.gather(x), w))
    means = Fixed(by_dst.of_edge, case.src, inverse, (by_dst.count, n))
    total = Fixed(by_dst.node, torch.arange(by_dst.count), torch.ones(by_dst.count), (n, by_dst.count))
    return lambda: torch.addmm(bias, x, root) + total(by_dst.product(means(x), w))


def rgat(case):
    x, w, w_s, w_t = (case.inputs[name] for name in ("x", "W", "w_s", "w_t"))
    n = case.num_nodes
    by_src, by_dst = SummedPairs(case, case.src), SummedPairs(case, case.dst)
    pattern = Pattern(case.dst, by_src.of_edge, (n, by_src.count))
    dst_pair = by_dst.of_edge[pattern.order]

    def fold():
        """x · W · w_t = x · (W · w_t)."""
        return torch.bmm(w, w_t.unsqueeze(2))

    folded = None if case.training else fold()

    def forward():
        s = by_src.product(by_src.gather(x), w)
        from_src = by_src.product(s, w_s.unsqueeze(2)).squeeze(1)
        from_dst = by_dst.product(by_dst.gather(x), fold() if folded is None else folded).squeeze(1)
        scores = from_src.index_select(0, pattern.columns) + from_dst.index_select(0, dst_pair)
        att = segment_softmax(torch.nn.functional.leaky_relu(scores, 0.2), pattern.rows, n)
        return WeightedSum.apply(att, s, pattern)

    return forward


def hgt(case):
    i = case.inputs
    x, d, n = i["x"], i["x"].shape[1], case.num_nodes
    by_src = SummedPairs(case, case.src)
    pattern = Pattern(case.dst, by_src.of_edge, (n, by_src.count))

    def by_type(rows, w, b):
        parts = [
            torch.addmm(b[t], rows[begin:end], w[t])
            for t, (begin, end) in enumerate(zip(case.ntype_ptr, case.ntype_ptr[1:]))
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def prepare():
        w = torch.cat([i["Wk"], i["Wq"], i["Wv"]], 2)
        b = torch.cat([i["bk"], i["bq"], i["bv"]], 1)
        return w, b, i["k_rel"] * (i["p_rel"] / math.sqrt(d)).view(-1, 1, 1)

    prepared = None if case.training else prepare()

    def forward():
        w, b, k_rel = prepare() if prepared is None else prepared
        k, q, v = by_type(x, w, b).split(d, 1)
        keys = by_src.product(by_src.gather(k), k_rel)
        values = by_src.product(by_src.gather(v), i["v_rel"])
        att = segment_softmax(SampledProduct.apply(q.contiguous(), keys, pattern), pattern.rows, n)
        o = torch.nn.functional.gelu(WeightedSum.apply(att, values, pattern))
        beta = torch.sigmoid(i["skip"])[case.ntype].unsqueeze(1)
        return torch.lerp(x, by_type(o, i["Wo"], i["bo"]), beta)

    return forward


LAYERS = {"rgcn": rgcn, "rgat": rgat, "hgt": hgt}
