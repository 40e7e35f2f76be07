/// Knowledge-graph triples in text (names or ids, in three orders of columns) and plain lists of edges.
#include "runtime/base/Text.h"
#include "runtime/data/Import.h"
#include "runtime/data/Table.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace hector {

namespace {

/// Where head, relation and tail stand.
struct Order {
  std::string_view name;
  size_t head, relation, tail;
};
constexpr std::array<Order, 3> kOrders = {{{"hrt", 0, 1, 2}, {"htr", 0, 2, 1}, {"rht", 1, 0, 2}}};

std::string roles(const Order &order, const std::array<std::string, 3> &row) {
  return "head " + inTicks(row[order.head]) + ", relation " + inTicks(row[order.relation]) + ", tail " +
         inTicks(row[order.tail]);
}

std::string reading(const Order &order, const std::array<std::string, 3> &row) {
  return std::string(order.name) + ": " + roles(order, row);
}

struct Sample {
  std::vector<std::array<std::string, 3>> rows;
};

Result<Sample> sample(const InputFile &file, const TableFormat &format) {
  constexpr size_t kRows = 10'000;
  Sample out;
  BlockReader reader(file, size_t{1} << 20);
  int64_t skip = format.skipLines;
  std::vector<std::string_view> fields;
  std::deque<std::string> unquoted;
  while (out.rows.size() < kRows) {
    Result<Block> block = reader.next();
    if (!block)
      return block.status();
    if (block->text.empty())
      break;
    std::string_view text = block->text;
    while (!text.empty() && out.rows.size() < kRows) {
      size_t newline = text.find('\n');
      std::string_view line = text.substr(0, newline);
      text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
      if (skip-- > 0)
        continue;
      unquoted.clear();
      splitRow(line, format.separator, fields, &unquoted);
      if (fields.size() == 3)
        out.rows.push_back({std::string(fields[0]), std::string(fields[1]), std::string(fields[2])});
    }
  }
  return out;
}

/// What the columns look like: the orders from the likeliest to the least likely, and whether the first one is clear.
struct Likely {
  std::array<const Order *, 3> orders = {&kOrders[0], &kOrders[1], &kOrders[2]};
  std::array<size_t, 3> numValues = {};  // different ones, by column
  bool isClear = false;
};

/// Relations are few and, where columns hold names, are no entities.
Likely likelyOrder(const Sample &sample, bool numbers) {
  std::array<std::unordered_set<std::string>, 3> values;
  for (const auto &row : sample.rows)
    for (size_t c = 0; c < 3; ++c)
      values[c].insert(row[c]);
  Likely likely;
  for (size_t c = 0; c < 3; ++c)
    likely.numValues[c] = values[c].size();
  auto shared = [&](size_t a, size_t b) {
    return std::count_if(values[a].begin(), values[a].end(), [&](const auto &v) { return values[b].contains(v); });
  };
  if (!numbers) {
    // A column with nothing in common with the other two, which have something in common.
    const Order *found = nullptr;
    int count = 0;
    for (const Order &order : kOrders)
      if (shared(order.relation, order.head) == 0 && shared(order.relation, order.tail) == 0 &&
          shared(order.head, order.tail) > 0) {
        found = &order;
        ++count;
      }
    if (count == 1) {
      std::iter_swap(likely.orders.begin(), std::find(likely.orders.begin(), likely.orders.end(), found));
      likely.isClear = true;
      return likely;
    }
  }
  constexpr size_t kMuchFewer = 4;
  auto count = [&](const Order *order) { return values[order->relation].size(); };
  std::sort(likely.orders.begin(), likely.orders.end(),
            [&](const Order *a, const Order *b) { return std::pair(count(a), a) < std::pair(count(b), b); });
  likely.isClear = count(likely.orders[0]) * kMuchFewer <= count(likely.orders[1]);
  return likely;
}

/// Where both heads and tails could be relations the answer is the user's.
Result<Order> detectOrder(const InputFile &file, const Sample &sample, bool numbers) {
  const Likely likely = likelyOrder(sample, numbers);
  const Order &best = *likely.orders[0], &second = *likely.orders[1];
  if (likely.isClear)
    return best;
  const std::array<std::string, 3> &row = sample.rows.front();
  return Status::invalid(file.name + ": which column holds the relations is not clear: the first has " +
                         std::to_string(likely.numValues[0]) + " different values, the second " +
                         std::to_string(likely.numValues[1]) + ", the third " + std::to_string(likely.numValues[2]) +
                         ". The first row reads as " + reading(best, row) + "; or as " + reading(second, row) +
                         ". Give --order " + std::string(best.name) + " or --order " + std::string(second.name));
}

/// Warns of an order that the user gave and that makes entities relations: it gives as many relations as nodes, or
/// more, or names show clearly that it is another. Says nothing where the columns speak for it.
Status checkOrder(const InputFile &file, const TableFormat &format, const Order &given, bool numbers,
                  size_t numRelations, size_t numNodes, ImportReport &report) {
  Result<Sample> rows = sample(file, format);
  if (!rows)
    return rows.status();
  if (rows->rows.empty())
    return Status::ok();
  const Likely likely = likelyOrder(*rows, numbers);
  const Order &best = *likely.orders[0];
  const bool many = numRelations >= numNodes && numRelations > 1;
  if (best.name == given.name || !(many || (likely.isClear && !numbers)))
    return Status::ok();
  report.warnings.push_back(file.name + ": with --order " + std::string(given.name) + " the graph has " +
                            std::to_string(numRelations) + " relations for " + std::to_string(numNodes) +
                            " nodes; the columns look like --order " + std::string(best.name) +
                            ", which reads the first row as " + roles(best, rows->rows.front()));
  return Status::ok();
}

bool isDictionary(const InputFile &file, std::string_view &what) {
  std::string_view base = file.base();
  if (base.starts_with("relation") || base.starts_with("entit") || base.starts_with("node")) {
    what = base.starts_with("relation") ? "relation" : "entity";
    return true;
  }
  return false;
}

/// Names by id from `name id`, `id name`, with a count line or a header or neither.
Result<std::vector<std::string>> readDictionary(const InputFile &file, ImportReport &report) {
  Result<TableFormat> format = sniffTable(file);
  if (!format)
    return format.status();
  Result<SmallTable> table = readSmallTable(file, format->separator);
  if (!table)
    return table.status();
  constexpr uint64_t kMaxId = uint64_t{1} << 31;
  std::vector<std::string> names;
  std::vector<int64_t> lineOf;
  std::unordered_map<std::string, uint64_t> idOf;
  const size_t start = format->countLine ? 1 : 0;
  size_t first = start;
  for (size_t i = start; i < table->rows.size(); ++i) {
    const auto &row = table->rows[i];
    const std::string place = file.name + ":" + std::to_string(table->lineOf[i]) + ": ";
    if (row.size() < 2)
      return Status::invalid(place + "found " + inTicks(row[0]) + "; expected a name and its id");
    std::optional<uint64_t> before = parseId(row.front()), after = parseId(row.back());
    if (i == start && i + 1 < table->rows.size() && std::all_of(row.begin(), row.end(), isColumnName)) {
      report.notes.push_back(headerNote(file, table->lineOf[i], row, format->separator));
      ++first;
      continue;
    }
    if (!before && !after)
      return Status::invalid(place + "found " + inTicks(row.front()) + " and " + inTicks(row.back()) +
                             "; expected a name and its id");
    const uint64_t id = after ? *after : *before;
    const std::string &name = after ? row.front() : row.back();
    if (id >= kMaxId || id > table->rows.size())
      return Status::invalid(place + "the id of " + inTicks(name) + " is " + std::to_string(id) + "; the file has " +
                             std::to_string(table->rows.size() - first) + " names, numbered from 0");
    if (id >= names.size()) {
      names.resize(id + 1);
      lineOf.resize(id + 1);
    }
    if (lineOf[id] != 0)
      return Status::invalid(place + "the id " + std::to_string(id) + " is taken by " + inTicks(names[id]) +
                             " in line " + std::to_string(lineOf[id]));
    if (auto [it, isNew] = idOf.emplace(name, id); !isNew)
      return Status::invalid(place + inTicks(name) + " has the id " + std::to_string(id) + ", but in line " +
                             std::to_string(lineOf[it->second]) + " it has the id " + std::to_string(it->second) +
                             "; expected each name once");
    names[id] = name;
    lineOf[id] = table->lineOf[i];
  }
  if (format->countLine && *format->countLine != static_cast<int64_t>(table->rows.size() - first))
    return Status::invalid(file.name + ":1: says that " + std::to_string(*format->countLine) + " names follow, but " +
                           std::to_string(table->rows.size() - first) + " do; the file may be incomplete");
  for (size_t id = 0; id < names.size(); ++id)
    if (lineOf[id] == 0)
      names[id] = std::to_string(id);
  return names;
}

/// What is said of a file of triples or edges without rows: a warning beside others, else an error.
std::string noRows(const InputFile &file, std::string_view expected) {
  return file.name + ": has no rows; expected " + std::string(expected) + ": is it complete?";
}

uint8_t splitCode(Split split) {
  return split == Split::Valid ? 1 : split == Split::Test ? 2 : 0;
}

}  // namespace

