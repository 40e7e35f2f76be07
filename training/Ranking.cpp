#include "training/Ranking.h"

#include "kernels/common/philox.hpp"
#include "runtime/base/BigVector.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

namespace hector::training {

namespace {

constexpr int64_t kLanes = 16;    // entities of a tile
constexpr int64_t kTileRows = 6;  // rows of a tile

// The vectors of a block of rows and those of a chunk of entities lie in the second-level cache together.
constexpr int64_t kBlockRows = 32 * kTileRows;
constexpr int64_t kChunkBytes = int64_t{256} << 10;

/// Scores of kTileRows rows with kLanes entities, by vectors of kWidth floats. kVectors of them per row are summed up
/// at a time, few enough for the registers. Every sum runs over k in order, whatever its place: equal vectors get equal
/// scores.
template <int kWidth, int kVectors>
[[gnu::always_inline]] inline void scoreTileBy(const float *rows,   // (size, kTileRows)
                                               const float *panel,  // (size, kLanes)
                                               int64_t size,
                                               float *scores,  // (kTileRows, stride)
                                               int64_t stride) {
  typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));
  for (int64_t lane = 0; lane < kLanes; lane += kWidth * kVectors) {
    Vector sums[kTileRows][kVectors] = {};
    for (int64_t k = 0; k < size; ++k) {
      Vector x[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        std::memcpy(&x[v], panel + k * kLanes + lane + v * kWidth, sizeof(Vector));
#pragma GCC unroll 8
      for (int row = 0; row < kTileRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
          sums[row][v] += rows[k * kTileRows + row] * x[v];
    }
#pragma GCC unroll 8
    for (int row = 0; row < kTileRows; ++row)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        std::memcpy(scores + row * stride + lane + v * kWidth, &sums[row][v], sizeof(Vector));
  }
}

using ScoreTile = void (*)(const float *rows, const float *panel, int64_t size, float *scores, int64_t stride);

void scoreTile128(const float *rows, const float *panel, int64_t size, float *scores, int64_t stride) {
  scoreTileBy<4, 2>(rows, panel, size, scores, stride);
}

#ifdef __x86_64__
__attribute__((target("avx,fma"))) void scoreTile256(const float *rows, const float *panel, int64_t size, float *scores,
                                                     int64_t stride) {
  scoreTileBy<8, 2>(rows, panel, size, scores, stride);
}

__attribute__((target("avx512f"))) void scoreTile512(const float *rows, const float *panel, int64_t size, float *scores,
                                                     int64_t stride) {
  scoreTileBy<16, 1>(rows, panel, size, scores, stride);
}
#endif

/// The widest that the processor has; the program itself is compiled for any.
ScoreTile chooseScoreTile() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    return scoreTile512;
  if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("fma"))
    return scoreTile256;
#endif
  return scoreTile128;
}

struct Rivals {
  int64_t higher = 0, equal = 0;
};

/// Entities that score higher than `truth`, and as high.
Rivals countRivals(const float *scores, int count, float truth) {
  int higher = 0, equal = 0;
  for (int i = 0; i < count; ++i) {
    higher += scores[i] > truth;
    equal += scores[i] == truth;
  }
  return {higher, equal};
}

/// Vectors of entities as tiles read them: (panels, size, kLanes), zero where the last panel has no entity.
class Panels {
public:
  Panels(std::span<const float> entities, int64_t size)
      : size(size), count(static_cast<int64_t>(entities.size()) / size),
        values(static_cast<size_t>(numChunks(count, kLanes) * kLanes * size)) {
    parallelFor(numChunks(count, kLanes), 16, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel)
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const int64_t entity = panel * kLanes + lane;
          float *to = &values[panel * kLanes * size + lane];
          for (int64_t k = 0; k < size; ++k)
            to[k * kLanes] = entity < count ? entities[entity * size + k] : 0;
        }
    });
  }
  int64_t numEntities() const { return count; }
  /// That of entities `first` .. `first` + kLanes - 1.
  const float *at(int64_t first) const { return values.data() + first * size; }

