/// Compares keys with results of the interpreter: rows with equal keys are equal, and so are rows that share a row in
/// the coarsest domain.

#include "compiler/Analysis/Keys.h"

#include "interp/FlowText.h"

#include <map>
#include <random>

namespace hector {
namespace {

using flow::Domain;
using flow::Key;
using flow::KeyPart;
using flow::Map;

constexpr Domain kDomains[] = {Domain::One,     Domain::NodeType, Domain::EdgeType, Domain::Node,
                               Domain::SrcPair, Domain::DstPair,  Domain::Edge};

/// For each row of `from`, the row that `map` finds: by spreading row numbers.
std::vector<int64_t> rowsAlong(const Graph &graph, Domain from, Map map) {
  Domain to = *flow::mapTarget(from, map);
  std::string source = "!flow.rows<" + stringifyDomain(to).str() + ", f64, device>";
  std::string result = "!flow.rows<" + stringifyDomain(from).str() + ", f64, device>";
  FlowText flow("func.func @f(%a: " + source + ") -> " + result + " {\n%r = flow.spread %a via " +
                stringifyMap(map).str() + " : " + source + " -> " + result + "\nreturn %r : " + result + "\n}");
  std::vector<double> numbers(numRows(graph, to));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<double>(i);
  auto results = flow.run(graph, {numbers});
  EXPECT_TRUE(results.isOk());
  return {(*results)[0].values.begin(), (*results)[0].values.end()};
}

/// What tells a row of `domain` apart in one part of its key.
std::vector<int64_t> partOf(const Graph &graph, Domain domain, KeyPart part) {
  switch (part) {
  case KeyPart::Edge:
  case KeyPart::Node:
    return rowsAlong(graph, domain, domain == Domain::SrcPair || domain == Domain::DstPair ? Map::Node : Map::Self);
  case KeyPart::Source:
    return rowsAlong(graph, domain, Map::Src);
  case KeyPart::Destination:
    return rowsAlong(graph, domain, Map::Dst);
  case KeyPart::EdgeType:
    return rowsAlong(graph, domain, domain == Domain::EdgeType ? Map::Self : Map::EdgeType);
  case KeyPart::SourceType:
    return rowsAlong(graph, domain, Map::SrcNodeType);
  case KeyPart::DestinationType:
    return rowsAlong(graph, domain, Map::DstNodeType);
  case KeyPart::NodeType:
    return rowsAlong(graph, domain, domain == Domain::NodeType ? Map::Self : Map::NodeType);
  }
  return {};
}

/// Typed nodes and relations; `isTyped` graphs join one type to one type by each relation.
Graph randomGraph(std::mt19937 &random, bool isTyped) {
  auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % limit); };
  GraphText text;
  text.ntypePtr = {0, 2, 3, 6};
  text.relations = 4;
  for (int64_t relation = 0; relation < 4; ++relation) {
    int64_t from = below(3), to = below(3);
    for (int64_t i = below(5); i > 0; --i) {
      auto end = [&](int64_t type) {
        return isTyped ? text.ntypePtr[type] + below(text.ntypePtr[type + 1] - text.ntypePtr[type]) : below(6);
      };
      text.src.push_back(end(from));
      text.dst.push_back(end(to));
      text.etype.push_back(relation);
    }
  }
  return text.make();
}

struct RandomFlow {
  std::string text;
  std::vector<Domain> arguments;
};

