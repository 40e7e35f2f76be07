#include "test/numerics/Layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace hector::numerics {

using G = const PlainGraph &;
using In = const Inputs &;

namespace {

//===- Relational layers -----------------------------------------------------------------------------------------===//

/// R-GCN with any way to turn a row by a relation's weight.
Tables rgcnWith(G g, In in, int64_t size, const std::function<Row(const Row &, int64_t)> &turn) {
  Row root = in("root"), bias = in("bias");
  return {{"out", table(g.numNodes(), size, [&](int64_t v) {
             Row out = times(in("x", v), root) + bias;
             for (int64_t r = 0; r < g.numRelations; ++r)
               out = out +
                     meanOf(ofType(g, g.incoming(v), r), size, [&](int64_t e) { return turn(in("x", g.src[e]), r); });
             return out;
           })}};
}

Tables rgcn(G g, In in) {
  return rgcnWith(g, in, in.size("d_out"), [&](const Row &x, int64_t r) { return times(x, in("W", r)); });
}

Tables rgcnBases(G g, In in) {
  int64_t bases = in.size("bases");
  return rgcnWith(g, in, in.size("d_out"), [&](const Row &x, int64_t r) {
    Row y = zeros(in.size("d_out"));
    for (int64_t b = 0; b < bases; ++b)
      y = y + in("coef", r)[b] * times(x, part(in("basis"), b, bases));
    return y;
  });
}

Tables rgcnBlocks(G g, In in) {
  int64_t blocks = in.size("blocks");
  return rgcnWith(g, in, blocks * in.size("o"), [&](const Row &x, int64_t r) {
    Row W = in("W", r), y;
    for (int64_t b = 0; b < blocks; ++b)
      y = join({y, times(part(x, b, blocks), part(W, b, blocks))});
    return y;
  });
}

Tables rgat(G g, In in) {
  std::vector<Row> messages, scores;
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    int64_t r = g.etype[e];
    Row s = times(in("x", g.src[e]), in("W", r)), t = times(in("x", g.dst[e]), in("W", r));
    messages.push_back(s);
    scores.push_back({leaky(dot(s, in("w_s", r)) + dot(t, in("w_t", r)))});
  }
  softmaxOverIncoming(g, scores);
  int64_t d = in.size("d_out");
  return {{"out", table(g.numNodes(), d, [&](int64_t v) { return weighHeads(g.incoming(v), scores, messages, d); })}};
}

Tables rgatHeads(G g, In in, bool isWithin) {
  int64_t heads = in.size("heads"), d = in.size("d");
  Row q = in("q"), k = in("k");
  std::vector<Row> messages, scores;
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    Row s = times(in("x", g.src[e]), in("W", g.etype[e])), t = times(in("x", g.dst[e]), in("W", g.etype[e]));
    Row score;
    for (int64_t h = 0; h < heads; ++h) {
      double sum = 0.0;
      for (int64_t i = 0; i < heads * d; ++i)
        sum += t[i] * q[i * heads + h] + s[i] * k[i * heads + h];
      score.push_back(leaky(sum));
    }
    messages.push_back(s);
    scores.push_back(score);
  }
  if (isWithin)
    softmaxWithinRelations(g, scores);
  else
    softmaxOverIncoming(g, scores);
  return {{"out", table(g.numNodes(), heads * d, [&](int64_t v) {
             return weighHeads(g.incoming(v), scores, messages, heads * d) + in("bias");
           })}};
}

/// HGT with `heads` heads of size `d`; one head is the layer without.
Tables hgtWith(G g, In in, int64_t heads, int64_t d) {
  auto project = [&](const std::string &what) {
    return rows(g.numNodes(),
                [&](int64_t n) { return times(in("x", n), in("W" + what, g.ntype(n))) + in("b" + what, g.ntype(n)); });
  };
  std::vector<Row> k = project("k"), q = project("q"), v = project("v"), scores, messages;
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    int64_t r = g.etype[e], from = g.src[e];
    Row kRel = in("k_rel", r), vRel = in("v_rel", r), score, message;
    for (int64_t h = 0; h < heads; ++h) {
      Row key = times(part(k[from], h, heads), part(kRel, h, heads));
      score.push_back(dot(part(q[g.dst[e]], h, heads), key) * in("p_rel", r)[h] / std::sqrt(static_cast<double>(d)));
      message = join({message, times(part(v[from], h, heads), part(vRel, h, heads))});
    }
    scores.push_back(score);
    messages.push_back(message);
  }
  softmaxOverIncoming(g, scores);
  return {{"out", table(g.numNodes(), heads * d, [&](int64_t v) {
             Row o = weighHeads(g.incoming(v), scores, messages, heads * d);
             Row y = times(each(o, gelu), in("Wo", g.ntype(v))) + in("bo", g.ntype(v));
             double beta = sigmoid(in.number("skip", g.ntype(v)));
             return beta * y + (1.0 - beta) * in("x", v);
           })}};
}

