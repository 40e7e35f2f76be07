/// One test per op, with numbers worked out by hand; every map; graphs with empty parts; rounding.

#include "interp/FlowText.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hector {
namespace {

using Numbers = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Nodes 0 and 1 have type 0, nodes 2 and 3 type 1; node 3 has no edges. Relation 0 joins type 0 to type 1, relation 1
/// has no edges, relation 2 joins type 1 to type 0. Edges: 0→2 r0, 1→2 r0, 1→2 r0, 2→0 r2.
const GraphText kGraph{{0, 1, 1, 2}, {2, 2, 2, 0}, {0, 0, 0, 2}, {0, 2, 4}, 3};
// Source pairs: (0,r0) (1,r0) (2,r2). Destination pairs: (2,r0) (0,r2).

/// What `body`, which defines %r, computes from tables %a, %b, … of the given types.
Numbers compute(const GraphText &graph, const std::vector<std::string> &types, const std::vector<Numbers> &arguments,
                const std::string &body, const std::string &result, const RunMode &mode = {}) {
  std::string text = "func.func @f(";
  for (size_t i = 0; i < types.size(); ++i)
    text += (i ? ", %" : "%") + std::string(1, static_cast<char>('a' + i)) + ": !flow.rows<" + types[i] + ", device>";
  text += ") -> !flow.rows<" + result + ", device> {\n" + body + "\nreturn %r : !flow.rows<" + result + ", device>\n}";
  FlowText flow(text);
  EXPECT_TRUE(flow.isRead()) << text;
  if (!flow.isRead())
    return {};
  auto results = flow.run(graph.make(), arguments, mode);
  EXPECT_TRUE(results.isOk()) << results.status().message();
  return results ? (*results)[0].values : Numbers();
}

void expectNumbers(const Numbers &actual, const Numbers &expected, double tolerance = 0.0) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << i << ": " << actual[i];
    else if (tolerance == 0.0)
      EXPECT_EQ(actual[i], expected[i]) << i;
    else
      EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
  }
}

/// One op on the four nodes.
Numbers unary(const std::string &op, const Numbers &values, const std::string &attributes = "") {
  return compute(kGraph, {"node, f64"}, {values},
                 "%r = flow." + op + " %a " + attributes + " : <node, f64, device> -> <node, f64, device>",
                 "node, f64");
}

Numbers binary(const std::string &op, const Numbers &a, const Numbers &b) {
  return compute(kGraph, {"node, f64", "node, f64"}, {a, b},
                 "%r = flow." + op + " %a, %b : <node, f64, device>, <node, f64, device> -> <node, f64, device>",
                 "node, f64");
}

Numbers compare(const std::string &op, const Numbers &a, const Numbers &b) {
  return compute(kGraph, {"node, f64", "node, f64"}, {a, b},
                 "%c = flow." + op +
                     " %a, %b : <node, f64, device>, <node, f64, device> -> <node, i1, device>\n"
                     "%r = flow.cast %c : <node, i1, device> -> <node, f64, device>",
                 "node, f64");
}

TEST(Interpreter, Constant) {
  expectNumbers(compute(kGraph, {}, {}, "%r = flow.constant 2.5 : <one, f64, device>", "one, f64"), {2.5});
}

TEST(Interpreter, Arithmetic) {
  expectNumbers(binary("add", {1, 2, -3, kInf}, {10, 0.5, 3, -kInf}), {11, 2.5, 0, kNaN});
  expectNumbers(binary("sub", {1, 2, -3, kInf}, {10, 0.5, 3, kInf}), {-9, 1.5, -6, kNaN});
  expectNumbers(binary("mul", {1, 2, -3, kInf}, {10, 0.5, 3, 0}), {10, 1, -9, kNaN});
  expectNumbers(binary("div", {1, 3, -1, 0}, {4, -2, 0, 0}), {0.25, -1.5, -kInf, kNaN});
  expectNumbers(binary("pow", {2, 9, -2, 0}, {10, 0.5, 3, 0}), {1024, 3, -8, 1});
}

// Expected values are CPython's; where b is 0, which it refuses, NumPy's.
TEST(Interpreter, FloorDivisionAndRemainder) {
  expectNumbers(binary("floor_div", {1, -7, 7, -7}, {0.1, 2, -2, -2}), {9, -4, -4, 3});
  expectNumbers(binary("mod", {1, -7, 7, -7}, {0.25, 2, -2, -2}), {0, 1, -1, -1});
  expectNumbers(binary("mod", {1, 0.3, -1e-20, 5.5}, {0.1, 0.1, 3, 1}), {std::fmod(1, 0.1), 0.3 - 0.1 - 0.1, 3, 0.5});
  expectNumbers(binary("floor_div", {5, -5, kInf, kNaN}, {kInf, kInf, 2, 2}), {0, -1, kNaN, kNaN});
  expectNumbers(binary("mod", {5, -5, kInf, 2}, {kInf, kInf, 2, kNaN}), {5, kInf, kNaN, kNaN});
  expectNumbers(binary("floor_div", {5, -5, 0, kInf}, {0, 0, 0, 0}), {kInf, -kInf, kNaN, kInf});
  expectNumbers(binary("mod", {5, -5, 0, kInf}, {0, 0, 0, 0}), {kNaN, kNaN, kNaN, kNaN});
}