private:
  int64_t size, count;
  BigVector<float> values;
};

/// Asks for the missing end of a triple.
struct Query {
  int64_t type;   // the relation, or relation + the number of relations where the head is missing
  int64_t known;  // entity
  int64_t truth;  // entity
  int64_t place;  // of triple i: 2·i, or 2·i + 1 where the head is missing
};

/// Sorts by (type, known) and keeps the order of equals: by digits of 11 bits, the lowest first.
void sortQueries(std::vector<Query> &queries, int64_t numTypes, int64_t numEntities) {
  constexpr int kBits = 11;
  std::vector<Query> sorted(queries.size());
  auto sortBy = [&](int64_t Query::*key, int64_t limit) {
    for (int shift = 0; (limit - 1) >> shift > 0; shift += kBits) {
      auto digit = [&](const Query &query) { return (query.*key >> shift) & ((1 << kBits) - 1); };
      std::array<int64_t, 1 << kBits> next = {};
      for (const Query &query : queries)
        ++next[digit(query)];
      std::exclusive_scan(next.begin(), next.end(), next.begin(), int64_t{0});
      for (const Query &query : queries)
        sorted[next[digit(query)]++] = query;
      queries.swap(sorted);
    }
  };
  sortBy(&Query::known, numEntities);
  sortBy(&Query::type, numTypes);
}

/// The queries of one type and known entity. They differ only in their truths, so that they share all scores.
using Row = std::span<const Query>;

std::vector<Row> rowsOf(std::span<const Query> sorted) {
  std::vector<Row> rows;
  while (!sorted.empty()) {
    const Query &first = sorted.front();
    const auto end = std::find_if(sorted.begin(), sorted.end(), [&](const Query &query) {
      return query.type != first.type || query.known != first.known;
    });
    rows.push_back(sorted.first(end - sorted.begin()));
    sorted = sorted.subspan(rows.back().size());
  }
  return rows;
}

/// What all blocks read.
struct Tables {
  ScoreTile scoreTile;
  const Panels &panels;
  const KnownTriples &known;
  std::span<const float> entities, relations, inverses;
  int64_t size, numRelations;
};

/// Ranks the queries of up to kBlockRows rows that lie next to each other.
class Block {
public:
  Block(const Tables &tables, std::span<const Row> rows)
      : t(tables), rows(rows),
        chunk(std::max<int64_t>(1, kChunkBytes / (kLanes * t.size * static_cast<int64_t>(sizeof(float)))) * kLanes),
        vectors(numChunks(static_cast<int64_t>(rows.size()), kTileRows) * kTileRows * t.size),
        scores(kTileRows * chunk) {
    for (size_t row = 0; row < rows.size(); ++row)
      addRow(row);
    for (size_t row = 0; row < rows.size(); ++row)
      for (const Query &query : rows[row])
        standings.push_back({.score = scoreOfTruth(row, query)});
  }

  /// Returns false if an interrupt was noted.
  bool rank(std::span<double> ranks) {
    const int64_t numEntities = t.panels.numEntities();
    for (int64_t first = 0; first < numEntities; first += chunk) {
      if (interruptSignal())
        return false;
      const int64_t count = std::min(chunk, numEntities - first);
      for (size_t row = 0; row < rows.size(); ++row) {
        if (row % kTileRows == 0)
          for (int64_t entity = 0; entity < count; entity += kLanes)
            t.scoreTile(tileOf(row), t.panels.at(first + entity), t.size, &scores[entity], chunk);
        countRow(row, first, count);
      }
    }
    for (const Row &row : rows)
      for (const Query &query : row) {
        const Standing &standing = standingOf(query);
        const int64_t last = numEntities - standing.leftOut;
        ranks[query.place] = std::isnan(standing.score)
                                 ? static_cast<double>(last)
                                 : static_cast<double>(1 + standing.rivals.higher) + 0.5 * standing.rivals.equal;
      }
    return true;
  }

private:
  /// Of a true triple, among the entities so far.
  struct Standing {
    float score;
    Rivals rivals = {0, -1};  // the truth equals itself, but is no rival
    int64_t leftOut = 0;
  };
  /// Entities that make other known triples.
  struct Filter {
    std::span<const int64_t> entities;
    size_t next = 0;  // the first that lies behind the entities so far
  };