Tables han(G g, In in) {
  int64_t d = in.size("d");
  std::vector<Row> h = rows(g.numNodes(), [&](int64_t n) { return times(in("x", n), in("W")); });
  std::vector<Row> scores = rows(g.numEdges(), [&](int64_t e) {
    int64_t r = g.etype[e];
    return Row{leaky(dot(h[g.src[e]], in("a_src", r)) + dot(h[g.dst[e]], in("a_dst", r)))};
  });
  softmaxWithinRelations(g, scores);
  // z[r] has a row for each node with edges of type r.
  std::vector<std::map<int64_t, Row>> z(g.numRelations);
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    Row &sum = z[g.etype[e]].try_emplace(g.dst[e], zeros(d)).first->second;
    sum = sum + scores[e][0] * h[g.src[e]];
  }
  std::vector<double> weight(g.numRelations, 0.0);
  double total = 0.0;
  for (int64_t r = 0; r < g.numRelations; ++r) {
    double importance = 0.0;
    for (auto &[node, row] : z[r]) {
      row = each(row, elu);
      importance += dot(each(times(row, in("S")) + in("s"), std::tanh), in("q")) / static_cast<double>(z[r].size());
    }
    weight[r] = z[r].empty() ? 0.0 : std::exp(importance);
    total += weight[r];
  }
  return {{"out", table(g.numNodes(), d, [&](int64_t v) {
             Row out = zeros(d);
             for (int64_t r = 0; r < g.numRelations; ++r)
               if (auto found = z[r].find(v); found != z[r].end())
                 out = out + weight[r] / total * found->second;
             return out;
           })}};
}

Tables simpleHgn(G g, In in, double beta, bool activation, bool isUnit) {
  int64_t heads = in.size("heads"), size = heads * in.size("d");
  std::vector<Row> h = rows(g.numNodes(), [&](int64_t n) { return times(in("x", n), in("W")); });
  std::vector<Row> scores, messages;
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    Row rel = times(in("rel", g.etype[e]), in("W_r")), score;
    for (int64_t k = 0; k < heads; ++k)
      score.push_back(leaky(dot(part(h[g.src[e]], k, heads), part(in("a_src"), k, heads)) +
                            dot(part(h[g.dst[e]], k, heads), part(in("a_dst"), k, heads)) +
                            dot(part(rel, k, heads), part(in("a_rel"), k, heads))));
    scores.push_back(score);
    messages.push_back(h[g.src[e]]);
  }
  softmaxOverIncoming(g, scores);
  for (int64_t e = 0; e < g.numEdges(); ++e)
    scores[e] = (1.0 - beta) * scores[e] + beta * in("before", e);
  return {{"a", table(g.numEdges(), heads, [&](int64_t e) { return scores[e]; })},
          {"out", table(g.numNodes(), size, [&](int64_t v) {
             Row out = weighHeads(g.incoming(v), scores, messages, size) + times(in("x", v), in("W_res"));
             if (activation)
               out = each(out, elu);
             return isUnit ? unit(out) : out;
           })}};
}

Tables compgcn(G g, In in, bool isProduct) {
  int64_t size = in.size("d_out");
  auto phi = [&](const Row &x, const Row &z) { return isProduct ? x * z : x - z; };
  return {{"out", table(g.numNodes(), size,
                        [&](int64_t v) {
                          Row total = times(phi(in("x", v), in("loop")), in("W_loop"));
                          for (int64_t e = 0; e < g.numEdges(); ++e) {
                            if (g.dst[e] == v)
                              total = total + times(phi(in("x", g.src[e]), in("z", g.etype[e])), in("W_in"));
                            if (g.src[e] == v)
                              total = total + times(phi(in("x", g.dst[e]), in("back", g.etype[e])), in("W_out"));
                          }
                          return each((1.0 / 3.0) * total + in("bias"), std::tanh);
                        })},
          {"z_out", table(g.numRelations, size, [&](int64_t r) { return times(in("z", r), in("W_rel")); })},
          {"back_out", table(g.numRelations, size, [&](int64_t r) { return times(in("back", r), in("W_rel")); })}};
}

