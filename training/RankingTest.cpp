#include "training/Ranking.h"

#include "kernels/common/philox.hpp"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace hector::training {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Ids list(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

uint32_t draw(uint32_t index, uint32_t stream) {
  return philox({{index, stream, 0, 0}}, {{17, 4}}).words[0];
}

/// Whole numbers from -2 to 2: float sums are exact, and there are many ties.
Floats drawVectors(int64_t count, int64_t size, uint32_t stream) {
  Floats values(static_cast<size_t>(count * size));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(draw(static_cast<uint32_t>(i), stream) % 5) - 2;
  return values;
}

std::vector<Triple> drawTriples(int64_t count, int64_t numEntities, int64_t numRelations) {
  std::vector<Triple> triples;
  for (uint32_t i = 0; i < count; ++i)
    triples.push_back({draw(i, 100) % numEntities, draw(i, 101) % numRelations, draw(i, 102) % numEntities});
  return triples;
}

RankScore rank(std::span<const Triple> triples, std::span<const Triple> known, const Floats &entities,
               const Floats &relations, const Floats &inverses, int64_t size) {
  Result<RankScore> score = rankTriples(triples, KnownTriples(known), entities, relations, inverses, size);
  EXPECT_TRUE(score) << score.status().message();
  return score ? *score : RankScore();
}

/// The definition, one triple after the other.
RankScore rankOneByOne(std::span<const Triple> triples, std::span<const Triple> known, const Floats &entities,
                       const Floats &relations, const Floats &inverses, int64_t size) {
  const std::set<Triple> all(known.begin(), known.end());
  const auto numEntities = static_cast<int64_t>(entities.size()) / size;
  RankScore sum;
  for (const Triple &triple : triples)
    for (bool asksTail : {true, false}) {
      const Floats &vectors = asksTail || inverses.empty() ? relations : inverses;
      auto replaced = [&](int64_t entity) {
        return asksTail ? Triple{triple.head, triple.relation, entity} : Triple{entity, triple.relation, triple.tail};
      };
      auto score = [&](int64_t entity) {
        const auto [head, relation, tail] = replaced(entity);
        double total = 0;
        for (int64_t k = 0; k < size; ++k)
          total += entities[head * size + k] * vectors[relation * size + k] * entities[tail * size + k];
        return total;
      };
      const int64_t truth = asksTail ? triple.tail : triple.head;
      double rank = 1;
      for (int64_t entity = 0; entity < numEntities; ++entity)
        if (entity != truth && !all.contains(replaced(entity)))
          rank += score(entity) > score(truth) ? 1 : score(entity) == score(truth) ? 0.5 : 0;
      sum.mrr += 1 / rank;
      sum.hits1 += rank <= 1;
      sum.hits3 += rank <= 3;
      sum.hits10 += rank <= 10;
      ++sum.numRanks;
    }
  for (double *value : {&sum.mrr, &sum.hits1, &sum.hits3, &sum.hits10})
    *value /= static_cast<double>(sum.numRanks);
  return sum;
}

void expectSame(const RankScore &a, const RankScore &b) {
  EXPECT_DOUBLE_EQ(a.mrr, b.mrr);
  EXPECT_DOUBLE_EQ(a.hits1, b.hits1);
  EXPECT_DOUBLE_EQ(a.hits3, b.hits3);
  EXPECT_DOUBLE_EQ(a.hits10, b.hits10);
  EXPECT_EQ(a.numRanks, b.numRanks);
}

/// The rank of `truth` as the tail of (0, 0, ?), where the score of each tail is its number. The number of 0 is 1.
double tailRank(const Floats &numbers, int64_t truth, std::span<const Triple> known = {}) {
  const Triple triple = {0, 0, truth};
  // The inverse is 0: all heads tie, so that the rank as a head is known.
  const RankScore score = rank({&triple, 1}, known, numbers, {1}, {0}, 1);
  const double headRank = 1 + 0.5 * static_cast<double>(numbers.size() - 1);
  return 1 / (2 * score.mrr - 1 / headRank);
}

TEST(KnownTriples, ListsTheTailsOfAHeadAndTheHeadsOfATail) {
  const KnownTriples known(std::vector<Triple>{{1, 0, 5}, {1, 0, 2}, {1, 1, 3}, {4, 0, 2}});
  EXPECT_EQ(list(known.tailsOf(1, 0)), (Ids{2, 5}));
  EXPECT_EQ(list(known.tailsOf(1, 1)), (Ids{3}));
  EXPECT_EQ(list(known.headsOf(0, 2)), (Ids{1, 4}));
  EXPECT_EQ(list(known.headsOf(1, 3)), (Ids{1}));
}