  const float *tileOf(size_t row) const { return &vectors[row / kTileRows * kTileRows * t.size]; }
  Standing &standingOf(const Query &query) { return standings[&query - rows[0].data()]; }

  void addRow(size_t row) {
    const Query &query = rows[row].front();
    const bool asksTail = query.type < t.numRelations;
    const int64_t relation = asksTail ? query.type : query.type - t.numRelations;
    const float *x = &t.entities[query.known * t.size];
    const float *r = &(asksTail || t.inverses.empty() ? t.relations : t.inverses)[relation * t.size];
    float *to = &vectors[row / kTileRows * kTileRows * t.size + row % kTileRows];
    for (int64_t k = 0; k < t.size; ++k)
      to[k * kTileRows] = x[k] * r[k];
    filters.push_back({asksTail ? t.known.tailsOf(query.known, relation) : t.known.headsOf(relation, query.known)});
  }

  /// Computed as the scores of rivals are, so that equal vectors tie.
  float scoreOfTruth(size_t row, const Query &query) const {
    float tile[kTileRows * kLanes];
    const int64_t lane = query.truth % kLanes;
    t.scoreTile(tileOf(row), t.panels.at(query.truth - lane), t.size, tile, kLanes);
    return tile[static_cast<int64_t>(row) % kTileRows * kLanes + lane];
  }

  /// Adds what entities first .. first + count - 1 are to the queries of a row. `scores` has those of the row's tile.
  void countRow(size_t row, int64_t first, int64_t count) {
    const float *mine = &scores[static_cast<int64_t>(row) % kTileRows * chunk];
    Filter &filter = filters[row];
    const size_t begin = filter.next;
    while (filter.next < filter.entities.size() && filter.entities[filter.next] < first + count)
      ++filter.next;
    for (const Query &query : rows[row]) {
      Standing &standing = standingOf(query);
      Rivals found = countRivals(mine, static_cast<int>(count), standing.score);
      for (int64_t entity : filter.entities.subspan(begin, filter.next - begin))
        if (entity != query.truth) {
          found.higher -= mine[entity - first] > standing.score;
          found.equal -= mine[entity - first] == standing.score;
          ++standing.leftOut;
        }
      standing.rivals.higher += found.higher;
      standing.rivals.equal += found.equal;
    }
  }

  const Tables &t;
  std::span<const Row> rows;
  int64_t chunk;                // entities whose scores are kept at a time
  std::vector<float> vectors;   // (tiles, size, kTileRows), zero where the last tile has no row
  std::vector<float> scores;    // (kTileRows, chunk)
  std::vector<Filter> filters;  // by row
  std::vector<Standing> standings;
};

/// What a key is for. Keys of dropout are drawn with 0 in its place.
enum class Purpose : uint32_t { Order = 1, Rivals };

constexpr uint32_t lowWord(uint64_t number) {
  return static_cast<uint32_t>(number);
}

constexpr uint32_t highWord(uint64_t number) {
  return static_cast<uint32_t>(number >> 32);
}

/// The key for a pass over the triples, or for a step.
PhiloxKey keyOf(uint64_t seed, uint64_t number, Purpose purpose) {
  const PhiloxCounter drawn = philox({{lowWord(number), highWord(number), 0, static_cast<uint32_t>(purpose)}},
                                     {{lowWord(seed), highWord(seed)}});
  return {{drawn.words[0], drawn.words[1]}};
}