TEST(Interpreter, ZerosOfFloorDivisionAndRemainderHaveSigns) {
  auto signs = [](const Numbers &numbers) {
    std::string text;
    for (double number : numbers)
      text += number != 0.0 ? '?' : std::signbit(number) ? '-' : '+';
    return text;
  };
  EXPECT_EQ(signs(binary("floor_div", {0, -0.0, 0.5, -0.5}, {2, 2, 2, -2})), "+-++");
  EXPECT_EQ(signs(binary("mod", {4, -4, 4, -0.0}, {2, 2, -2, 2})), "++-+");
}

TEST(Interpreter, MaxAndMinShowNaN) {
  expectNumbers(binary("max", {1, 5, kNaN, 1}, {2, -5, 1, kNaN}), {2, 5, kNaN, kNaN});
  expectNumbers(binary("min", {1, 5, kNaN, 1}, {2, -5, 1, kNaN}), {1, -5, kNaN, kNaN});
  expectNumbers(binary("max", {kInf, -kInf, 0, 0}, {1, 1, 0, 0}), {kInf, 1, 0, 0});
}

TEST(Interpreter, ScalarsAndAxesOfOneAreRepeated) {
  expectNumbers(
      compute(kGraph, {"one, 2x1xf64", "one, 1x3xf64", "one, f64"}, {{10, 20}, {1, 2, 3}, {100}},
              "%s = flow.add %a, %b : <one, 2x1xf64, device>, <one, 1x3xf64, device> -> <one, 2x3xf64, device>\n"
              "%r = flow.sub %c, %s : <one, f64, device>, <one, 2x3xf64, device> -> <one, 2x3xf64, device>",
              "one, 2x3xf64"),
      {89, 88, 87, 79, 78, 77});
}

TEST(Interpreter, Comparisons) {
  expectNumbers(compare("less", {1, 2, 3, kNaN}, {2, 2, 2, 2}), {1, 0, 0, 0});
  expectNumbers(compare("less_equal", {1, 2, 3, kNaN}, {2, 2, 2, kNaN}), {1, 1, 0, 0});
  expectNumbers(compare("equal", {1, 2, kInf, kNaN}, {2, 2, kInf, kNaN}), {0, 1, 1, 0});
}

TEST(Interpreter, TruthValues) {
  const std::string two = " %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>\n"
                          "%r = flow.cast %c : <node, i1, device> -> <node, f64, device>";
  const std::vector<std::string> types{"node, i1", "node, i1"};
  const std::vector<Numbers> values{{0, 0, 1, 1}, {0, 1, 0, 1}};
  expectNumbers(compute(kGraph, types, values, "%c = flow.and" + two, "node, f64"), {0, 0, 0, 1});
  expectNumbers(compute(kGraph, types, values, "%c = flow.or" + two, "node, f64"), {0, 1, 1, 1});
  expectNumbers(compute(kGraph, {"node, i1"}, {{0, 1, 0, 1}},
                        "%c = flow.not %a : <node, i1, device> -> <node, i1, device>\n"
                        "%r = flow.cast %c : <node, i1, device> -> <node, f64, device>",
                        "node, f64"),
                {1, 0, 1, 0});
}

TEST(Interpreter, Unary) {
  expectNumbers(unary("neg", {1, -2, 0, kInf}), {-1, 2, 0, -kInf});
  expectNumbers(unary("abs", {1, -2, -kInf, kNaN}), {1, 2, kInf, kNaN});
  expectNumbers(unary("sign", {3, -2, 0, kNaN}), {1, -1, 0, kNaN});
  expectNumbers(unary("floor", {1.5, -1.5, 2, -kInf}), {1, -2, 2, -kInf});
  expectNumbers(unary("exp", {0, 1, -kInf, kInf}), {1, std::exp(1.0), 0, kInf});
  expectNumbers(unary("log", {1, 0, -1, kInf}), {0, -kInf, kNaN, kInf});
  expectNumbers(unary("sqrt", {4, 0, -1, kInf}), {2, 0, kNaN, kInf});
  expectNumbers(unary("rsqrt", {4, 0, -1, kInf}), {0.5, kInf, kNaN, 0});
  expectNumbers(unary("sin", {0, 1, -1, kInf}), {0, std::sin(1.0), -std::sin(1.0), kNaN});
  expectNumbers(unary("cos", {0, 1, -1, kInf}), {1, std::cos(1.0), std::cos(1.0), kNaN});
  expectNumbers(unary("tanh", {0, 1, -kInf, kInf}), {0, std::tanh(1.0), -1, 1});
  expectNumbers(unary("sigmoid", {0, kInf, -kInf, 2}), {0.5, 1, 0, 1 / (1 + std::exp(-2.0))});
  expectNumbers(unary("softplus", {0, 1000, -1000, kNaN}), {std::log(2.0), 1000, 0, kNaN}, 1e-15);
  expectNumbers(unary("erf", {0, kInf, -kInf, 0.5}), {0, 1, -1, std::erf(0.5)});
  expectNumbers(unary("relu", {1, -1, 0, kNaN}), {1, 0, 0, kNaN});
  expectNumbers(unary("leaky_relu", {2, -2, 0, kNaN}, "{slope = 0.25 : f64}"), {2, -0.5, 0, kNaN});
}