Tables film(G g, In in) {
  int64_t d = in.size("d");
  auto modulate = [&](const Row &message, const Row &x, const Row &F) {
    Row both = times(x, F);
    return each(part(both, 0, 2) * message + part(both, 1, 2), relu);
  };
  return {{"out", table(g.numNodes(), d, [&](int64_t v) {
             Row x = in("x", v), out = modulate(times(x, in("W0")), x, in("F0"));
             for (int64_t r = 0; r < g.numRelations; ++r)
               out = out + meanOf(ofType(g, g.incoming(v), r), d, [&](int64_t e) {
                       return modulate(times(in("x", g.src[e]), in("W", r)), x, in("F", r));
                     });
             return out;
           })}};
}

Tables ggnn(G g, In in, int64_t steps) {
  int64_t d = in.size("d");
  std::vector<Row> h = rows(g.numNodes(), [&](int64_t n) { return in("x", n); });
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Row> next;
    for (int64_t v = 0; v < g.numNodes(); ++v) {
      Row m = sumOf(g.incoming(v), d, [&](int64_t e) { return times(h[g.src[e]], in("W", g.etype[e])); });
      Row i = times(m, in("Wi")) + in("bi"), s = times(h[v], in("Wh")) + in("bh"), state;
      for (int64_t c = 0; c < d; ++c) {
        double reset = sigmoid(i[c] + s[c]), update = sigmoid(i[d + c] + s[d + c]);
        double fresh = std::tanh(i[2 * d + c] + reset * s[2 * d + c]);
        state.push_back((1.0 - update) * fresh + update * h[v][c]);
      }
      next.push_back(state);
    }
    h = next;
  }
  return {{"out", table(g.numNodes(), d, [&](int64_t v) { return h[v]; })}};
}

//===- Layers without types --------------------------------------------------------------------------------------===//

Tables gcn(G g, In in) {
  std::vector<double> degree(g.numNodes(), 1.0);
  for (int64_t e = 0; e < g.numEdges(); ++e)
    degree[g.dst[e]] += g.src[e] != g.dst[e];
  return {{"out", table(g.numNodes(), in.size("d_out"), [&](int64_t v) {
             Row total = (1.0 / degree[v]) * times(in("x", v), in("W"));
             for (int64_t e : g.incoming(v))
               if (g.src[e] != v)
                 total = total + (1.0 / std::sqrt(degree[v] * degree[g.src[e]])) * times(in("x", g.src[e]), in("W"));
             return total + in("bias");
           })}};
}

Tables graphsage(G g, In in, const std::string &aggregate, bool isUnit) {
  int64_t d = in.size("d_in");
  return {{"out", table(g.numNodes(), in.size("d_out"), [&](int64_t v) {
             Row near = zeros(d);
             std::vector<int64_t> edges = g.incoming(v);
             for (int64_t c = 0; c < d && !edges.empty(); ++c) {
               double sum = 0.0, top = -INFINITY;
               for (int64_t e : edges) {
                 sum += in("x", g.src[e])[c];
                 top = std::max(top, in("x", g.src[e])[c]);
               }
               near[c] = aggregate == "sum" ? sum : aggregate == "max" ? top : sum / static_cast<double>(edges.size());
             }
             Row out = times(near, in("Wl")) + in("bias") + times(in("x", v), in("Wr"));
             return isUnit ? unit(out) : out;
           })}};
}

Row perceptron(In in, const Row &y) {
  return times(each(times(y, in("W1")) + in("b1"), relu), in("W2")) + in("b2");
}

Tables gin(G g, In in) {
  return {{"out", table(g.numNodes(), in.size("d_out"), [&](int64_t v) {
             Row y = (1.0 + in.number("epsilon")) * in("x", v);
             for (int64_t e : g.incoming(v))
               y = y + in("x", g.src[e]);
             return perceptron(in, y);
           })}};
}