TEST(KnownTriples, HasNothingForOtherKeys) {
  const KnownTriples known(std::vector<Triple>{{1, 0, 5}});
  EXPECT_TRUE(known.tailsOf(5, 0).empty());
  EXPECT_TRUE(known.tailsOf(1, 1).empty());
  EXPECT_TRUE(known.headsOf(0, 1).empty());
  EXPECT_TRUE(KnownTriples({}).headsOf(0, 0).empty());
}

TEST(KnownTriples, NamesAnEntityOnce) {
  const KnownTriples known(std::vector<Triple>{{1, 0, 5}, {1, 0, 5}});
  EXPECT_EQ(list(known.tailsOf(1, 0)), (Ids{5}));
  EXPECT_EQ(list(known.headsOf(0, 5)), (Ids{1}));
}

TEST(Ranking, CountsEntitiesThatScoreHigher) {
  EXPECT_DOUBLE_EQ(tailRank({1, 5, 3, 4, 2}, 3), 2);
  EXPECT_DOUBLE_EQ(tailRank({1, 5, 3, 4, 2}, 0), 5);
}

TEST(Ranking, CountsHalfOfThoseThatTie) {
  EXPECT_DOUBLE_EQ(tailRank({1, 5, 3, 3, 3}, 3), 3);
  EXPECT_DOUBLE_EQ(tailRank({1, 5, 3, 3, 0}, 3), 2.5);
}

TEST(Ranking, LeavesOutOtherKnownTriples) {
  const std::vector<Triple> known = {{0, 0, 1}, {0, 0, 2}, {0, 0, 4}};
  EXPECT_DOUBLE_EQ(tailRank({1, 5, 3, 4, 2, 6}, 2, known), 3);
}

TEST(Ranking, RivalsWithoutANumberAreNotHigher) {
  const std::vector<Triple> triples = {{0, 0, 2}};
  EXPECT_DOUBLE_EQ(rank(triples, {}, {1, kNan, 3, 4, 2}, {1}, {}, 1).mrr, (1.0 / 2 + 1.0 / 4) / 2);
}

TEST(Ranking, ATruthWithoutANumberIsLast) {
  const Floats entities = {1, 5, kNan, 4, 2};
  // As a tail, 2 has the four others above it, less the one that is known; its score as a known entity is NaN as well.
  const std::vector<Triple> triples = {{0, 0, 2}}, known = {{0, 0, 1}, {0, 0, 2}};
  const RankScore score = rank(triples, known, entities, {1}, {}, 1);
  EXPECT_DOUBLE_EQ(score.mrr, (1.0 / 4 + 1.0 / 5) / 2);
}

TEST(Ranking, EqualVectorsTieInEveryPlace) {
  // Sums of 77 rounded products; any other order of additions would break some of the ties.
  constexpr int64_t kSize = 77, kEntities = 61;
  Floats entities, relation;
  for (uint32_t k = 0; k < kSize; ++k)
    relation.push_back(static_cast<float>(draw(k, 1)) * 0x1p-31f - 1);
  for (int64_t entity = 0; entity < kEntities; ++entity)
    for (uint32_t k = 0; k < kSize; ++k)
      entities.push_back(static_cast<float>(draw(k, 2)) * 0x1p-31f - 1);
  std::vector<Triple> triples;
  for (int64_t entity = 0; entity < kEntities; ++entity)
    triples.push_back({entity, 0, kEntities - 1 - entity});
  EXPECT_DOUBLE_EQ(rank(triples, {}, entities, relation, {}, kSize).mrr, 1 / (1 + 0.5 * (kEntities - 1)));
}

TEST(Ranking, ScoresHeadsByInverses) {
  // As a tail, 1 is the best of three; with the inverse's sign, 0 is the worst head.
  const std::vector<Triple> triples = {{0, 0, 1}};
  EXPECT_DOUBLE_EQ(rank(triples, {}, {3, 4, 2}, {1}, {}, 1).mrr, (1.0 + 1.0 / 2) / 2);
  EXPECT_DOUBLE_EQ(rank(triples, {}, {3, 4, 1}, {1}, {-1}, 1).mrr, (1.0 + 1.0 / 2) / 2);
  EXPECT_DOUBLE_EQ(rank(triples, {}, {3, 4, 1}, {-1}, {1}, 1).mrr, (1.0 / 3 + 1.0 / 2) / 2);
}