TEST(Interpreter, SelectIgnoresWhatItDoesNotChoose) {
  expectNumbers(
      compute(kGraph, {"node, i1", "node, 2xf64", "one, f64"}, {{1, 0, 1, 0}, {1, 2, kNaN, kInf, 5, 6, kNaN, 8}, {-1}},
              "%r = flow.select %a, %b, %c[one] : <node, i1, device>, <node, 2xf64, device>, <one, f64, device> "
              "-> <node, 2xf64, device>",
              "node, 2xf64"),
      {1, 2, -1, -1, 5, 6, -1, -1});
}

TEST(Interpreter, LinearTakesTheWeightOfTheRow) {
  // Edges 0, 1, 2 have relation 0 (weights 1 2 / 3 4), edge 3 relation 2 (weights 1 0 / 0 1).
  const std::vector<Numbers> values{{1, 0, 0, 1, 1, 1, 9, 9}, {1, 2, 3, 4, 8, 8, 8, 8, 1, 0, 0, 1}};
  expectNumbers(compute(kGraph, {"node, 2xf64", "etype, 2x2xf64"}, values,
                        "%r = flow.linear %a[src], %b[etype] : <node, 2xf64, device>, <etype, 2x2xf64, device> -> "
                        "<edge, 2xf64, device>",
                        "edge, 2xf64"),
                {1, 2, 3, 4, 3, 4, 1, 1});
  expectNumbers(compute(kGraph, {"node, 2xf64", "etype, 2x2xf64"}, values,
                        "%r = flow.linear %a[src], %b[etype] {transposed} : <node, 2xf64, device>, <etype, 2x2xf64, "
                        "device> -> <edge, 2xf64, device>",
                        "edge, 2xf64"),
                {1, 3, 2, 4, 2, 4, 1, 1});
}

TEST(Interpreter, LinearBatchesHeads) {
  // Two heads: weights of 2 × 1 each.
  const Numbers weights{1, 10, 100, 1000};
  expectNumbers(compute(kGraph, {"one, 2x2xf64", "one, 2x2x1xf64"}, {{1, 2, 3, 4}, weights},
                        "%r = flow.linear %a, %b : <one, 2x2xf64, device>, <one, 2x2x1xf64, device> -> <one, 2x1xf64, "
                        "device>",
                        "one, 2x1xf64"),
                {21, 4300});
  expectNumbers(compute(kGraph, {"one, 2xf64", "one, 2x2x1xf64"}, {{1, 2}, weights},
                        "%r = flow.linear %a, %b : <one, 2xf64, device>, <one, 2x2x1xf64, device> -> <one, 2x1xf64, "
                        "device>",
                        "one, 2x1xf64"),
                {21, 2100});
  expectNumbers(compute(kGraph, {"one, 2x2xf64", "one, 2x3xf64"}, {{1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}},
                        "%r = flow.linear %a, %b : <one, 2x2xf64, device>, <one, 2x3xf64, device> -> <one, 2x3xf64, "
                        "device>",
                        "one, 2x3xf64"),
                {9, 12, 15, 19, 26, 33});
}

TEST(Interpreter, DotGuarded) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  auto dot = [&](const std::string &attributes, const std::vector<double> &a, const std::vector<double> &b) {
    return compute(kGraph, {"one, 2x2xf64", "one, 2xf64"}, {a, b},
                   "%r = flow.dot %a, %b " + attributes +
                       " : <one, 2x2xf64, device>, <one, 2xf64, device> -> <one, 2xf64, device>",
                   "one, 2xf64");
  };
  expectNumbers(dot("{guarded}", {0, 2, 0, 0}, {inf, 3}), {6, 0});
  expectNumbers(dot("{guarded}", {0, 2, 3, 0}, {nan, 3}), {6, nan});
  expectNumbers(dot("", {0, 2, 0, 0}, {inf, 3}), {nan, nan});
}