Tables appnp(G g, In in, int64_t steps, double alpha) {
  std::vector<Row> h = rows(g.numNodes(), [&](int64_t n) { return perceptron(in, in("x", n)); }), z = h;
  auto degree = [&](int64_t v) { return 1.0 + static_cast<double>(g.incoming(v).size()); };
  for (int64_t step = 0; step < steps; ++step)
    z = rows(g.numNodes(), [&, before = z](int64_t v) {
      Row near = (1.0 / degree(v)) * before[v];
      for (int64_t e : g.incoming(v))
        near = near + (1.0 / std::sqrt(degree(v) * degree(g.src[e]))) * before[g.src[e]];
      return (1.0 - alpha) * near + alpha * h[v];
    });
  return {{"out", table(g.numNodes(), in.size("d_out"), [&](int64_t v) { return z[v]; })}};
}

Tables dirGnn(G g, In in, double alpha) {
  int64_t d = in.size("d_in");
  return {{"out", table(g.numNodes(), in.size("d_out"), [&](int64_t v) {
             Row before = meanOf(g.incoming(v), d, [&](int64_t e) { return in("x", g.src[e]); });
             Row after = meanOf(g.outgoing(v), d, [&](int64_t e) { return in("x", g.dst[e]); });
             return times(in("x", v), in("W0")) + in("bias") + alpha * times(before, in("W_in")) +
                    (1.0 - alpha) * times(after, in("W_out"));
           })}};
}

Tables gat(G g, In in, bool isMean, double slope) {
  int64_t heads = in.size("heads"), d = in.size("d");
  std::vector<Row> h = rows(g.numNodes(), [&](int64_t n) { return times(in("x", n), in("W")); });
  std::vector<Row> scores, messages;
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    Row score;
    for (int64_t k = 0; k < heads; ++k)
      score.push_back(leaky(dot(part(h[g.src[e]], k, heads), part(in("att_src"), k, heads)) +
                                dot(part(h[g.dst[e]], k, heads), part(in("att_dst"), k, heads)),
                            slope));
    scores.push_back(score);
    messages.push_back(h[g.src[e]]);
  }
  softmaxOverIncoming(g, scores);
  return {{"out", table(g.numNodes(), isMean ? d : heads * d, [&](int64_t v) {
             Row o = weighHeads(g.incoming(v), scores, messages, heads * d);
             if (!isMean)
               return o + in("bias");
             Row average = zeros(d);
             for (int64_t k = 0; k < heads; ++k)
               average = average + (1.0 / static_cast<double>(heads)) * part(o, k, heads);
             return average + in("bias");
           })}};
}

Tables gatv2(G g, In in, double slope) {
  int64_t heads = in.size("heads"), size = heads * in.size("d");
  std::vector<Row> scores, messages;
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    Row l = times(in("x", g.src[e]), in("Wl")), sum = l + times(in("x", g.dst[e]), in("Wr")), score;
    for (double &value : sum)
      value = leaky(value, slope);
    for (int64_t k = 0; k < heads; ++k)
      score.push_back(dot(part(sum, k, heads), part(in("att"), k, heads)));
    scores.push_back(score);
    messages.push_back(l);
  }
  softmaxOverIncoming(g, scores);
  return {{"out", table(g.numNodes(), size,
                        [&](int64_t v) { return weighHeads(g.incoming(v), scores, messages, size) + in("bias"); })}};
}

Tables transformerConv(G g, In in, bool isGated) {
  int64_t heads = in.size("heads"), d = in.size("d");
  std::vector<Row> scores, messages;
  for (int64_t e = 0; e < g.numEdges(); ++e) {
    Row edge = times(in("w", e), in("We")), score;
    Row key = times(in("x", g.src[e]), in("Wk")) + edge, query = times(in("x", g.dst[e]), in("Wq"));
    for (int64_t k = 0; k < heads; ++k)
      score.push_back(dot(part(query, k, heads), part(key, k, heads)) / std::sqrt(static_cast<double>(d)));
    scores.push_back(score);
    messages.push_back(times(in("x", g.src[e]), in("Wv")) + edge);
  }
  softmaxOverIncoming(g, scores);
  return {{"out", table(g.numNodes(), heads * d, [&](int64_t v) {
             Row o = weighHeads(g.incoming(v), scores, messages, heads * d), s = times(in("x", v), in("Ws"));
             double beta = sigmoid(dot(join({o, s, o - s}), in("gate")));
             return isGated ? beta * s + (1.0 - beta) * o : s + o;
           })}};
}

