#include "bench/compile/DeepModels.h"

namespace hector::bench {

/// RGAT layers, each with weights of its own.
static std::string rgat(int layers) {
  std::string text = R"(def layer(g, before, after, W, w_s, w_t):
    for e in g.edges():
        e["s"] = e.src[before] * W[e.etype]
        t = e.dst[before] * W[e.etype]
        e["att"] = leakyrelu(dot_prod(e["s"], w_s[e.etype]) + dot_prod(t, w_t[e.etype]))
    edge_softmax(g, "att")
    for n in g.nodes():
        n[after] = sum(e["att"] * e["s"] for e in n.incoming_edges())

def rgat(g, x: Node[d])";
  for (int k = 0; k < layers; ++k) {
    std::string i = std::to_string(k);
    text += ", W" + i + ": EdgeType[d, d], s" + i + ": EdgeType[d], t" + i + ": EdgeType[d]";
  }
  text += "):\n    for n in g.nodes():\n        n[\"h0\"] = n.x\n";
  for (int k = 0; k < layers; ++k) {
    std::string i = std::to_string(k), next = std::to_string(k + 1);
    text += "    layer(g, \"h" + i + "\", \"h" + next + "\", W" + i + ", s" + i + ", t" + i + ")\n";
  }
  return text + "    return n[\"h" + std::to_string(layers) + "\"]\n";
}

/// Sums that have nothing to do with each other.
static std::string sums(int count) {
  std::string text = "def sums(g, x: Node[d]", results;
  for (int k = 0; k < count; ++k)
    text += ", W" + std::to_string(k) + ": EdgeType[d, d]";
  text += "):\n    for n in g.nodes():\n";
  for (int k = 0; k < count; ++k) {
    std::string i = std::to_string(k);
    text += "        n[\"o" + i + "\"] = sum(e.src.x * W" + i + "[e.etype] for e in n.incoming_edges())\n";
    results += (k ? ", n[\"o" : "n[\"o") + i + "\"]";
  }
  return text + "    return " + results + "\n";
}

/// APPNP: a sum of neighbours, again and again.
static std::string appnp(int steps) {
  return R"(def appnp(g, x: Node[d], W1: Shared[d, d], b1: Shared[d], W2: Shared[d, d], b2: Shared[d]):
    for n in g.nodes():
        n["norm"] = rsqrt(1.0 + in_degree(n))
        n["h"] = relu(n.x * W1 + b1) * W2 + b2
        n["out"] = n["h"]
    for k in range()" +
         std::to_string(steps) + R"():
        for n in g.nodes():
            n["y"] = n["norm"] * n["out"]
        for n in g.nodes():
            near = n["y"] + sum(e.src["y"] for e in n.incoming_edges())
            n["out"] = 0.9 * n["norm"] * near + 0.1 * n["h"]
    return n["out"]
)";
}

/// A gated graph neural network: one set of weights, read in every step.
static std::string ggnn(int steps) {
  return R"(def gru(m, h, Wi, Wh, bi, bh):
    reset_i, update_i, new_i = split(m * Wi + bi, 3)
    reset_h, update_h, new_h = split(h * Wh + bh, 3)
    update = sigmoid(update_i + update_h)
    new = tanh(new_i + sigmoid(reset_i + reset_h) * new_h)
    return (1.0 - update) * new + update * h

def ggnn(g, x: Node[d], W: EdgeType[d, d], Wi: Shared[d, 3 * d], Wh: Shared[d, 3 * d], bi: Shared[3 * d],
         bh: Shared[3 * d]):
    for n in g.nodes():
        n["out"] = n.x
    for k in range()" +
         std::to_string(steps) + R"():
        for n in g.nodes():
            n["m"] = sum(e.src["out"] * W[e.etype] for e in n.incoming_edges())
        for n in g.nodes():
            n["out"] = gru(n["m"], n["out"], Wi, Wh, bi, bh)
    return n["out"]
)";
}

/// Element-wise work alone.
static std::string chain(int ops) {
  return R"(def chain(g, x: Node[d]):
    for n in g.nodes():
        n["out"] = n.x
    for k in range()" +
         std::to_string(ops / 2) + R"():
        for n in g.nodes():
            n["out"] = tanh(n["out"]) * (k + 1.5)
    return n["out"]
)";
}

std::vector<DeepModel> deepModels() {
  return {{"rgat, 16 layers", rgat(16), 400},   {"rgat, 64 layers", rgat(64), 2000},
          {"appnp, 80 steps", appnp(80), 2000}, {"ggnn, 80 steps", ggnn(80), 2000},
          {"200 sums", sums(200), 2000},        {"800 element-wise ops", chain(800), 2000}};
}

}  // namespace hector::bench