/// A shuffled order of 0 .. count-1, of which each place is computed by itself: a Feistel network permutes the smallest
/// power of two that holds them, and is applied again while the result is not one of them.
class Shuffle {
public:
  Shuffle(int64_t count, PhiloxKey key) : count(static_cast<uint64_t>(count)), key(key) {
    const int bits = std::bit_width(this->count - 1);
    lowBits = bits / 2;
    lowMask = lowWord((uint64_t{1} << lowBits) - 1);
    highMask = lowWord((uint64_t{1} << (bits - lowBits)) - 1);
  }
  int64_t at(int64_t place) const {
    auto x = static_cast<uint64_t>(place);
    do
      x = permuted(x);
    while (x >= count);
    return static_cast<int64_t>(x);
  }

private:
  uint64_t permuted(uint64_t x) const {
    uint32_t low = lowWord(x) & lowMask, high = lowWord(x >> lowBits);
    for (uint32_t round = 0; round < 6; round += 2) {
      high ^= philox({{low, round, 0, 0}}, key).words[0] & highMask;
      low ^= philox({{high, round + 1, 0, 0}}, key).words[0] & lowMask;
    }
    return uint64_t{high} << lowBits | low;
  }

  uint64_t count;
  PhiloxKey key;
  int lowBits;
  uint32_t lowMask, highMask;
};

/// 64 random bits as one of 0 .. count-1.
int64_t below(uint32_t high, uint32_t low, int64_t count) {
  const uint64_t bits = uint64_t{high} << 32 | low;
  return static_cast<int64_t>((static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(count)) >> 64);
}

}  // namespace

KnownTriples::Index::Index(std::vector<std::array<int64_t, 3>> entries) {
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  for (auto [first, second, value] : entries) {
    const std::array<int64_t, 2> key = {first, second};
    if (keys.empty() || keys.back() != key) {
      keys.push_back(key);
      starts.push_back(static_cast<int64_t>(values.size()));
    }
    values.push_back(value);
  }
  starts.push_back(static_cast<int64_t>(values.size()));
}

std::span<const int64_t> KnownTriples::Index::find(std::array<int64_t, 2> key) const {
  const auto it = std::lower_bound(keys.begin(), keys.end(), key);
  if (it == keys.end() || *it != key)
    return {};
  const auto i = it - keys.begin();
  return std::span(values).subspan(starts[i], starts[i + 1] - starts[i]);
}

/// The numbers of each triple, in the order that `arrange` gives them.
template <class F> static std::vector<std::array<int64_t, 3>> entriesOf(std::span<const Triple> triples, F arrange) {
  std::vector<std::array<int64_t, 3>> entries(triples.size());
  std::transform(triples.begin(), triples.end(), entries.begin(), arrange);
  return entries;
}

KnownTriples::KnownTriples(std::span<const Triple> triples)
    : tails(entriesOf(triples, [](const Triple &t) { return std::array{t.head, t.relation, t.tail}; })),
      heads(entriesOf(triples, [](const Triple &t) { return std::array{t.relation, t.tail, t.head}; })) {}

std::span<const int64_t> KnownTriples::tailsOf(int64_t head, int64_t relation) const {
  return tails.find({head, relation});
}

std::span<const int64_t> KnownTriples::headsOf(int64_t relation, int64_t tail) const {
  return heads.find({relation, tail});
}

