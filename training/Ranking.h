/// Link prediction: how true triples rank among all others, and the triples that training sees.
///
/// A triple (head, relation, tail) is scored by DistMult, Σ_k h[k] · r[k] · t[k]. Its rank as a tail is 1 + the number
/// of entities that score higher in its place + half the number of others with an equal score; entities that make
/// another known triple (of any split) are left out: the filtered rank. The same with entities in place of the head. A
/// rival whose score is NaN is not higher; a true triple whose score is NaN ranks last.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hector::training {

struct Triple {
  int64_t head, relation, tail;
  bool operator==(const Triple &) const = default;
  auto operator<=>(const Triple &) const = default;
};

struct RankScore {
  double mrr = 0;
  double hits1 = 0, hits3 = 0, hits10 = 0;
  int64_t numRanks = 0;  // two for each triple
};

/// Known triples, for filters: which tails a (head, relation) has, and which heads a (relation, tail). Each list is
/// sorted and names an entity once, however often the triple was given.
class KnownTriples {
public:
  explicit KnownTriples(std::span<const Triple> triples);
  std::span<const int64_t> tailsOf(int64_t head, int64_t relation) const;
  std::span<const int64_t> headsOf(int64_t relation, int64_t tail) const;

private:
  /// The values of keys[i] are values[starts[i] .. starts[i + 1] - 1].
  struct Index {
    std::vector<std::array<int64_t, 2>> keys;  // sorted
    std::vector<int64_t> starts, values;

    explicit Index(std::vector<std::array<int64_t, 3>> entries);  // each a key and a value
    std::span<const int64_t> find(std::array<int64_t, 2> key) const;
  };
  Index tails, heads;
};

/// Ranks of `triples`, as described above. `entities` has `size` numbers per entity, `relations` as many per relation;
/// `inverses`, if not empty, are the vectors that score heads (tail · inverse · head), else `relations` serve both
/// ways. Runs on `numThreads()` threads; the result does not depend on how many. Fails only if an interrupt was noted.
Result<RankScore> rankTriples(std::span<const Triple> triples, const KnownTriples &known,
                              std::span<const float> entities, std::span<const float> relations,
                              std::span<const float> inverses, int64_t size);

/// The true triples of a step and their rivals. Step `step` of seed `seed` is the same on every machine.
struct Sample {
  /// A query asks for the missing end of a triple. Each candidate of a query is an edge from the candidate entity to
  /// the known entity, whose type is the relation, or relation + numRelations where the head is missing.
  std::vector<int64_t> candidate, known, type;
  std::vector<float> truth;  // 1 for the true triple, 0 for its rivals
};

/// Draws `batch` of the triples in an order that is shuffled anew for each pass over them (the last batch of a pass is
/// completed from the next pass), and for each of them both queries, each with `negatives` rivals: entities drawn
/// uniformly from `numEntities`. A rival may by chance be true; it stays. Edges are ordered by (type, known, query),
/// and the true triple comes before its rivals. So queries with one known entity and one type lie next to each other;
/// the decoder (programs/distmult.hec) has one softmax for all candidates of these. `triples` is not empty.
Sample drawSample(std::span<const Triple> triples, int64_t numEntities, int64_t numRelations, int64_t batch,
                  int64_t negatives, uint64_t seed, uint64_t step);

}  // namespace hector::training