TEST(Interpreter, DotAndOuter) {
  expectNumbers(compute(kGraph, {"one, 2x2xf64", "one, 2xf64"}, {{1, 2, 3, 4}, {10, 100}},
                        "%r = flow.dot %a, %b : <one, 2x2xf64, device>, <one, 2xf64, device> -> <one, 2xf64, device>",
                        "one, 2xf64"),
                {210, 430});
  expectNumbers(compute(kGraph, {"one, 2xf64", "one, 3xf64"}, {{1, 2}, {3, 4, 5}},
                        "%r = flow.outer %a, %b : <one, 2xf64, device>, <one, 3xf64, device> -> <one, 2x3xf64, device>",
                        "one, 2x3xf64"),
                {3, 4, 5, 6, 8, 10});
  expectNumbers(
      compute(kGraph, {"one, 2x1xf64", "one, 2xf64"}, {{1, 2}, {3, 4}},
              "%r = flow.outer %a, %b : <one, 2x1xf64, device>, <one, 2xf64, device> -> <one, 2x1x2xf64, device>",
              "one, 2x1x2xf64"),
      {3, 4, 6, 8});
}

TEST(Interpreter, RowReduce) {
  auto reduce = [](const std::string &kind, const std::string &axis, const std::string &result) {
    return compute(kGraph, {"one, 2x3xf64"}, {{1, 5, 3, 4, 2, 9}},
                   "%r = flow.row_reduce %a {axis = " + axis + " : i64, kind = #flow.reduce_kind<" + kind +
                       ">} : <one, 2x3xf64, device> -> <" + result + ", device>",
                   result);
  };
  expectNumbers(reduce("sum", "0", "one, 3xf64"), {5, 7, 12});
  expectNumbers(reduce("sum", "1", "one, 2xf64"), {9, 15});
  expectNumbers(reduce("max", "0", "one, 3xf64"), {4, 5, 9});
  expectNumbers(reduce("min", "1", "one, 2xf64"), {1, 2});
  expectNumbers(reduce("mean", "1", "one, 2xf64"), {3, 5});
}

TEST(Interpreter, Shapes) {
  expectNumbers(compute(kGraph, {"one, 2x1xf64"}, {{1, 2}},
                        "%r = flow.expand %a : <one, 2x1xf64, device> -> <one, 2x3xf64, device>", "one, 2x3xf64"),
                {1, 1, 1, 2, 2, 2});
  expectNumbers(compute(kGraph, {"one, 2x3xf64"}, {{1, 2, 3, 4, 5, 6}},
                        "%r = flow.reshape %a : <one, 2x3xf64, device> -> <one, 3x2xf64, device>", "one, 3x2xf64"),
                {1, 2, 3, 4, 5, 6});
  expectNumbers(compute(kGraph, {"one, 2x3xf64"}, {{1, 2, 3, 4, 5, 6}},
                        "%r = flow.transpose %a {permutation = array<i64: 1, 0>} : <one, 2x3xf64, device> -> <one, "
                        "3x2xf64, device>",
                        "one, 3x2xf64"),
                {1, 4, 2, 5, 3, 6});
  // Axis k of the result is axis permutation[k] of the operand: 2x1x3 becomes 3x2x1.
  expectNumbers(compute(kGraph, {"one, 2x1x3xf64"}, {{1, 2, 3, 4, 5, 6}},
                        "%r = flow.transpose %a {permutation = array<i64: 2, 0, 1>} : <one, 2x1x3xf64, device> -> "
                        "<one, 3x2x1xf64, device>",
                        "one, 3x2x1xf64"),
                {1, 4, 2, 5, 3, 6});
  expectNumbers(compute(kGraph, {"one, 2x3xf64"}, {{1, 2, 3, 4, 5, 6}},
                        "%r = flow.slice %a {axis = 1 : i64, offset = 1 : i64} : <one, 2x3xf64, device> -> <one, "
                        "2x2xf64, device>",
                        "one, 2x2xf64"),
                {2, 3, 5, 6});
  expectNumbers(compute(kGraph, {"one, 2x1xf64", "one, 2x2xf64"}, {{1, 2}, {3, 4, 5, 6}},
                        "%r = flow.concat %a, %b {axis = 1 : i64} : <one, 2x1xf64, device>, <one, 2x2xf64, device> -> "
                        "<one, 2x3xf64, device>",
                        "one, 2x3xf64"),
                {1, 3, 4, 2, 5, 6});
}

/// Rows of `from` as they are read along `map`.
Numbers spread(const std::string &from, const std::string &map, const std::string &to, const Numbers &values) {
  return compute(kGraph, {from + ", f64"}, {values},
                 "%r = flow.spread %a via " + map + " : <" + from + ", f64, device> -> <" + to + ", f64, device>",
                 to + ", f64");
}

