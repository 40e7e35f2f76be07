/// Groups run in their own loop order, with rows cut at random places.

#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "interp/FlowText.h"

#include <mlir/Pass/PassManager.h>

#include <set>

namespace hector {
namespace {

using Numbers = std::vector<double>;

/// Nine edges go to node 1 in two types, one to node 0, none to nodes 2 and 3.
const GraphText kGraph{
    {0, 1, 2, 3, 0, 1, 2, 3, 0, 1}, {1, 1, 1, 1, 1, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, {0, 4}, 2};
constexpr uint64_t kSeeds = 40;

/// A function of edges %a that yields the table %s of `type` from one sweep by destination, which holds `body`.
std::string bySweep(const std::string &body, const std::string &type) {
  const std::string rows = "!flow.rows<" + type + ", device>";
  return "func.func @f(%x: !flow.rows<edge, f64, device>) -> " + rows +
         " {\n%r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f64, device>) -> " + rows +
         " {\n%o = flow.sweep -> " + rows + " {\n" + body + "\nflow.yield %s : " + rows +
         "\n}\nflow.yield %o : " + rows + "\n}\nreturn %r : " + rows + "\n}";
}

/// The results of a function for each of many ways to cut.
std::set<Numbers> runAll(const std::string &text, const Numbers &edges) {
  FlowText flow(text);
  EXPECT_TRUE(flow.isRead()) << text;
  std::set<Numbers> all;
  for (uint64_t seed = 0; flow.isRead() && seed < kSeeds; ++seed) {
    auto results = flow.run(kGraph.make(), {edges}, RunMode{.cuts = seed});
    EXPECT_TRUE(results.isOk()) << results.status().message();
    if (results)
      all.insert((*results)[0].values);
  }
  return all;
}

const Numbers kEdges = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
const std::string kToNode = " : <edge, f64, device> -> <node, f64, device>";

TEST(Groups, SumsDoNotDependOnCuts) {
  EXPECT_EQ(runAll(bySweep("%s = flow.reduce sum %a via dst" + kToNode, "node, f64"), kEdges),
            (std::set<Numbers>{{9, 30, 0, 0}}));
}

TEST(Groups, MeansCountAllParts) {
  EXPECT_EQ(runAll(bySweep("%s = flow.reduce mean %a via dst" + kToNode, "node, f64"), {3, 1, 4, 1, 5, 9, 2, 6, 2, 3}),
            (std::set<Numbers>{{9, 3, 0, 0}}));
}

TEST(Groups, MinimaOfEmptyRowsAreZero) {
  EXPECT_EQ(runAll(bySweep("%s = flow.reduce min %a via dst" + kToNode, "node, f64"), kEdges),
            (std::set<Numbers>{{9, 1, 0, 0}}));
}

TEST(Groups, ThePairsOfANodeAreCompleteInTheSameSweep) {
  EXPECT_EQ(runAll(bySweep("%p = flow.reduce max %a via dst_pair : <edge, f64, device> -> <dst_pair, f64, device>\n"
                           "%s = flow.reduce sum %p via node : <dst_pair, f64, device> -> <node, f64, device>",
                           "node, f64"),
                   kEdges),
            (std::set<Numbers>{{9, 11, 0, 0}}));
}

/// A fold over edges with one accumulator: `step` and `join` define %n from %acc and %v, or from %acc and %b.
std::string fold(const std::string &step, const std::string &join) {
  const std::string row = "!flow.rows<node, f64, device>",
                    two = " : <node, f64, device>, <node, f64, device> -> <node, f64, device>";
  return bySweep("%s = flow.fold %a via dst : (!flow.rows<edge, f64, device>) -> " + row +
                     " init {\n%c = flow.constant 0.0 : <one, f64, device>\n"
                     "%z = flow.expand %c[one] : <one, f64, device> -> <node, f64, device>\nflow.yield %z : " +
                     row + "\n} step {\n^bb0(%acc: " + row + ", %v: " + row + "):\n%n = " + step + two +
                     "\nflow.yield %n : " + row + "\n} join {\n^bb0(%acc: " + row + ", %b: " + row +
                     "):\n%n = " + join + two + "\nflow.yield %n : " + row + "\n} finish {\n^bb0(%acc: " + row +
                     "):\nflow.yield %acc : " + row + "\n}",
                 "node, f64");
}

TEST(Groups, FoldsJoinTheirParts) {
  EXPECT_EQ(runAll(fold("flow.add %acc, %v", "flow.add %acc, %b"), kEdges), (std::set<Numbers>{{9, 30, 0, 0}}));
}

// If this finds one result only, rows are not cut, and no other test of cuts can fail.
TEST(Groups, AJoinThatLosesAPartIsSeen) {
  EXPECT_GT(runAll(fold("flow.add %acc, %v", "flow.max %acc, %b"), kEdges).size(), 1u);
}

/// A softmax over a node's incoming edges that weighs rows of their sources. `heads` is the shape of the scores, `rows`
/// that of what is weighed, and `widened` that of the attention which is multiplied with it.
std::string softmax(const std::string &heads, const std::string &rows, const std::string &widened) {
  auto table = [](const std::string &domain, const std::string &shape) {
    return "<" + domain + ", " + shape + "f64, device>";
  };
  const std::string a = table("edge", heads), t = table("node", heads), x = table("node", rows),
                    m = table("edge", rows), w = table("edge", widened);
  return "func.func @f(%a: !flow.rows" + a + ", %x: !flow.rows" + x + ") -> !flow.rows" + x +
         " attributes {flow.machine = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1000000, lineBytes = 1, "
         "randomReads = 1000, cachedReads = 1000, productRate = 1000, scalarRate = 1000, launch = 1>} {\n"
         "%t = flow.reduce max %a via dst : " +
         a + " -> " + t + "\n%d = flow.sub %a, %t[dst] : " + a + ", " + t + " -> " + a + "\n%e = flow.exp %d : " + a +
         " -> " + a + "\n%s = flow.reduce sum %e via dst : " + a + " -> " + t + "\n%y = flow.div %e, %s[dst] : " + a +
         ", " + t + " -> " + a + "\n%w = flow.reshape %y : " + a + " -> " + w + "\n%m = flow.mul %w, %x[src] : " + w +
         ", " + x + " -> " + m + "\n%o = flow.reduce sum %m via dst : " + m + " -> " + x + "\nreturn %o : !flow.rows" +
         x + "\n}";
}

/// Runs a function as it is and in groups, which hold a fold, and expects the same of both for each of many ways to
/// cut.
void expectFolded(const std::string &text, const Numbers &scores, const Numbers &rows) {
  FlowText plain(text), grouped(text);
  ASSERT_TRUE(plain.isRead()) << text;
  mlir::ScopedDiagnosticHandler remarks(grouped.function().getContext(),
                                        [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::PassManager manager(grouped.function().getContext());
  manager.addNestedPass<mlir::func::FuncOp>(flow::createFormGroupsPass());
  ASSERT_TRUE(mlir::succeeded(manager.run(grouped.function()->getParentOp())));
  unsigned numFolds = 0, numSweeps = 0;
  grouped.function().walk([&](mlir::Operation *op) {
    numFolds += mlir::isa<flow::FoldOp>(op);
    numSweeps += mlir::isa<flow::SweepOp>(op);
  });
  EXPECT_EQ(numFolds, 1u);
  EXPECT_EQ(numSweeps, 1u);
  auto expected = plain.run(kGraph.make(), {scores, rows});
  ASSERT_TRUE(expected.isOk()) << expected.status().message();
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    auto results = grouped.run(kGraph.make(), {scores, rows}, RunMode{.cuts = seed});
    ASSERT_TRUE(results.isOk()) << results.status().message();
    ASSERT_EQ((*results)[0].values.size(), (*expected)[0].values.size());
    for (auto [got, wanted] : llvm::zip_equal((*results)[0].values, (*expected)[0].values))
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(got)) << got;
      else
        EXPECT_NEAR(got, wanted, 1e-12);
  }
}

// Nodes 2 and 3 have no edges: their rows are 0, and not 0/0.
TEST(Groups, ASoftmaxInOneSweep) {
  expectFolded(softmax("", "2x", "1x"), kEdges, {1, 2, 3, 4, 5, 6, 7, 8});
}

TEST(Groups, ASoftmaxOfHeadsInOneSweep) {
  Numbers scores;
  for (double score : kEdges)
    scores.insert(scores.end(), {score, -2 * score});
  expectFolded(softmax("2x", "2x2x", "2x1x"), scores, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
}

// Exponentials of scores that far apart overflow unless they are shifted.
TEST(Groups, ASoftmaxOfLargeScoresInOneSweep) {
  expectFolded(softmax("", "2x", "1x"), {1e5, -1e5, 1e300, 0, 1, -1e300, 2e5, 1, 1e300, 3}, {1, 2, 3, 4, 5, 6, 7, 8});
}

// Nodes 0 and 1 have edges. Masks set scores to -inf or to the lowest number; a row of nothing else has no softmax, or
// one of equal parts.
TEST(Groups, ASoftmaxOfMaskedScoresInOneSweep) {
  const double inf = std::numeric_limits<double>::infinity(), lowest = std::numeric_limits<double>::lowest();
  for (double masked : {-inf, lowest}) {
    for (size_t open = 0; open <= kEdges.size(); ++open) {
      Numbers scores(kEdges.size(), masked);
      if (open < kEdges.size())
        scores[open] = 1.5;
      expectFolded(softmax("", "2x", "1x"), scores, {1, 2, 3, 4, 5, 6, 7, 8});
    }
  }
  Numbers scores = kEdges;
  scores.front() = inf;
  expectFolded(softmax("", "2x", "1x"), scores, {1, 2, 3, 4, 5, 6, 7, 8});
}

// The second total is a sum of quotients by the first.
TEST(Groups, ASoftmaxNormalisedTwiceInOneSweep) {
  std::string text = softmax("", "2x", "1x");
  const std::string edge = "<edge, f64, device>", node = "<node, f64, device>";
  const std::string twice = "%v = flow.div %e, %s[dst] : " + edge + ", " + node + " -> " + edge +
                            "\n%u = flow.reduce sum %v via dst : " + edge + " -> " + node +
                            "\n%y = flow.div %v, %u[dst] : ";
  const std::string once = "%y = flow.div %e, %s[dst] : ";
  text.replace(text.find(once), once.size(), twice);
  expectFolded(text, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 2, 3, 4, 5, 6, 7, 8});
}

TEST(Groups, TheFirstOfEqualRowsIsFoundAcrossCuts) {
  const std::string text =
      "func.func @f(%x: !flow.rows<edge, f64, device>) -> !flow.rows<edge, f64, device> {\n"
      "%r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f64, device>) -> !flow.rows<edge, f64, "
      "device> "
      "{\n%t = flow.sweep -> !flow.rows<node, f64, device> {\n%0 = flow.reduce max %a via dst" +
      kToNode +
      "\nflow.yield %0 : !flow.rows<node, f64, device>\n}\n%w = flow.sweep -> !flow.rows<node, index, device> {\n"
      "%0 = flow.first_index %a, %t via dst : <edge, f64, device>, <node, f64, device> -> <node, index, device>\n"
      "flow.yield %0 : !flow.rows<node, index, device>\n}\n%o = flow.sweep -> !flow.rows<edge, f64, device> {\n"
      "%0 = flow.is_row %w[dst] : <node, index, device> -> <edge, i1, device>\n"
      "%1 = flow.cast %0 : <edge, i1, device> -> <edge, f64, device>\n"
      "flow.yield %1 : !flow.rows<edge, f64, device>\n}\nflow.yield %o : !flow.rows<edge, f64, device>\n}\n"
      "return %r : !flow.rows<edge, f64, device>\n}";
  EXPECT_EQ(runAll(text, {3, 6, 4, 6, 5, 9, 2, 6, 5, 6}), (std::set<Numbers>{{0, 1, 0, 0, 0, 1, 0, 0, 0, 0}}));
}

TEST(Groups, FlatLoopsSumTheirPieces) {
  const std::string text =
      "func.func @f(%x: !flow.rows<edge, f64, device>) -> !flow.rows<etype, f64, device> {\n"
      "%r = flow.group flat edge forward (%a = %x) : (!flow.rows<edge, f64, device>) -> !flow.rows<etype, f64, device> "
      "{\n%0 = flow.neg %a : <edge, f64, device> -> <edge, f64, device>\n"
      "%1 = flow.reduce sum %0 via etype : <edge, f64, device> -> <etype, f64, device>\n"
      "flow.yield %1 : !flow.rows<etype, f64, device>\n}\nreturn %r : !flow.rows<etype, f64, device>\n}";
  EXPECT_EQ(runAll(text, kEdges), (std::set<Numbers>{{-23, -16}}));
}

}  // namespace
}  // namespace hector