TEST(Ranking, CountsRanksUpTo1And3And10) {
  Floats entities(20);
  std::iota(entities.rbegin(), entities.rend(), 1.0f);
  // Tails of rank 1, 3, 4, 10 and 11; as heads, 0 is first in all five.
  std::vector<Triple> triples;
  for (int64_t tail : {0, 2, 3, 9, 10})
    triples.push_back({0, 0, tail});
  const RankScore score = rank(triples, {}, entities, {1}, {}, 1);
  EXPECT_EQ(score.numRanks, 10);
  EXPECT_DOUBLE_EQ(score.hits1, 0.6);
  EXPECT_DOUBLE_EQ(score.hits3, 0.7);
  EXPECT_DOUBLE_EQ(score.hits10, 0.9);
}

TEST(Ranking, NothingToRank) {
  expectSame(rank({}, {}, {1, 2}, {1}, {}, 1), {});
}

/// Sizes of vectors: the longest makes chunks of 16 entities, the shortest one chunk of all.
class RankingBySize : public testing::TestWithParam<int64_t> {};

TEST_P(RankingBySize, MatchesTheDefinition) {
  constexpr int64_t kEntities = 37, kRelations = 3;
  const Floats entities = drawVectors(kEntities, GetParam(), 1), relations = drawVectors(kRelations, GetParam(), 2),
               inverses = drawVectors(kRelations, GetParam(), 3);
  const std::vector<Triple> known = drawTriples(400, kEntities, kRelations);
  const std::vector<Triple> triples(known.begin(), known.begin() + 40);
  expectSame(rank(triples, known, entities, relations, inverses, GetParam()),
             rankOneByOne(triples, known, entities, relations, inverses, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, RankingBySize, testing::Values(1, 3, 64, 4096));

TEST(Ranking, TripleThatIsNotKnownRanksAmongAllOthers) {
  constexpr int64_t kEntities = 37, kRelations = 3, kSize = 8;
  const Floats entities = drawVectors(kEntities, kSize, 1), relations = drawVectors(kRelations, kSize, 2);
  const std::vector<Triple> all = drawTriples(400, kEntities, kRelations);
  const std::span<const Triple> known = std::span(all).subspan(40);
  expectSame(rank(std::span(all).first(40), known, entities, relations, {}, kSize),
             rankOneByOne(std::span(all).first(40), known, entities, relations, {}, kSize));
}

TEST(Ranking, DoesNotDependOnThreads) {
  constexpr int64_t kEntities = 300, kRelations = 5, kSize = 12;
  const Floats entities = drawVectors(kEntities, kSize, 1), relations = drawVectors(kRelations, kSize, 2);
  const std::vector<Triple> triples = drawTriples(2000, kEntities, kRelations);
  std::vector<double> mrr;
  for (int threads : {1, 2, 7}) {
    ThreadLimit limit(threads);
    mrr.push_back(rank(triples, triples, entities, relations, {}, kSize).mrr);
  }
  EXPECT_EQ(mrr[0], mrr[1]);
  EXPECT_EQ(mrr[0], mrr[2]);
}

TEST(RankingDeathTest, StopsWhenInterrupted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        noteInterrupts();
        std::raise(SIGINT);
        const std::vector<Triple> triples = drawTriples(1, 2, 1);
        const Result<RankScore> score = rankTriples(triples, KnownTriples(triples), Floats(2), Floats(1), {}, 1);
        std::fputs(score ? "no error" : score.status().message().c_str(), stderr);
        std::_Exit(interruptExitCode());
      },
      testing::ExitedWithCode(130), "^interrupted$");
}

/// Notes a signal, ranks many rows on several threads behind a shield, and ends as programs do.
[[noreturn]] void rankBehindAShield() {
  constexpr int64_t kEntities = 300, kRelations = 5, kSize = 12;
  const Floats entities = drawVectors(kEntities, kSize, 1), relations = drawVectors(kRelations, kSize, 2);
  const std::vector<Triple> triples = drawTriples(2000, kEntities, kRelations);
  noteInterrupts();
  std::raise(SIGINT);
  ThreadLimit limit(4);
  {
    InterruptShield shield;
    const Result<RankScore> score = rankTriples(triples, KnownTriples(triples), entities, relations, {}, kSize);
    std::fputs(score ? "ranked" : score.status().message().c_str(), stderr);
  }
  std::_Exit(interruptExitCode());
}