Result<Imported> importTriples(const std::vector<InputFile> &files, const ImportContext &context) {
  const ImportOptions &options = context.options;
  std::vector<std::string> relationNames, entityNames;
  struct Part {
    const InputFile *file;
    TableFormat format;
  };
  std::vector<Part> parts, others;
  std::vector<std::string> empty;  // what is said of files without rows
  for (const InputFile &file : files) {
    std::string_view what;
    if (isDictionary(file, what)) {
      Result<std::vector<std::string>> names = readDictionary(file, context.report);
      if (!names)
        return names.status();
      (what == "relation" ? relationNames : entityNames) = std::move(*names);
      continue;
    }
    Result<bool> rows = hasRows(file);
    if (!rows)
      return rows.status();
    if (!*rows) {
      empty.push_back(noRows(file, "triples"));
      continue;
    }
    Result<TableFormat> format = sniffTable(file);
    if (!format)
      return format.status();
    (format->numColumns == 3 ? parts : others).push_back({&file, *format});
  }
  if (parts.empty() && others.empty() && !empty.empty())
    return Status::invalid(empty.front());
  context.report.warnings.insert(context.report.warnings.end(), empty.begin(), empty.end());
  if (parts.empty())
    return Status::invalid(files[0].name + ": has rows of " +
                           counted(others.empty() ? 2 : static_cast<int64_t>(others[0].format.numColumns), "field") +
                           "; triples need three (head, relation, tail)");
  auto hasSplit = [](const Part &part) { return splitOfName(part.file->base()) != Split::None; };
  const auto firstSplit = std::find_if(parts.begin(), parts.end(), hasSplit);
  const bool anySplit = firstSplit != parts.end();
  if (anySplit) {
    // Triples of no split beside these may repeat those that test, as OpenKE's `1-1.txt` does.
    for (const Part &part : parts) {
      if (hasSplit(part))
        continue;
      if (std::find(options.inputs.begin(), options.inputs.end(), part.file->name) != options.inputs.end())
        return Status::invalid(part.file->name + ": its name gives no split, but that of " + firstSplit->file->name +
                               " does; expected one of train, valid and test in the name of each file of triples");
      context.report.notes.push_back(part.file->name +
                                     " was left out: its name gives no split (train, valid or test), "
                                     "but that of " +
                                     firstSplit->file->name + " does");
    }
    std::erase_if(parts, [&](const Part &part) { return !hasSplit(part); });
  }
  bool numbers = true;
  for (const Part &part : parts)
    numbers &= part.format.allNumbers;
  // Train before valid before test, as people list them.
  std::sort(parts.begin(), parts.end(), [](const Part &a, const Part &b) {
    return std::pair(splitOfName(a.file->base()), a.file) < std::pair(splitOfName(b.file->base()), b.file);
  });

  Order order = kOrders[0];
  if (!options.order.empty()) {
    auto it = std::find_if(kOrders.begin(), kOrders.end(), [&](const Order &o) { return o.name == options.order; });
    if (it == kOrders.end())
      return Status::invalid("the order " + inTicks(options.order) + " is not known; expected hrt, htr or rht");
    order = *it;
  } else {
    Result<Sample> rows = sample(*parts[0].file, parts[0].format);
    if (!rows)
      return rows.status();
    if (rows->rows.empty())
      return Status::invalid(parts[0].file->name + ": has no rows of three fields");
    Result<Order> found = detectOrder(*parts[0].file, *rows, numbers);
    if (!found)
      return found.status();
    order = *found;
    context.report.notes.push_back("columns read as " + reading(order, rows->rows.front()));
  }

  Imported imported;
  RawGraph &raw = imported.raw;
  auto entities = std::make_shared<StringTable>();
  StringTable relations;
  uint32_t maxEntity = 0, maxRelation = 0;
  Split split = Split::None;
  std::vector<uint32_t> ids;
  auto add = [&](std::span<const uint32_t> rows) {
    for (size_t i = 0; i < rows.size(); i += 3) {
      raw.src.push_back(rows[i + order.head]);
      raw.dst.push_back(rows[i + order.tail]);
      raw.type.push_back(rows[i + order.relation]);
      maxEntity = std::max({maxEntity, raw.src.back(), raw.dst.back()});
      maxRelation = std::max(maxRelation, raw.type.back());
    }
    if (anySplit)
      raw.edgeSplit.resize(raw.src.size(), splitCode(split));
    return Status::ok();
  };
  RowReader reader;
  reader.numbers = numbers;
  reader.skipBad = options.rdf.reader.skipBad;
  reader.threads = context.threads;
  reader.takeIds = add;
  std::vector<HashedText> heads;
  reader.takeTexts = [&](std::span<const HashedText> texts) {
    // Entities and relations are numbered apart: entities in one batch, so that their memory is asked for ahead.
    ids.resize(texts.size());
    heads.clear();
    for (size_t i = 0; i < texts.size(); i += 3) {
      heads.push_back(texts[i + order.head]);
      heads.push_back(texts[i + order.tail]);
      ids[i + order.relation] = relations.intern(texts[i + order.relation]);
    }
    std::vector<uint32_t> numbersOf(heads.size());
    entities->internAll(heads, numbersOf.data());
    for (size_t i = 0; i < texts.size(); i += 3) {
      ids[i + order.head] = numbersOf[i / 3 * 2];
      ids[i + order.tail] = numbersOf[i / 3 * 2 + 1];
    }
    return add(ids);
  };
  RowReader::Stats stats;
  for (const Part &part : parts) {
    split = splitOfName(part.file->base());
    reader.separator = part.format.separator;
    reader.skipLines = part.format.skipLines;
    context.report.notes.insert(context.report.notes.end(), part.format.notes.begin(), part.format.notes.end());
    const int64_t before = stats.rows;
    if (Status status = reader.read(*part.file, context.watch, stats); !status.isOk())
      return status;
    if (part.format.countLine && *part.format.countLine != stats.rows - before && !reader.skipBad)
      return Status::invalid(part.file->name + ":1: says that " + std::to_string(*part.format.countLine) +
                             " triples follow, but " + std::to_string(stats.rows - before) +
                             " do; the file may be incomplete");
  }
  context.report.format = "triples";
  context.report.items = stats.rows;
  context.report.bad = stats.bad;
  context.report.firstBad = std::move(stats.firstBad);

  raw.nodeTypes = {"node"};
  size_t numNodes = numbers ? (raw.src.empty() ? 0 : size_t{maxEntity} + 1) : entities->size();
  if (numbers && !entityNames.empty()) {
    if (numNodes > entityNames.size())
      return Status::invalid("a triple has the entity " + std::to_string(maxEntity) + ", but the entities' names are " +
                             std::to_string(entityNames.size()) + ", numbered from 0");
    numNodes = entityNames.size();
    auto names = std::make_shared<std::vector<std::string>>(std::move(entityNames));
    raw.nameOf = [names](uint32_t node) { return std::string_view((*names)[node]); };
  } else if (!numbers) {
    raw.nameOf = [entities](uint32_t node) { return (*entities)[node]; };
  }
  raw.countOfType = {static_cast<int64_t>(numNodes)};
  if (numbers) {
    const size_t needed = raw.src.empty() ? 0 : size_t{maxRelation} + 1;
    constexpr size_t kMaxRelations = Graph::kMaxRelations / 2;
    if (needed > kMaxRelations)
      return Status::invalid("a triple has the relation " + std::to_string(maxRelation) + "; at most " +
                             std::to_string(kMaxRelations) + " relations are supported (is --order right?)");
    if (!relationNames.empty() && needed > relationNames.size())
      return Status::invalid("a triple has the relation " + std::to_string(maxRelation) +
                             ", but the relations' names are " + std::to_string(relationNames.size()) +
                             ", numbered from 0 (is --order right?)");
    for (size_t r = relationNames.size(); r < needed; ++r)
      relationNames.push_back("relation" + std::to_string(r));
  } else {
    relationNames.clear();
    for (uint64_t r = 0; r < relations.size(); ++r)
      relationNames.emplace_back(relations[r]);
  }
  for (std::string &name : relationNames)
    raw.edgeTypes.push_back({std::move(name), "node", "node"});
  if (!options.order.empty())
    if (Status status =
            checkOrder(*parts[0].file, parts[0].format, order, numbers, raw.edgeTypes.size(), numNodes, context.report);
        !status.isOk())
      return status;

  imported.find = [entities, numbers, numNodes](std::string_view name) {
    if (!numbers)
      return entities->find(name);
    std::optional<uint64_t> id = parseId(name);
    return id && *id < numNodes ? static_cast<uint32_t>(*id) : UINT32_MAX;
  };
  // Tables of two columns beside the triples are labels: node, class.
  if (!others.empty()) {
    std::vector<LabelFile> labels;
    for (const Part &part : others)
      labels.push_back({*part.file, splitOfName(part.file->base())});
    Result<int64_t> unknown = readLabels(labels, options.labels, imported.find, raw, context.report.notes);
    if (!unknown)
      return unknown.status();
    context.report.unknownLabels += *unknown;
    raw.edgeSplit.clear();
  }
  return imported;
}

