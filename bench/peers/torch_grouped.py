"""RGCN and RGAT in PyTorch for a GPU, with one grouped product for all edge types, and the same compiled.

`torch._grouped_mm` multiplies numbers of 16 bits, so that rows and weights are rounded to bf16 before products. Sums are
computed in float32. Products run per edge: grouped ones cost less than gathering rows of pairs twice.
"""

import torch
from torch_index_add import edge_softmax


def grouped(rows, weights, ends):
    """rows[i] · weights[type of i] in bf16, for rows that are sorted by type; `ends` says where types end."""
    return torch._grouped_mm(rows.bfloat16(), weights.bfloat16(), offs=ends)


def ends_of(case):
    return torch.tensor(case.etype_ptr[1:], dtype=torch.int32, device=case.src.device)


def rgcn(case):
    x, w, root, bias = (case.inputs[name] for name in ("x", "W", "root", "bias"))
    ends, inverse = ends_of(case), case.pair_counts().unsqueeze(1)

    def forward():
        messages = grouped(x.index_select(0, case.src), w, ends).float() * inverse
        return torch.addmm(bias, x, root).index_add(0, case.dst, messages)

    return forward


def rgat(case):
    x, w, w_s, w_t = (case.inputs[name] for name in ("x", "W", "w_s", "w_t"))
    ends = ends_of(case)

    def column(vectors):
        """Vectors as matrices of 16 columns, the least that grouped products take; the gradient needs no gather."""
        return torch.nn.functional.pad(vectors.unsqueeze(2), (0, 15))

    def forward():
        s = grouped(x.index_select(0, case.src), w, ends)
        folded = torch.einsum("rio,ro->ri", w, w_t)
        scores = grouped(s, column(w_s), ends)[:, 0] + grouped(x.index_select(0, case.dst), column(folded), ends)[:, 0]
        att = edge_softmax(torch.nn.functional.leaky_relu(scores.float(), 0.2), case.dst, case.num_nodes)
        zeros = torch.zeros(case.num_nodes, w.shape[2], device=x.device)
        return zeros.index_add(0, case.dst, s.float() * att.unsqueeze(1))

    return forward


def compiled(make):
    return lambda case: torch.compile(make(case))


LAYERS = {
    "rgcn": {"grouped": rgcn, "compiled": compiled(rgcn)},
    "rgat": {"grouped": rgat, "compiled": compiled(rgat)},
}