Tables l1Attention(G g, In in, double eps) {
  int64_t heads = in.size("heads"), size = heads * in.size("d");
  std::vector<Row> h = rows(g.numNodes(), [&](int64_t n) { return times(in("x", n), in("W")); });
  return {{"out", table(g.numNodes(), size, [&](int64_t v) {
             Row out;
             for (int64_t k = 0; k < heads; ++k) {
               Row total = zeros(in.size("d"));
               double norm = eps;
               for (int64_t e : g.incoming(v)) {
                 Row from = part(h[g.src[e]], k, heads), to = part(h[v], k, heads);
                 double a = dot(from, part(in("att_src"), k, heads)) + dot(to, part(in("att_dst"), k, heads));
                 norm += std::abs(a);
                 total = total + a * from;
               }
               out = join({out, (1.0 / norm) * total});
             }
             return out;
           })}};
}

Tables gatedGcn(G g, In in, double eps) {
  int64_t d = in.size("d");
  std::vector<Row> scores = rows(g.numEdges(), [&](int64_t e) {
    return times(in("w", e), in("C")) + times(in("x", g.dst[e]), in("D")) + times(in("x", g.src[e]), in("E"));
  });
  return {{"out", table(g.numNodes(), d,
                        [&](int64_t v) {
                          Row total(d, eps), near = zeros(d);
                          for (int64_t e : g.incoming(v))
                            total = total + each(scores[e], sigmoid);
                          for (int64_t e : g.incoming(v))
                            near = near + each(scores[e], sigmoid) / total * times(in("x", g.src[e]), in("B"));
                          return in("x", v) + each(times(in("x", v), in("A")) + near, relu);
                        })},
          {"out_edge", table(g.numEdges(), d, [&](int64_t e) { return in("w", e) + each(scores[e], relu); })}};
}

Tables edgeconv(G g, In in) {
  int64_t size = in.size("d_out");
  return {{"out", table(g.numNodes(), size, [&](int64_t v) {
             std::vector<int64_t> edges = g.incoming(v);
             if (edges.empty())
               return zeros(size);
             Row out(size, -INFINITY);
             for (int64_t e : edges) {
               Row m = times(in("x", g.src[e]) - in("x", v), in("theta")) + times(in("x", v), in("phi"));
               for (int64_t c = 0; c < size; ++c)
                 out[c] = std::max(out[c], m[c]);
             }
             return out;
           })}};
}

Tables monet(G g, In in) {
  int64_t kernels = in.size("kernels"), d = in.size("d"), r = in.size("r");
  Row mu = in("mu"), inverse = in("inv_sigma");
  auto scale = [&](int64_t v) { return 1.0 / std::sqrt(static_cast<double>(g.incoming(v).size()) + 1.0); };
  return {{"out", table(g.numNodes(), d, [&](int64_t v) {
             Row total = zeros(d);
             for (int64_t e : g.incoming(v)) {
               Row m = each(times({scale(g.src[e]), scale(v)}, in("P")) + in("p"), std::tanh);
               Row h = times(in("x", g.src[e]), in("W"));
               for (int64_t k = 0; k < kernels; ++k) {
                 double distance = 0.0;
                 for (int64_t i = 0; i < r; ++i)
                   distance += std::pow((m[i] - mu[k * r + i]) * inverse[k * r + i], 2);
                 total = total + std::exp(-0.5 * distance) / static_cast<double>(kernels) * part(h, k, kernels);
               }
             }
             return total;
           })}};
}

Tables pna(G g, In in, double delta) {
  int64_t d = in.size("d");
  return {{"out", table(g.numNodes(), in.size("d_out"), [&](int64_t v) {
             std::vector<int64_t> edges = g.incoming(v);
             double count = static_cast<double>(edges.size());
             std::vector<Row> messages;
             for (int64_t e : edges)
               messages.push_back(times(join({in("x", v), in("x", g.src[e])}), in("M")) + in("m0"));
             Row average = zeros(d), top = zeros(d), bottom = zeros(d), deviation(d, std::sqrt(1e-5));
             for (int64_t c = 0; c < d && !edges.empty(); ++c) {
               std::vector<double> m;
               for (const Row &message : messages)
                 m.push_back(message[c]);
               for (double value : m)
                 average[c] += value / count;
               double variance = 0.0;
               for (double value : m)
                 variance += (value - average[c]) * (value - average[c]) / count;
               top[c] = *std::max_element(m.begin(), m.end());
               bottom[c] = *std::min_element(m.begin(), m.end());
               deviation[c] = std::sqrt(variance + 1e-5);
             }
             Row a = join({average, top, bottom, deviation});
             double s = std::log(std::max(count, 1.0) + 1.0) / delta;
             return times(join({in("x", v), a, s * a, (1.0 / s) * a}), in("W")) + in("bias");
           })}};
}

