"""Layers in DGL's idiom, as their authors write them. `test_dgl.py` and `bench/python/dgl_layers.py` use them."""

import dgl
import dgl.function as fn
import torch
import torch.nn as nn
import torch.nn.functional as F
from dgl.nn.functional import edge_softmax


class GraphSage(nn.Module):
    """Hamilton et al. 2017, with the mean of neighbours."""

    def __init__(self, d):
        super().__init__()
        self.linear = nn.Linear(2 * d, d)

    def forward(self, g, h):
        with g.local_scope():
            g.ndata["h"] = h
            g.update_all(message_func=fn.copy_u("h", "m"), reduce_func=fn.mean("m", "h_N"))
            return self.linear(torch.cat([h, g.ndata["h_N"]], dim=1))


def gcn_message(edges):
    return {"m": edges.src["h"] * edges.src["norm"]}


def gcn_reduce(nodes):
    return {"h": torch.sum(nodes.mailbox["m"], dim=1)}


class Gcn(nn.Module):
    """Kipf and Welling 2017, with functions of edges and nodes."""

    def __init__(self, d):
        super(Gcn, self).__init__()
        self.weight = nn.Parameter(torch.randn(d, d) / d**0.5)

    def apply_node(self, nodes):
        return {"h": torch.relu(nodes.data["h"] * nodes.data["norm"])}

    def forward(self, g, h):
        g = g.local_var()
        g.ndata["h"] = torch.mm(h, self.weight)
        g.ndata["norm"] = g.in_degrees().clamp(min=1).to(h.dtype).pow(-0.5).unsqueeze(1)
        g.update_all(gcn_message, gcn_reduce, self.apply_node)
        return g.ndata.pop("h")


class Gat(nn.Module):
    """Velickovic et al. 2018, with built-in functions."""

    def __init__(self, d, heads=4):
        super().__init__()
        self.heads, self.d = heads, d // heads
        self.fc = nn.Linear(d, self.heads * self.d, bias=False)
        self.attn_l = nn.Parameter(torch.randn(1, heads, self.d))
        self.attn_r = nn.Parameter(torch.randn(1, heads, self.d))
        self.attn_drop = nn.Dropout(0.0)

    def forward(self, g, h):
        with g.local_scope():
            feat = self.fc(h).view(-1, self.heads, self.d)
            g.srcdata.update({"ft": feat, "el": (feat * self.attn_l).sum(dim=-1, keepdim=True)})
            g.dstdata.update({"er": (feat * self.attn_r).sum(dim=-1, keepdim=True)})
            g.apply_edges(fn.u_add_v("el", "er", "e"))
            e = F.leaky_relu(g.edata.pop("e"), 0.2)
            g.edata["a"] = self.attn_drop(edge_softmax(g, e))
            g.update_all(fn.u_mul_e("ft", "a", "m"), fn.sum("m", "ft"))
            return g.dstdata["ft"].flatten(1)


class Rgcn(nn.Module):
    """Schlichtkrull et al. 2018, with a weight for each edge."""

    def __init__(self, d, num_rels=3, num_bases=2):
        super().__init__()
        self.num_rels, self.num_bases = num_rels, num_bases
        self.weight = nn.Parameter(torch.randn(num_bases, d, d) / d**0.5)
        self.w_comp = nn.Parameter(torch.randn(num_rels, num_bases))

    def forward(self, g, h):
        with g.local_scope():
            d = self.weight.shape[-1]
            weight = torch.matmul(self.w_comp, self.weight.view(self.num_bases, -1)).view(self.num_rels, -1, d)

            def message(edges):
                w = weight[edges.data["rel_type"]]
                msg = torch.bmm(edges.src["h"].unsqueeze(1), w).squeeze()
                return {"msg": msg * edges.data["norm"]}

            g.ndata["h"] = h
            g.update_all(message, fn.sum(msg="msg", out="h"))
            return torch.relu(g.ndata["h"])