Result<Imported> importEdges(const std::vector<InputFile> &files, const ImportContext &context) {
  Imported imported;
  RawGraph &raw = imported.raw;
  auto names = std::make_shared<StringTable>();
  bool numbers = true;
  std::vector<TableFormat> formats;
  std::vector<const InputFile *> parts;
  for (const InputFile &file : files) {
    Result<bool> rows = hasRows(file);
    if (!rows)
      return rows.status();
    if (!*rows) {
      context.report.warnings.push_back(noRows(file, "edges"));
      continue;
    }
    Result<TableFormat> format = sniffTable(file);
    if (!format)
      return format.status();
    if (format->numColumns != 2)
      return Status::invalid(file.name + ": has rows of " + counted(static_cast<int64_t>(format->numColumns), "field") +
                             "; a list of edges needs two (source and destination)");
    numbers &= format->allNumbers;
    formats.push_back(*format);
    parts.push_back(&file);
  }
  if (parts.empty())
    return Status::invalid(noRows(files[0], "edges"));
  uint32_t largest = 0;
  RowReader reader;
  reader.columns = 2;
  reader.numbers = numbers;
  reader.skipBad = context.options.rdf.reader.skipBad;
  reader.threads = context.threads;
  reader.takeIds = [&](std::span<const uint32_t> rows) {
    for (size_t i = 0; i < rows.size(); i += 2) {
      raw.src.push_back(rows[i]);
      raw.dst.push_back(rows[i + 1]);
      largest = std::max({largest, rows[i], rows[i + 1]});
    }
    return Status::ok();
  };
  std::vector<uint32_t> ids;
  reader.takeTexts = [&](std::span<const HashedText> texts) {
    ids.resize(texts.size());
    names->internAll(texts, ids.data());
    return reader.takeIds(ids);
  };
  RowReader::Stats stats;
  for (size_t f = 0; f < parts.size(); ++f) {
    reader.separator = formats[f].separator;
    reader.skipLines = formats[f].skipLines;
    context.report.notes.insert(context.report.notes.end(), formats[f].notes.begin(), formats[f].notes.end());
    if (Status status = reader.read(*parts[f], context.watch, stats); !status.isOk())
      return status;
  }
  context.report.format = "edges";
  context.report.items = stats.rows;
  context.report.bad = stats.bad;
  context.report.firstBad = std::move(stats.firstBad);
  raw.type.resize(raw.src.size());
  raw.nodeTypes = {"node"};
  raw.edgeTypes = {{"edge", "node", "node"}};
  const auto numNodes = numbers ? (raw.src.empty() ? 0 : int64_t{largest} + 1) : static_cast<int64_t>(names->size());
  raw.countOfType = {numNodes};
  if (!numbers)
    raw.nameOf = [names](uint32_t node) { return (*names)[node]; };
  imported.find = [names, numbers, numNodes](std::string_view name) {
    if (!numbers)
      return names->find(name);
    std::optional<uint64_t> id = parseId(name);
    return id && *id < static_cast<uint64_t>(numNodes) ? static_cast<uint32_t>(*id) : UINT32_MAX;
  };
  return imported;
}

}  // namespace hector