Tables genconv(G g, In in, double power, double eps) {
  int64_t d = in.size("d");
  return {{"out", table(g.numNodes(), in.size("d_out"), [&](int64_t v) {
             Row y = in("x", v);
             std::vector<int64_t> edges = g.incoming(v);
             for (int64_t c = 0; c < d && !edges.empty(); ++c) {
               double above = 0.0, below = 0.0, powers = 0.0;
               for (int64_t e : edges) {
                 double m = relu(in("x", g.src[e])[c] + in("w", e)[c]) + eps;
                 double weight = std::exp(in.number("t") * m);
                 above += weight * m;
                 below += weight;
                 powers += std::pow(m, power) / static_cast<double>(edges.size());
               }
               y[c] += power == 0.0 ? above / below : std::pow(powers, 1.0 / power);
             }
             return perceptron(in, y);
           })}};
}

Tables egnn(G g, In in) {
  int64_t dims = in.size("dims"), size = in.size("d_m");
  auto away = [&](int64_t e) { return in("c", g.dst[e]) - in("c", g.src[e]); };
  std::vector<Row> m = rows(g.numEdges(), [&](int64_t e) {
    Row y = join({in("x", g.dst[e]), in("x", g.src[e]), {dot(away(e), away(e))}});
    return each(times(each(times(y, in("E1")) + in("e1"), silu), in("E2")) + in("e2"), silu);
  });
  return {{"out", table(g.numNodes(), in.size("d"),
                        [&](int64_t v) {
                          Row near = sumOf(g.incoming(v), size, [&](int64_t e) { return m[e]; });
                          Row y = each(times(join({in("x", v), near}), in("H1")) + in("h1"), silu);
                          return in("x", v) + times(y, in("H2")) + in("h2");
                        })},
          {"c_out", table(g.numNodes(), dims, [&](int64_t v) {
             return in("c", v) + meanOf(g.incoming(v), dims, [&](int64_t e) {
                      return times(each(times(m[e], in("C1")) + in("c1"), silu), in("C2"))[0] * away(e);
                    });
           })}};
}

//===- The models and their settings -----------------------------------------------------------------------------===//

}  // namespace