/// A function of random sums, spreads and reductions over tables of one number per row, which returns all values.
RandomFlow randomFlow(std::mt19937 &random, bool isTyped) {
  RandomFlow flow;
  std::vector<Domain> values;
  std::string signature, body, results, types;
  auto type = [](Domain domain) { return "!flow.rows<" + stringifyDomain(domain).str() + ", f64, device>"; };
  for (Domain domain : kDomains) {
    signature += (values.empty() ? "" : ", ") + ("%v" + std::to_string(values.size())) + ": " + type(domain);
    values.push_back(domain);
    flow.arguments.push_back(domain);
  }
  auto name = [](size_t i) { return "%v" + std::to_string(i); };
  /// A map from `from` and a value that it leads to.
  auto pick = [&](Domain from) {
    while (true) {
      auto map = static_cast<Map>(random() % (flow::getMaxEnumValForMap() + 1));
      auto target = flow::mapTarget(from, map);
      bool needsTypes = from != Domain::Edge && (map == Map::SrcNodeType || map == Map::DstNodeType);
      size_t value = random() % values.size();
      if (target && values[value] == *target && (isTyped || !needsTypes))
        return std::pair(map, value);
    }
  };
  for (int i = 0; i < 12; ++i) {
    Domain at = kDomains[random() % std::size(kDomains)];
    auto [map, value] = pick(at);
    std::string result = name(values.size());
    if (random() % 6 == 0 && map != Map::Self) {
      // Against the map: from `at` to the value's domain.
      size_t fine = random() % values.size();
      if (values[fine] != at)
        continue;
      Domain to = *flow::mapTarget(at, map);
      body += result + " = flow.reduce sum " + name(fine) + " via " + stringifyMap(map).str() + " : " + type(at) +
              " -> " + type(to) + "\n";
      values.push_back(to);
    } else if (random() % 4 == 0) {
      body += result + " = flow.spread " + name(value) + " via " + stringifyMap(map).str() + " : " +
              type(values[value]) + " -> " + type(at) + "\n";
      values.push_back(at);
    } else {
      auto [otherMap, other] = pick(at);
      body += result + " = flow.add " + name(value) + "[" + stringifyMap(map).str() + "], " + name(other) + "[" +
              stringifyMap(otherMap).str() + "] : " + type(values[value]) + ", " + type(values[other]) + " -> " +
              type(at) + "\n";
      values.push_back(at);
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    results += (i ? ", " : "") + name(i);
    types += (i ? ", " : "") + type(values[i]);
  }
  flow.text =
      "func.func @f(" + signature + ") -> (" + types + ") {\n" + body + "return " + results + " : " + types + "\n}";
  return flow;
}

TEST(Keys, EqualKeysMeanEqualRows) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    bool isTyped = round % 2 == 0;
    Graph graph = randomGraph(random, isTyped);
    RandomFlow program = randomFlow(random, isTyped);
    FlowText flow(program.text);
    ASSERT_TRUE(flow.isRead()) << program.text;
    std::vector<std::vector<double>> arguments;
    for (Domain domain : program.arguments) {
      std::vector<double> values(numRows(graph, domain));
      for (double &value : values)
        value = static_cast<double>(random() % 1000003);  // integers: sums are exact, and rows rarely equal by chance
      arguments.push_back(values);
    }
    auto results = flow.run(graph, arguments);
    ASSERT_TRUE(results.isOk()) << results.status().message() << program.text;
    flow::Keys keys(flow.function());
    auto terminator = flow.function().getBody().front().getTerminator();
    for (auto [value, table] : llvm::zip_equal(terminator->getOperands(), *results)) {
      Domain at = mlir::cast<flow::RowsType>(value.getType()).getDomain();
      const Key &key = keys.of(value);
      std::vector<std::vector<int64_t>> parts;
      for (unsigned i = 0; i <= static_cast<unsigned>(KeyPart::NodeType); ++i)
        if (key.has(static_cast<KeyPart>(i)))
          parts.push_back(partOf(graph, at, static_cast<KeyPart>(i)));
      flow::Place place = flow::coarsestPlace(at, key);
      ASSERT_EQ(flow::mapTarget(at, place.map), place.domain);
      std::vector<int64_t> coarse = rowsAlong(graph, at, place.map);
      std::map<std::vector<int64_t>, double> byKey;
      std::map<int64_t, double> byPlace;
      for (int64_t row = 0; row < table.rows; ++row) {
        std::vector<int64_t> told;
        for (const auto &part : parts)
          told.push_back(part[row]);
        double number = table.values[row];
        EXPECT_EQ(byKey.try_emplace(told, number).first->second, number) << key.format() << "\n" << program.text;
        EXPECT_EQ(byPlace.try_emplace(coarse[row], number).first->second, number)
            << key.format() << " at " << stringifyDomain(place.domain).str() << "\n"
            << program.text;
      }
    }
  }
}

}  // namespace
}  // namespace hector