TEST(Interpreter, EveryMap) {
  const Numbers nodes{10, 11, 12, 13}, relations{20, 21, 22}, types{30, 31};
  expectNumbers(spread("node", "src", "edge", nodes), {10, 11, 11, 12});
  expectNumbers(spread("node", "dst", "edge", nodes), {12, 12, 12, 10});
  expectNumbers(spread("etype", "etype", "edge", relations), {20, 20, 20, 22});
  expectNumbers(spread("src_pair", "src_pair", "edge", {1, 2, 3}), {1, 2, 2, 3});
  expectNumbers(spread("dst_pair", "dst_pair", "edge", {1, 2}), {1, 1, 1, 2});
  expectNumbers(spread("ntype", "src_ntype", "edge", types), {30, 30, 30, 31});
  expectNumbers(spread("ntype", "dst_ntype", "edge", types), {31, 31, 31, 30});
  expectNumbers(spread("one", "one", "edge", {7}), {7, 7, 7, 7});
  expectNumbers(spread("node", "node", "src_pair", nodes), {10, 11, 12});
  expectNumbers(spread("node", "node", "dst_pair", nodes), {12, 10});
  expectNumbers(spread("etype", "etype", "src_pair", relations), {20, 20, 22});
  expectNumbers(spread("etype", "etype", "dst_pair", relations), {20, 22});
  expectNumbers(spread("ntype", "ntype", "src_pair", types), {30, 30, 31});
  expectNumbers(spread("ntype", "ntype", "dst_pair", types), {31, 30});
  expectNumbers(spread("ntype", "src_ntype", "dst_pair", types), {30, 31});
  expectNumbers(spread("ntype", "dst_ntype", "src_pair", types), {31, 31, 30});
  expectNumbers(spread("ntype", "ntype", "node", types), {30, 30, 31, 31});
  expectNumbers(spread("ntype", "src_ntype", "etype", types), {30, 30, 31});
  expectNumbers(spread("ntype", "dst_ntype", "etype", types), {31, 30, 30});
  expectNumbers(spread("node", "self", "node", nodes), nodes);
}

Numbers reduce(const std::string &kind, const std::string &map, const std::string &to, const Numbers &values,
               const GraphText &graph = kGraph) {
  return compute(graph, {"edge, f64"}, {values},
                 "%r = flow.reduce " + kind + " %a via " + map + " : <edge, f64, device> -> <" + to + ", f64, device>",
                 to + ", f64");
}

TEST(Interpreter, ReduceGivesZeroWhereNothingArrives) {
  expectNumbers(reduce("sum", "dst", "node", {1, 2, 4, 8}), {8, 0, 7, 0});
  expectNumbers(reduce("max", "dst", "node", {-1, -2, -4, -8}), {-8, 0, -1, 0});
  expectNumbers(reduce("min", "dst", "node", {1, 2, 4, 8}), {8, 0, 1, 0});
  expectNumbers(reduce("mean", "dst", "node", {1, 2, 6, 8}), {8, 0, 3, 0});
  expectNumbers(reduce("sum", "etype", "etype", {1, 2, 4, 8}), {7, 0, 8});
  expectNumbers(reduce("max", "src_pair", "src_pair", {1, 2, 4, 8}), {1, 4, 8});
  expectNumbers(reduce("mean", "one", "one", {1, 2, 4, 9}), {4});
}

TEST(Interpreter, ReduceShowsNaNAndInfinity) {
  expectNumbers(reduce("max", "dst", "node", {1, kNaN, 3, -kInf}), {-kInf, 0, kNaN, 0});
  expectNumbers(reduce("min", "dst", "node", {kNaN, 2, 3, kInf}), {kInf, 0, kNaN, 0});
  expectNumbers(reduce("sum", "dst", "node", {kInf, 2, -kInf, 1}), {1, 0, kNaN, 0});
}

TEST(Interpreter, InitTakesPart) {
  auto withInit = [](const std::string &kind, const Numbers &init) {
    return compute(kGraph, {"edge, f64", "node, f64"}, {{1, 2, 3, 4}, init},
                   "%r = flow.reduce " + kind + " %a via dst init %b : <edge, f64, device> -> <node, f64, device>",
                   "node, f64");
  };
  expectNumbers(withInit("max", {9, -7, 1, -kInf}), {9, -7, 3, -kInf});
  expectNumbers(withInit("min", {9, -7, 0, kInf}), {4, -7, 0, kInf});
}

TEST(Interpreter, EmptyGraphsRun) {
  const GraphText noNodes{{}, {}, {}, {0, 0, 0}, 2}, noTypes{{}, {}, {}, {0}, 0}, noEdges{{}, {}, {}, {0, 3}, 0};
  for (const GraphText &graph : {noNodes, noTypes}) {
    EXPECT_EQ(reduce("max", "dst", "node", {}, graph), Numbers());
    expectNumbers(reduce("mean", "one", "one", {}, graph), {0});
  }
  expectNumbers(reduce("max", "dst", "node", {}, noEdges), {0, 0, 0});
  expectNumbers(reduce("sum", "etype", "etype", {}, noEdges), {});
  expectNumbers(compute(noTypes, {"ntype, f64"}, {{}},
                        "%r = flow.spread %a via src_ntype : <ntype, f64, device> -> <etype, f64, device>",
                        "etype, f64"),
                {});
}