class TypedRgcn(nn.Module):
    """The same with DGL's `TypedLinear`."""

    def __init__(self, d, num_rels=3):
        super().__init__()
        self.linear_r = dgl.nn.TypedLinear(d, d, num_rels, "basis", 2)

    def message(self, edges):
        m = self.linear_r(edges.src["h"], edges.data["rel_type"])
        if "norm" in edges.data:
            m = m * edges.data["norm"]
        return {"m": m}

    def forward(self, g, h):
        with g.local_scope():
            g.srcdata["h"] = h
            g.update_all(self.message, fn.sum("m", "h"))
            return g.dstdata["h"]


class GatedGcn(nn.Module):
    """Bresson and Laurent 2018, in the idiom of the benchmark of graph networks. It returns nodes and edges."""

    def __init__(self, d):
        super().__init__()
        self.A, self.B, self.C, self.D, self.E = (nn.Linear(d, d) for _ in range(5))

    def forward(self, g, h, e):
        with g.local_scope():
            g.ndata.update({"Ah": self.A(h), "Bh": self.B(h), "Dh": self.D(h), "Eh": self.E(h)})
            g.edata["Ce"] = self.C(e)
            g.apply_edges(fn.u_add_v("Dh", "Eh", "DEh"))
            g.edata["e"] = g.edata["DEh"] + g.edata["Ce"]
            g.edata["sigma"] = torch.sigmoid(g.edata["e"])
            g.update_all(fn.u_mul_e("Bh", "sigma", "m"), fn.sum("m", "sum_sigma_h"))
            g.update_all(fn.copy_e("sigma", "m"), fn.sum("m", "sum_sigma"))
            g.ndata["h"] = g.ndata["Ah"] + g.ndata["sum_sigma_h"] / (g.ndata["sum_sigma"] + 1e-6)
            return torch.relu(g.ndata["h"]), torch.relu(g.edata["e"])


class GatedGcnOfFunctions(GatedGcn):
    """The same as it was first written, with two sums over the mailbox."""

    def message_func(self, edges):
        e = edges.data["Ce"] + edges.src["Dh"] + edges.dst["Eh"]
        return {"Bh": edges.src["Bh"], "e": e}

    def reduce_func(self, nodes):
        sigma = torch.sigmoid(nodes.mailbox["e"])
        total = torch.sum(sigma * nodes.mailbox["Bh"], dim=1) / (torch.sum(sigma, dim=1) + 1e-6)
        return {"h": nodes.data["Ah"] + total}

    def forward(self, g, h, e):
        with g.local_scope():
            g.ndata.update({"Ah": self.A(h), "Bh": self.B(h), "Dh": self.D(h), "Eh": self.E(h)})
            g.edata["Ce"] = self.C(e)
            g.update_all(self.message_func, self.reduce_func)
            return torch.relu(g.ndata["h"])


class EdgeConv(nn.Module):
    """Wang et al. 2019."""

    def __init__(self, d):
        super().__init__()
        self.theta, self.phi = nn.Linear(d, d), nn.Linear(d, d)

    def message(self, edges):
        theta_x = self.theta(edges.dst["x"] - edges.src["x"])
        return {"e": F.relu(theta_x + self.phi(edges.src["x"]))}

    def forward(self, g, h):
        with g.local_scope():
            g.ndata["x"] = h
            g.update_all(self.message, fn.max("e", "x"))
            return g.ndata["x"]


class Monet(nn.Module):
    """Monti et al. 2017: Gaussian weights of pseudo coordinates."""

    def __init__(self, d, dim=2, kernels=3):
        super().__init__()
        self.kernels, self.d, self.dim = kernels, d, dim
        self.mu = nn.Parameter(torch.randn(kernels, dim))
        self.inv_sigma = nn.Parameter(torch.rand(kernels, dim) + 0.5)
        self.fc = nn.Linear(d, kernels * d, bias=False)

    def forward(self, g, h, pseudo):
        with g.local_scope():
            g.ndata["h"] = self.fc(h).view(-1, self.kernels, self.d)
            gaussian = -0.5 * (pseudo.view(-1, 1, self.dim) - self.mu.view(1, self.kernels, self.dim)) ** 2
            gaussian = gaussian * (self.inv_sigma.view(1, self.kernels, self.dim) ** 2)
            g.edata["w"] = torch.exp(gaussian.sum(dim=-1, keepdim=True))
            g.update_all(fn.u_mul_e("h", "w", "m"), fn.sum("m", "h"))
            return g.ndata["h"].sum(1)