Result<RankScore> rankTriples(std::span<const Triple> triples, const KnownTriples &known,
                              std::span<const float> entities, std::span<const float> relations,
                              std::span<const float> inverses, int64_t size) {
  assert(size > 0 && (inverses.empty() || inverses.size() == relations.size()));
  const Panels panels(entities, size);
  const int64_t numRelations = static_cast<int64_t>(relations.size()) / size;
  const Tables tables = {chooseScoreTile(), panels, known, entities, relations, inverses, size, numRelations};

  std::vector<Query> queries;
  queries.reserve(2 * triples.size());
  for (const auto &[head, relation, tail] : triples) {
    assert(head >= 0 && head < panels.numEntities() && tail >= 0 && tail < panels.numEntities());
    assert(relation >= 0 && relation < numRelations);
    const auto place = static_cast<int64_t>(queries.size());
    queries.push_back({relation, head, tail, place});
    queries.push_back({relation + numRelations, tail, head, place + 1});
  }
  sortQueries(queries, 2 * numRelations, panels.numEntities());
  const std::vector<Row> rows = rowsOf(queries);
  const auto numRows = static_cast<int64_t>(rows.size());

  std::vector<double> ranks(queries.size());
  std::atomic<bool> isStopped = false;
  // Few rows make smaller blocks, so that many threads have work.
  const int64_t grain = std::min(kBlockRows, numChunks(grainFor(numRows, 1, 64), kTileRows) * kTileRows);
  parallelFor(numRows, grain, [&](int64_t begin, int64_t end) {
    if (!Block(tables, std::span(rows).subspan(begin, end - begin)).rank(ranks))
      isStopped = true;
  });
  if (isStopped)
    return Status::failed("interrupted");

  RankScore score;
  score.numRanks = static_cast<int64_t>(ranks.size());
  for (double rank : ranks) {
    score.mrr += 1 / rank;
    score.hits1 += rank <= 1;
    score.hits3 += rank <= 3;
    score.hits10 += rank <= 10;
  }
  for (double *sum : {&score.mrr, &score.hits1, &score.hits3, &score.hits10})
    *sum /= std::max<double>(1, static_cast<double>(score.numRanks));
  return score;
}

Sample drawSample(std::span<const Triple> triples, int64_t numEntities, int64_t numRelations, int64_t batch,
                  int64_t negatives, uint64_t seed, uint64_t step) {
  assert(!triples.empty() && numEntities > 0 && batch >= 0 && negatives >= 0);
  const auto count = static_cast<int64_t>(triples.size());
  const unsigned __int128 drawn = static_cast<unsigned __int128>(step) * static_cast<uint64_t>(batch);
  const auto firstPass = static_cast<uint64_t>(drawn / static_cast<uint64_t>(count));
  const auto firstPlace = static_cast<int64_t>(drawn % static_cast<uint64_t>(count));

  std::vector<Query> queries(static_cast<size_t>(2 * batch));
  parallelFor(batch, 1 << 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t pass = (firstPlace + i) / count, passEnd = (pass + 1) * count - firstPlace;
      const Shuffle shuffle(count, keyOf(seed, firstPass + static_cast<uint64_t>(pass), Purpose::Order));
      for (const int64_t stop = std::min(end, passEnd); i < stop; ++i) {
        const auto &[head, relation, tail] = triples[shuffle.at(firstPlace + i - pass * count)];
        queries[2 * i] = {relation, head, tail, 2 * i};
        queries[2 * i + 1] = {relation + numRelations, tail, head, 2 * i + 1};
      }
    }
  });
  sortQueries(queries, 2 * numRelations, numEntities);

  const int64_t width = 1 + negatives, numEdges = 2 * batch * width;
  Sample sample;
  for (std::vector<int64_t> *column : {&sample.candidate, &sample.known, &sample.type})
    column->resize(static_cast<size_t>(numEdges));
  sample.truth.resize(static_cast<size_t>(numEdges));
  const PhiloxKey key = keyOf(seed, step, Purpose::Rivals);
  parallelFor(2 * batch, std::max<int64_t>(1, (1 << 14) / width), [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const auto &[type, known, truth, place] = queries[q];
      const int64_t first = q * width;
      std::fill_n(&sample.known[first], width, known);
      std::fill_n(&sample.type[first], width, type);
      sample.truth[first] = 1;
      sample.candidate[first] = truth;
      const uint64_t query = static_cast<uint64_t>(place);
      for (int64_t k = 0; k < negatives; k += 2) {
        const uint64_t pair = static_cast<uint64_t>(k) / 2;
        const auto [words] = philox({{lowWord(query), highWord(query), lowWord(pair), highWord(pair)}}, key);
        int64_t *rivals = &sample.candidate[first + 1 + k];
        rivals[0] = below(words[0], words[1], numEntities);
        if (k + 1 < negatives)
          rivals[1] = below(words[2], words[3], numEntities);
      }
    }
  });
  return sample;
}

}  // namespace hector::training