TEST(Interpreter, OneEdge) {
  const GraphText loop{{0}, {0}, {0}, {0, 1}, 1};
  for (const char *kind : {"sum", "max", "min", "mean"})
    expectNumbers(reduce(kind, "dst", "node", {-3}, loop), {-3});
}

TEST(Interpreter, RowsWithoutMembersTakeNoMemory) {
  const GraphText noEdges{{}, {}, {}, {0, 1}, 1};
  const std::string huge = "edge, 1048576x1048576xf64";
  expectNumbers(compute(noEdges, {huge}, {{}},
                        "%b = flow.add %a, %a : <" + huge + ", device>, <" + huge + ", device> -> <" + huge +
                            ", device>\n%r = flow.transpose %b {permutation = array<i64: 1, 0>} : <" + huge +
                            ", device> -> <" + huge + ", device>",
                        huge),
                {});
}

TEST(Interpreter, EveryResultIsRoundedToItsType) {
  auto sum = [](const std::string &type, double a, double b) {
    return compute(kGraph, {"one, " + type, "one, " + type}, {{a}, {b}},
                   "%r = flow.add %a, %b : <one, " + type + ", device>, <one, " + type + ", device> -> <one, " + type +
                       ", device>",
                   "one, " + type);
  };
  expectNumbers(sum("f64", 1.0, 0x1p-40), {1.0 + 0x1p-40});
  expectNumbers(sum("f32", 1.0, 0x1p-24), {1.0});
  expectNumbers(sum("f32", 1.0, 0x1p-23), {1.0 + 0x1p-23});
  expectNumbers(sum("f16", 2048.0, 1.0), {2048.0});
  expectNumbers(sum("f16", 2048.0, 2.0), {2050.0});
  expectNumbers(sum("f16", 65504.0, 65504.0), {kInf});
  expectNumbers(sum("bf16", 256.0, 1.0), {256.0});
  expectNumbers(sum("bf16", 256.0, 2.0), {258.0});
  // Arguments are rounded as well: 0.1 is not a float32.
  expectNumbers(sum("f32", 0.1, 0.0), {static_cast<double>(0.1f)});
}

TEST(Interpreter, SumsInsideAnOpAreFloat64) {
  // In float32 steps the ones would vanish beside 2^24.
  expectNumbers(compute(kGraph, {"edge, f32"}, {{0x1p24, 1, 1, 0}},
                        "%r = flow.reduce sum %a via etype : <edge, f32, device> -> <etype, f32, device>",
                        "etype, f32"),
                {0x1p24 + 2, 0, 0});
}

TEST(Interpreter, NoiseMovesTheLastBitsOfSums) {
  auto onEdges = [](const std::string &op, uint64_t noise) {
    return compute(kGraph, {"edge, f32"}, {{3, 5, 7, 9}},
                   "%r = flow." + op + " : <edge, f32, device> -> <etype, f32, device>", "etype, f32",
                   {.noise = noise});
  };
  bool isMoved = false;
  for (uint64_t noise = 1; noise < 8; ++noise) {
    expectNumbers(onEdges("reduce sum %a via etype", noise), {15, 0, 9}, 16 * 0x1p-20);
    isMoved |= onEdges("reduce sum %a via etype", noise) != Numbers{15, 0, 9};
    expectNumbers(onEdges("reduce max %a via etype", noise), {7, 0, 9});
  }
  EXPECT_TRUE(isMoved);
}

/// Dropout of ones, 64 to a row: for each row of `domain`, 0 or 1 / (1 - rate).
Numbers dropOnes(const GraphText &graph, const std::string &domain, int stream, const RunMode &mode) {
  std::string rows = domain + ", 64xf64";
  return compute(graph, {"one, 64xf64"}, {Numbers(64, 1.0)},
                 "%r = flow.dropout %a[one] {rate = 0.75 : f64, stream = " + std::to_string(stream) +
                     " : i64} : <one, 64xf64, device> -> <" + rows + ", device>",
                 rows, mode);
}

TEST(Interpreter, DropoutOutsideOfTrainingIsTheIdentity) {
  EXPECT_EQ(dropOnes(kGraph, "edge", 0, {}), Numbers(4 * 64, 1.0));
}

TEST(Interpreter, DropoutScalesWhatItKeeps) {
  Numbers drawn = dropOnes(kGraph, "edge", 0, {.isTraining = true});
  ptrdiff_t zeros = std::count(drawn.begin(), drawn.end(), 0.0), kept = std::count(drawn.begin(), drawn.end(), 4.0);
  EXPECT_EQ(zeros + kept, 256);
  EXPECT_NEAR(static_cast<double>(zeros), 192.0, 40.0);
}