class Appnp(nn.Module):
    """Klicpera et al. 2019."""

    def __init__(self, d, k=4, alpha=0.1):
        super().__init__()
        self.k, self.alpha = k, alpha
        self.linear = nn.Linear(d, d)

    def forward(self, g, h):
        with g.local_scope():
            norm = torch.pow(g.in_degrees().to(h.dtype).clamp(min=1), -0.5).unsqueeze(1)
            h = feat_0 = self.linear(h)
            for _ in range(self.k):
                g.ndata["h"] = h * norm
                g.update_all(fn.copy_u("h", "m"), fn.sum("m", "h"))
                h = (1 - self.alpha) * (g.ndata.pop("h") * norm) + self.alpha * feat_0
            return h


class GatOfFunctions(nn.Module):
    """GAT as in DGL's tutorial: the graph is the layer's, and a softmax over the mailbox weighs messages."""

    def __init__(self, g, d):
        super(GatOfFunctions, self).__init__()
        self.g = g
        self.fc = nn.Linear(d, d, bias=False)
        self.attn_fc = nn.Linear(2 * d, 1, bias=False)

    def edge_attention(self, edges):
        z2 = torch.cat([edges.src["z"], edges.dst["z"]], dim=1)
        return {"e": F.leaky_relu(self.attn_fc(z2))}

    def message_func(self, edges):
        return {"z": edges.src["z"], "e": edges.data["e"]}

    def reduce_func(self, nodes):
        alpha = F.softmax(nodes.mailbox["e"], dim=1)
        return {"h": torch.sum(alpha * nodes.mailbox["z"], dim=1)}

    def forward(self, h):
        self.g.ndata["z"] = self.fc(h)
        self.g.apply_edges(self.edge_attention)
        self.g.update_all(self.message_func, self.reduce_func)
        return self.g.ndata.pop("h")


class Gin(nn.Module):
    """Xu et al. 2019."""

    def __init__(self, d):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))

    def forward(self, g, h):
        with g.local_scope():
            g.ndata["h"] = h
            g.update_all(fn.copy_u("h", "m"), fn.sum("m", "neigh"))
            return self.mlp((1 + self.eps) * h + g.ndata["neigh"])


class Gatv2(nn.Module):
    """Brody et al. 2022: a leaky ReLU before the vector of attention."""

    def __init__(self, d, heads=4):
        super().__init__()
        self.heads, self.d = heads, d // heads
        self.fc_src, self.fc_dst = nn.Linear(d, d), nn.Linear(d, d)
        self.attn = nn.Parameter(torch.randn(1, heads, self.d))

    def forward(self, g, h):
        with g.local_scope():
            g.srcdata.update({"el": self.fc_src(h).view(-1, self.heads, self.d)})
            g.dstdata.update({"er": self.fc_dst(h).view(-1, self.heads, self.d)})
            g.apply_edges(fn.u_add_v("el", "er", "e"))
            e = F.leaky_relu(g.edata.pop("e"), 0.2)
            g.edata["a"] = edge_softmax(g, (e * self.attn).sum(dim=-1).unsqueeze(dim=2))
            g.update_all(fn.u_mul_e("el", "a", "m"), fn.sum("m", "ft"))
            return g.dstdata["ft"].flatten(1)


class Agnn(nn.Module):
    """Thekumparampil et al. 2018: attention by the cosine of both ends."""

    def __init__(self, d):
        super().__init__()
        self.beta = nn.Parameter(torch.ones(1))

    def forward(self, g, h):
        with g.local_scope():
            g.srcdata["h"] = h
            g.ndata["norm_h"] = F.normalize(h, p=2, dim=-1)
            g.apply_edges(fn.u_dot_v("norm_h", "norm_h", "cos"))
            g.edata["p"] = edge_softmax(g, self.beta * g.edata.pop("cos"))
            g.update_all(fn.u_mul_e("h", "p", "m"), fn.sum("m", "h"))
            return g.dstdata.pop("h")