TEST(RankingDeathTest, AShieldCoversAllThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(rankBehindAShield(), testing::ExitedWithCode(130), "^ranked$");
}

bool operator==(const Sample &a, const Sample &b) {
  return a.candidate == b.candidate && a.known == b.known && a.type == b.type && a.truth == b.truth;
}

/// Triples 0 .. count-1, whose number is in each part.
std::vector<Triple> numbered(int64_t count) {
  std::vector<Triple> triples;
  for (int64_t i = 0; i < count; ++i)
    triples.push_back({i, i, i});
  return triples;
}

/// The true triples of a sample, sorted: those whose tail is asked for, or those whose head is.
std::vector<Triple> truths(const Sample &sample, int64_t numRelations, bool asksTail = true) {
  std::vector<Triple> found;
  for (size_t e = 0; e < sample.truth.size(); ++e)
    if (const int64_t type = sample.type[e]; sample.truth[e] == 1 && (type < numRelations) == asksTail)
      found.push_back(asksTail ? Triple{sample.known[e], type, sample.candidate[e]}
                               : Triple{sample.candidate[e], type - numRelations, sample.known[e]});
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Sample, HasBothQueriesOfEachTriple) {
  const std::vector<Triple> triples = {{3, 0, 4}, {5, 1, 6}, {3, 1, 7}};
  const Sample sample = drawSample(triples, 10, 2, 3, 4, 7, 0);
  std::vector<Triple> sorted = triples;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(truths(sample, 2, true), sorted);
  EXPECT_EQ(truths(sample, 2, false), sorted);
}

TEST(Sample, GivesEachQueryItsRivals) {
  const Sample sample = drawSample(drawTriples(50, 10, 2), 10, 2, 20, 7, 7, 3);
  ASSERT_EQ(sample.truth.size(), 2 * 20 * 8);
  for (size_t e = 0; e < sample.truth.size(); ++e) {
    EXPECT_EQ(sample.truth[e], e % 8 == 0 ? 1 : 0);
    EXPECT_EQ(sample.known[e], sample.known[e - e % 8]);
    EXPECT_EQ(sample.type[e], sample.type[e - e % 8]);
    EXPECT_TRUE(sample.candidate[e] >= 0 && sample.candidate[e] < 10);
  }
}

TEST(Sample, IsOrderedByTypeAndKnown) {
  // More entities and types than a digit of the sort has values.
  constexpr int64_t kEntities = 5000, kRelations = 1500;
  const Sample sample = drawSample(drawTriples(4000, kEntities, kRelations), kEntities, kRelations, 3000, 1, 7, 0);
  for (size_t e = 1; e < sample.truth.size(); ++e)
    EXPECT_LE(std::pair(sample.type[e - 1], sample.known[e - 1]), std::pair(sample.type[e], sample.known[e]));
}

TEST(Sample, EqualKeysKeepTheOrderOfTheDraw) {
  // One head and one relation: the tails of a pass are in the order of the pass, and so the same in steps of any size.
  std::vector<Triple> triples;
  for (int64_t i = 0; i < 40; ++i)
    triples.push_back({0, 0, i});
  auto tailsOf = [](const Sample &sample) {
    return Ids(sample.candidate.begin(), sample.candidate.begin() + static_cast<int64_t>(sample.truth.size() / 2));
  };
  Ids parts;
  for (uint64_t step = 0; step < 4; ++step)
    for (int64_t tail : tailsOf(drawSample(triples, 40, 1, 10, 0, 7, step)))
      parts.push_back(tail);
  EXPECT_EQ(parts, tailsOf(drawSample(triples, 40, 1, 40, 0, 7, 0)));
}

TEST(Sample, APassHasEveryTripleOnce) {
  for (int64_t count : {1, 2, 3, 17, 64, 1000}) {
    const Sample sample = drawSample(numbered(count), count, count, count, 0, 7, 5);
    EXPECT_EQ(truths(sample, count), numbered(count)) << count;
  }
}