TEST(Interpreter, DropoutDependsOnSeedStepAndStream) {
  Numbers drawn = dropOnes(kGraph, "node", 0, {.isTraining = true});
  EXPECT_EQ(dropOnes(kGraph, "node", 0, {.isTraining = true}), drawn);
  EXPECT_NE(dropOnes(kGraph, "node", 0, {.isTraining = true, .seed = 1}), drawn);
  EXPECT_NE(dropOnes(kGraph, "node", 0, {.isTraining = true, .step = 1}), drawn);
  EXPECT_NE(dropOnes(kGraph, "node", 1, {.isTraining = true}), drawn);
}

TEST(Interpreter, DropoutOfAPairDependsOnItsNodeAndRelation) {
  // Pair (1, r0) comes second in one graph and first in the other.
  GraphText without = kGraph;
  without.src = {1, 1, 2};
  without.dst = {2, 2, 0};
  without.etype = {0, 0, 2};
  Numbers all = dropOnes(kGraph, "src_pair", 0, {.isTraining = true});
  Numbers fewer = dropOnes(without, "src_pair", 0, {.isTraining = true});
  EXPECT_EQ(Numbers(all.begin() + 64, all.end()), fewer);
}

TEST(Interpreter, DropoutDropsInfinityAndNaN) {
  for (double rate : {0.5, 1.0}) {
    Numbers drawn = compute(kGraph, {"one, 64xf64"}, {Numbers(64, kNaN)},
                            "%r = flow.dropout %a {rate = " + std::to_string(rate) +
                                " : f64, stream = 0 : i64} : <one, 64xf64, device> -> <one, 64xf64, device>",
                            "one, 64xf64", {.isTraining = true});
    ptrdiff_t zeros = std::count(drawn.begin(), drawn.end(), 0.0);
    EXPECT_TRUE(rate == 1.0 ? zeros == 64 : zeros > 10 && zeros < 54) << zeros;
  }
}

/// The message of a run that must fail.
std::string failure(const GraphText &graph, const std::string &text, const std::vector<Numbers> &arguments) {
  FlowText flow(text);
  EXPECT_TRUE(flow.isRead()) << text;
  auto results = flow.run(graph.make(), arguments);
  EXPECT_FALSE(results.isOk());
  return results.status().message();
}

TEST(Interpreter, RelationsThatJoinSeveralTypesHaveNoType) {
  // Relation 0 comes from node 0 (type 0) and from node 1 (type 1).
  const GraphText mixed{{0, 1}, {0, 0}, {0, 0}, {0, 1, 2}, 1};
  const std::string text = "func.func @f(%a: !flow.rows<ntype, f64, device>) -> !flow.rows<etype, f64, device> {\n"
                           "%r = flow.relu %a[src_ntype] : <ntype, f64, device> -> <etype, f64, device>\n"
                           "return %r : !flow.rows<etype, f64, device>\n}";
  EXPECT_NE(failure(mixed, text, {{1, 2}}).find("relation 0"), std::string::npos);
  // Towards their destination they do have one.
  expectNumbers(compute(mixed, {"ntype, f64"}, {{1, 2}},
                        "%r = flow.relu %a[dst_ntype] : <ntype, f64, device> -> <etype, f64, device>", "etype, f64"),
                {1});
}

TEST(Interpreter, FunctionsSayOnWhichTypesTheyRely) {
  // The op alone would do with any graph: the edges know the types of their own sources.
  const GraphText mixed{{0, 1}, {0, 0}, {0, 0}, {0, 1, 2}, 1};
  auto text = [](const std::string &end) {
    return "func.func @f(%a: !flow.rows<ntype, f64, device>) -> !flow.rows<edge, f64, device> "
           "attributes {flow.relation_ends = [#flow.map<" +
           end + ">]} {\n%r = flow.relu %a[" + end +
           "] : <ntype, f64, device> -> <edge, f64, device>\nreturn %r : !flow.rows<edge, f64, device>\n}";
  };
  EXPECT_NE(failure(mixed, text("src_ntype"), {{1, 2}}).find("relation 0 has sources of several node types"),
            std::string::npos);
  FlowText flow(text("dst_ntype"));
  ASSERT_TRUE(flow.isRead());
  auto results = flow.run(mixed.make(), {{1, 2}});
  ASSERT_TRUE(results.isOk()) << results.status().message();
  expectNumbers((*results)[0].values, {1, 1});
}

TEST(Interpreter, RelationsOfAGraphWithoutTypes) {
  const GraphText noTypes{{}, {}, {}, {0}, 2};
  const std::string text = "func.func @f(%a: !flow.rows<ntype, f64, device>) -> !flow.rows<etype, f64, device> {\n"
                           "%r = flow.relu %a[src_ntype] : <ntype, f64, device> -> <etype, f64, device>\n"
                           "return %r : !flow.rows<etype, f64, device>\n}";
  EXPECT_EQ(failure(noTypes, text, {{}}),
            "the model asks for the node types that a relation joins, but the graph has no node type");
}