def src_dot_dst(src, dst, out):
    return lambda edges: {out: (edges.src[src] * edges.dst[dst]).sum(-1, keepdim=True)}


def scaled_exp(field, scale):
    return lambda edges: {field: torch.exp((edges.data[field] / scale).clamp(-5, 5))}


class GraphTransformer(nn.Module):
    """Dwivedi and Bresson 2021: scaled products of queries and keys, clamped before the exponential."""

    def __init__(self, d, heads=4):
        super().__init__()
        self.heads, self.d = heads, d // heads
        self.Q, self.K, self.V = (nn.Linear(d, d, bias=False) for _ in range(3))

    def forward(self, g, h):
        with g.local_scope():
            for name, linear in (("Q_h", self.Q), ("K_h", self.K), ("V_h", self.V)):
                g.ndata[name] = linear(h).view(-1, self.heads, self.d)
            g.apply_edges(src_dot_dst("K_h", "Q_h", "score"))
            g.apply_edges(scaled_exp("score", self.d**0.5))
            g.update_all(fn.u_mul_e("V_h", "score", "V_h"), fn.sum("V_h", "wV"))
            g.update_all(fn.copy_e("score", "score"), fn.sum("score", "z"))
            return (g.ndata["wV"] / (g.ndata["z"] + 1e-6)).flatten(1)


def aggregate_std(h):
    var = torch.mean(h * h, dim=1) - torch.mean(h, dim=1) ** 2
    return torch.sqrt(torch.relu(var) + 1e-5)


class Pna(nn.Module):
    """Corso et al. 2020: four aggregations of a tower's messages, without scalers."""

    def __init__(self, d):
        super().__init__()
        self.pretrans, self.posttrans = nn.Linear(2 * d, d), nn.Linear(5 * d, d)

    def pretrans_edges(self, edges):
        return {"e": self.pretrans(torch.cat([edges.src["h"], edges.dst["h"]], dim=1))}

    def message_func(self, edges):
        return {"e": edges.data["e"]}

    def aggregate(self, h):
        found = [torch.mean(h, dim=1), torch.max(h, dim=1)[0], torch.min(h, dim=1)[0], aggregate_std(h)]
        return torch.cat(found, dim=1)

    def reduce_func(self, nodes):
        return {"h": self.aggregate(nodes.mailbox["e"])}

    def forward(self, g, h):
        with g.local_scope():
            g.ndata["h"] = h
            g.apply_edges(self.pretrans_edges)
            # Nodes without messages keep what they have, so names differ.
            g.update_all(self.message_func, lambda nodes: {"all": self.reduce_func(nodes)["h"]})
            return self.posttrans(torch.cat([h, g.ndata["all"]], dim=1))


class PnaWithScalers(Pna):
    """The same with scalers, which take the number of messages of a node from the mailbox."""

    def reduce_func(self, nodes):
        h = nodes.mailbox["e"]
        found, degree = self.aggregate(h), h.shape[-2]
        return {"h": found * (torch.log(torch.tensor(degree + 1.0)) / 2.0)}


class LstmSage(nn.Module):
    """GraphSAGE with an LSTM over messages, which Hector has no word for."""

    def __init__(self, d):
        super().__init__()
        self.lstm = nn.LSTM(d, d, batch_first=True)

    def reduce(self, nodes):
        m = nodes.mailbox["m"]
        state = (m.new_zeros((1, m.shape[0], m.shape[2])), m.new_zeros((1, m.shape[0], m.shape[2])))
        _, (rst, _) = self.lstm(m, state)
        return {"h": rst.squeeze(0)}

    def forward(self, g, h):
        with g.local_scope():
            g.ndata["h"] = h
            g.update_all(fn.copy_u("h", "m"), self.reduce)
            return g.ndata["h"]


class SortedMessages(nn.Module):
    """Messages with sorted columns, which Hector has no word for."""

    def message(self, edges):
        return {"m": torch.sort(edges.src["h"], dim=1)[0]}

    def forward(self, g, h):
        with g.local_scope():
            g.ndata["h"] = h
            g.update_all(self.message, fn.sum("m", "h"))
            return g.ndata["h"]