std::span<const Layer> layers() {
  static const Layer list[] = {
      {"appnp", {}, [](G g, In in) { return appnp(g, in, 10, 0.1); }},
      {"appnp", {"steps=3", "alpha=0.25"}, [](G g, In in) { return appnp(g, in, 3, 0.25); }, "appnp_three_steps"},
      {"appnp", {"steps=0"}, [](G g, In in) { return appnp(g, in, 0, 0.1); }, "appnp_no_step"},
      {"compgcn", {}, [](G g, In in) { return compgcn(g, in, false); }},
      {"compgcn", {"phi=mult"}, [](G g, In in) { return compgcn(g, in, true); }, "compgcn_mult"},
      {"dir_gnn", {}, [](G g, In in) { return dirGnn(g, in, 0.5); }},
      {"dir_gnn", {"alpha=1"}, [](G g, In in) { return dirGnn(g, in, 1.0); }, "dir_gnn_incoming_only"},
      {"edgeconv", {}, edgeconv},
      {"egnn", {}, egnn},
      {"film", {}, film},
      {"gat", {}, [](G g, In in) { return gat(g, in, false, 0.2); }},
      {"gat", {"join=mean", "slope=0.01"}, [](G g, In in) { return gat(g, in, true, 0.01); }, "gat_mean"},
      {"gated_gcn", {}, [](G g, In in) { return gatedGcn(g, in, 1e-6); }},
      {"gatv2", {}, [](G g, In in) { return gatv2(g, in, 0.2); }},
      {"gcn", {}, gcn},
      {"genconv", {}, [](G g, In in) { return genconv(g, in, 0.0, 1e-7); }},
      {"genconv",
       {"aggregate=power", "power=3", "eps=0.01"},
       [](G g, In in) { return genconv(g, in, 3.0, 0.01); },
       "genconv_power"},
      {"ggnn", {}, [](G g, In in) { return ggnn(g, in, 2); }},
      {"ggnn", {"steps=5"}, [](G g, In in) { return ggnn(g, in, 5); }, "ggnn_five_steps"},
      {"gin", {}, gin},
      {"graphsage", {}, [](G g, In in) { return graphsage(g, in, "mean", false); }},
      {"graphsage", {"aggregate=max"}, [](G g, In in) { return graphsage(g, in, "max", false); }, "graphsage_max"},
      {"graphsage",
       {"aggregate=sum", "unit=true"},
       [](G g, In in) { return graphsage(g, in, "sum", true); },
       "graphsage_sum_unit"},
      {"han", {}, han},
      {"hgt", {}, [](G g, In in) { return hgtWith(g, in, 1, in.size("d")); }},
      {"hgt_heads", {}, [](G g, In in) { return hgtWith(g, in, in.size("heads"), in.size("d")); }},
      {"l1_attention", {}, [](G g, In in) { return l1Attention(g, in, 1e-6); }},
      {"monet", {}, monet},
      {"pna", {}, [](G g, In in) { return pna(g, in, 1.0); }},
      {"pna", {"delta=2.5"}, [](G g, In in) { return pna(g, in, 2.5); }, "pna_delta"},
      {"rgat", {}, rgat},
      {"rgat_heads", {}, [](G g, In in) { return rgatHeads(g, in, false); }},
      {"rgat_heads", {"softmax=within"}, [](G g, In in) { return rgatHeads(g, in, true); }, "rgat_heads_within"},
      {"rgcn", {}, rgcn},
      {"rgcn_bases", {}, rgcnBases},
      {"rgcn_blocks", {}, rgcnBlocks},
      {"simple_hgn", {}, [](G g, In in) { return simpleHgn(g, in, 0.05, true, false); }},
      {"simple_hgn",
       {"beta=0.5", "activation=false", "unit=true"},
       [](G g, In in) { return simpleHgn(g, in, 0.5, false, true); },
       "simple_hgn_last"},
      {"transformer_conv", {}, [](G g, In in) { return transformerConv(g, in, true); }},
      {"transformer_conv",
       {"gated=false"},
       [](G g, In in) { return transformerConv(g, in, false); },
       "transformer_conv_plain"},
  };
  return list;
}

void PrintTo(const Layer &layer, std::ostream *out) {
  *out << layer.file;
}

bool isCount(const std::string &size) {
  return size == "heads" || size == "bases" || size == "blocks" || size == "kernels";
}

std::string shown(const std::map<std::string, int64_t> &sizes) {
  std::string text;
  for (const auto &[name, value] : sizes)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

std::map<std::string, int64_t> Layer::sizesFor(const Model &model, const std::function<int64_t(int)> &width,
                                               int64_t count) const {
  std::map<std::string, int64_t> sizes;
  int next = 0;
  for (const language::SizeDecl &size : model.signature.sizes)
    sizes[size.name] = isCount(size.name) ? count : width(next++);
  if (file == "gat")
    sizes["d_out"] = attributes.empty() ? sizes["heads"] * sizes["d"] : sizes["d"];
  return sizes;
}

Settings Layer::settingsFor(const std::map<std::string, int64_t> &sizes) const {
  Settings settings;
  settings.attributes = attributes;
  for (const auto &[name, value] : sizes)
    settings.sizes.push_back(name + "=" + std::to_string(value));
  return settings;
}

Tables layerInputs(const Model &model, const Settings &settings, const PlainGraph &graph, uint64_t seed) {
  auto binding = bindAll(model, settings);
  EXPECT_TRUE(binding) << binding.status().message();
  if (!binding)
    return {};
  Tables inputs = randomInputs(model, *binding, graph, seed);
  if (auto loops = inputs.find("self_loop"); loops != inputs.end())
    for (int64_t e = 0; e < graph.numEdges(); ++e)
      loops->second.values[e] = graph.src[e] == graph.dst[e] ? 1.0 : 0.0;
  return inputs;
}

}  // namespace hector::numerics