TEST(Sample, TheLastBatchOfAPassIsCompletedFromTheNext) {
  // 4 steps of 25 are 10 passes over 10 triples; steps 0 and 1 share the third pass.
  std::map<int64_t, int> times;
  for (uint64_t step = 0; step < 4; ++step)
    for (const Triple &triple : truths(drawSample(numbered(10), 10, 10, 25, 0, 7, step), 10))
      ++times[triple.head];
  EXPECT_EQ(times.size(), 10u);
  for (auto [triple, count] : times)
    EXPECT_EQ(count, 10) << triple;
}

TEST(Sample, PassesAreShuffledAnew) {
  std::set<std::vector<Triple>> halves;
  for (uint64_t step = 0; step < 20; step += 2)
    halves.insert(truths(drawSample(numbered(100), 100, 100, 50, 0, 7, step), 100));
  EXPECT_EQ(halves.size(), 10u);
}

TEST(Sample, EveryTripleIsAsLikelyToComeFirst) {
  constexpr int64_t kTriples = 6, kPasses = 6000;
  std::vector<int> times(kTriples);
  for (uint64_t pass = 0; pass < kPasses; ++pass)
    ++times[drawSample(numbered(kTriples), kTriples, kTriples, 1, 0, 7, pass * kTriples).candidate[0]];
  // 1000 each, with a standard deviation of 29.
  for (int count : times)
    EXPECT_NEAR(count, 1000, 5 * 29);
}

TEST(Sample, RivalsAreUniform) {
  constexpr int64_t kEntities = 10;
  std::vector<int> times(kEntities);
  const Sample sample = drawSample(numbered(10), kEntities, 10, 500, 100, 7, 0);
  for (size_t e = 0; e < sample.truth.size(); ++e)
    times[sample.candidate[e]] += sample.truth[e] == 0;
  // 10,000 each, with a standard deviation of 95.
  for (int count : times)
    EXPECT_NEAR(count, 10'000, 5 * 95);
}

TEST(Sample, QueriesHaveDifferentRivals) {
  const Sample sample = drawSample(numbered(1), 1'000'000, 1, 100, 3, 7, 0);
  std::set<Ids> rivals;
  for (size_t e = 0; e < sample.truth.size(); e += 4)
    rivals.insert(Ids(sample.candidate.begin() + static_cast<int64_t>(e) + 1,
                      sample.candidate.begin() + static_cast<int64_t>(e) + 4));
  EXPECT_EQ(rivals.size(), 200u);
}

TEST(Sample, StepsAndSeedsDiffer) {
  const std::vector<Triple> triples = drawTriples(100, 30, 2);
  const Sample sample = drawSample(triples, 30, 2, 100, 2, 7, 0);
  EXPECT_FALSE(sample == drawSample(triples, 30, 2, 100, 2, 7, 1));
  EXPECT_FALSE(sample == drawSample(triples, 30, 2, 100, 2, 8, 0));
  EXPECT_FALSE(sample == drawSample(triples, 30, 2, 100, 2, 7 + (uint64_t{1} << 32), 0));
}

TEST(Sample, DoesNotDependOnThreads) {
  const std::vector<Triple> triples = drawTriples(5000, 300, 5);
  ThreadLimit one(1);
  const Sample sample = drawSample(triples, 300, 5, 4000, 9, 7, 11);
  ThreadLimit many(7);
  EXPECT_TRUE(sample == drawSample(triples, 300, 5, 4000, 9, 7, 11));
}

// Whoever continues a run on another machine gets the steps that the first would have made.
TEST(Sample, IsTheSameOnEveryMachine) {
  const Sample sample = drawSample(numbered(5), 1000, 5, 2, 3, 7, 1);
  EXPECT_EQ(sample.type, (Ids{3, 3, 3, 3, 4, 4, 4, 4, 8, 8, 8, 8, 9, 9, 9, 9}));
  EXPECT_EQ(sample.known, (Ids{3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 3, 3, 4, 4, 4, 4}));
  EXPECT_EQ(sample.candidate, (Ids{3, 750, 485, 315, 4, 685, 1, 857, 3, 30, 77, 324, 4, 961, 86, 191}));
}

TEST(Sample, MayBeEmpty) {
  EXPECT_TRUE(drawSample(numbered(5), 5, 5, 0, 3, 7, 1).truth.empty());
}

TEST(Sample, CountsStepsWithoutOverflow) {
  const uint64_t last = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(truths(drawSample(numbered(10), 10, 10, 10, 0, 7, last), 10), numbered(10));
}

}  // namespace
}  // namespace hector::training