// Edges that come unsorted: rows of edges are as they come, whatever order the graph keeps.

/// Edges: 0→2 r1, 1→2 r0, 0→2 r0, 1→0 r1. Destination pairs: (2,r0) (0,r1) (2,r1), whose first edges are 1, 3 and 0.
const GraphText kUnsorted{{0, 1, 0, 1}, {2, 2, 2, 0}, {1, 0, 0, 1}, {0, 3}, 2};

TEST(Interpreter, EdgesKeepTheOrderTheyComeIn) {
  expectNumbers(compute(kUnsorted, {"node, f64"}, {{10, 20, 30}},
                        "%r = flow.spread %a via src : <node, f64, device> -> <edge, f64, device>", "edge, f64"),
                {10, 20, 10, 20});
  expectNumbers(compute(kUnsorted, {"etype, f64"}, {{1, 2}},
                        "%r = flow.spread %a via etype : <etype, f64, device> -> <edge, f64, device>", "edge, f64"),
                {2, 1, 1, 2});
  expectNumbers(compute(kUnsorted, {"dst_pair, f64"}, {{1, 2, 3}},
                        "%r = flow.spread %a via dst_pair : <dst_pair, f64, device> -> <edge, f64, device>",
                        "edge, f64"),
                {3, 1, 1, 2});
  expectNumbers(compute(kUnsorted, {"edge, f64"}, {{1, 10, 100, 1000}},
                        "%r = flow.reduce sum %a via dst : <edge, f64, device> -> <node, f64, device>", "node, f64"),
                {1000, 0, 111});
}

TEST(Interpreter, OnTiesTheFirstEdgeToComeIsTaken) {
  expectNumbers(compute(kUnsorted, {"edge, f64", "node, f64"}, {{5, 5, 5, 7}, {7, 0, 5}},
                        "%w = flow.first_index %a, %b via dst : <edge, f64, device>, <node, f64, device> -> "
                        "<node, index, device>\n"
                        "%m = flow.is_row %w[dst] : <node, index, device> -> <edge, i1, device>\n"
                        "%r = flow.cast %m : <edge, i1, device> -> <edge, f64, device>",
                        "edge, f64"),
                {1, 0, 0, 1});
}

TEST(Interpreter, OnTiesThePairOfTheFirstEdgeIsTaken) {
  expectNumbers(compute(kUnsorted, {"dst_pair, f64", "node, f64"}, {{5, 7, 5}, {7, 0, 5}},
                        "%w = flow.first_index %a, %b via node : <dst_pair, f64, device>, <node, f64, device> -> "
                        "<node, index, device>\n"
                        "%m = flow.is_row %w[node] : <node, index, device> -> <dst_pair, i1, device>\n"
                        "%r = flow.cast %m : <dst_pair, i1, device> -> <dst_pair, f64, device>",
                        "dst_pair, f64"),
                {0, 1, 1});
}

TEST(Interpreter, ArgumentsOfTheWrongSize) {
  const std::string text = "func.func @f(%a: !flow.rows<node, 2xf64, device>) -> !flow.rows<node, 2xf64, device> {\n"
                           "return %a : !flow.rows<node, 2xf64, device>\n}";
  EXPECT_EQ(failure(kGraph, text, {{1, 2, 3}}), "argument 0 needs 4 rows of 2 numbers, but has 4 rows and 3 numbers");
  FlowText flow(text);
  auto none = interpret(flow.function(), kGraph.make(), {});
  ASSERT_FALSE(none.isOk());
  EXPECT_EQ(none.status().message(), "the function takes 1 tables, but is given 0");
}

TEST(Interpreter, FunctionsThatAreNotFlow) {
  for (const char *text :
       {"func.func private @f(!flow.rows<node, f64, device>)", "func.func @f(%i: i32) -> i32 {\nreturn %i : i32\n}",
        "func.func @f() {\ncall @f() : () -> ()\nreturn\n}"}) {
    FlowText flow(text);
    ASSERT_TRUE(flow.isRead()) << text;
    auto results = interpret(flow.function(), kGraph.make(), {});
    ASSERT_FALSE(results.isOk()) << text;
    EXPECT_EQ(results.status().message(), "`f` is no function of flow, and cannot be run");
  }
}

TEST(Interpreter, TablesBeyondMemory) {
  const std::string text =
      "func.func @f(%a: !flow.rows<one, f64, device>) -> !flow.rows<one, 1048576x1048576xf64, device> {\n"
      "%r = flow.expand %a : <one, f64, device> -> <one, 1048576x1048576xf64, device>\n"
      "return %r : !flow.rows<one, 1048576x1048576xf64, device>\n}";
  EXPECT_NE(failure(kGraph, text, {{1}}).find("out of memory: a table of 1 row of 1099511627776 float64 needs"),
            std::string::npos);
}

}  // namespace
}  // namespace hector
