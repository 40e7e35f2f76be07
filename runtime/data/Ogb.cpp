/// Folders in OGB's layout (`relations/A___r___B/edge.csv`, `num-node-dict.csv`, `node-feat`, `node-label`, `split`)
/// and plain folders of edge arrays (`NAME.npy`, 2 × edges).
#include "runtime/base/Text.h"
#include "runtime/data/Import.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace hector {

namespace {

/// A table of numbers, from text or from an array.
struct Numbers {
  int64_t rows = 0, columns = 0;
  Tensor tensor;               // from an array
  std::vector<double> values;  // from text

  std::vector<int64_t> emptyLines;  // of text, in order: rows are lines but for these

  /// Where a row stands: "a.csv:3" or "a.npy: row 2".
  std::string place(const InputFile &file, int64_t row) const {
    if (values.empty())
      return file.name + ": row " + std::to_string(row);
    int64_t line = row + 1;
    for (int64_t empty : emptyLines)
      line += empty <= line;
    return file.name + ":" + std::to_string(line);
  }
  double at(int64_t row, int64_t column) const {
    const int64_t i = row * columns + column;
    return values.empty()
               ? (isFloat(tensor.dtype) ? doubles[static_cast<size_t>(i)] : static_cast<double>(tensor.intAt(i)))
               : values[static_cast<size_t>(i)];
  }
  std::vector<double> doubles;
};

Result<Numbers> readNumbers(const InputFile &file, const Watch &watch) {
  Numbers out;
  if (file.base().ends_with(".npy")) {
    Result<std::string> bytes = readWhole(file, uint64_t{1} << 40);
    if (!bytes)
      return bytes.status();
    Result<Tensor> tensor = parseNpy(std::move(*bytes), file.name);
    if (!tensor)
      return tensor.status();
    if (tensor->shape.empty() || tensor->shape.size() > 2)
      return Status::invalid(file.name + ": has shape " + formatShape(tensor->shape) +
                             "; expected one or two dimensions");
    out.rows = tensor->shape[0];
    out.columns = tensor->shape.size() == 2 ? tensor->shape[1] : 1;
    if (isFloat(tensor->dtype))
      out.doubles = tensor->toDoubles();
    out.tensor = std::move(*tensor);
    return out;
  }
  BlockReader reader(file, size_t{1} << 20);
  std::vector<std::string_view> fields;
  int64_t line = 0;
  for (;;) {
    Result<Block> block = reader.next();
    if (!block)
      return block.status();
    if (block->text.empty())
      return out;
    if (watch.stopped())
      return stoppedStatus();
    std::string_view text = block->text;
    while (!text.empty()) {
      size_t newline = text.find('\n');
      std::string_view row = text.substr(0, newline);
      text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
      ++line;
      splitRow(row, ',', fields);
      if (fields.size() == 1 && fields[0].empty()) {
        out.emptyLines.push_back(line);
        continue;
      }
      if (out.rows == 0)
        out.columns = static_cast<int64_t>(fields.size());
      if (static_cast<int64_t>(fields.size()) != out.columns)
        return Status::invalid(file.name + ":" + std::to_string(line) + ": has " +
                               counted(static_cast<int64_t>(fields.size()), "field") + "; expected " +
                               std::to_string(out.columns) + ", as in the rows before");
      for (std::string_view field : fields) {
        std::optional<double> number = parseNumber(field);
        if (!number)
          return Status::invalid(file.name + ":" + std::to_string(line) + ": found " + inTicks(field) +
                                 "; expected a number");
        out.values.push_back(*number);
      }
      ++out.rows;
    }
    if (watch.progress)
      watch.progress(file.name, reader.position(), file.bytes.size(), out.rows);
  }
}

/// "0.7", "2000000", "nan".
std::string textOf(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", number);
  return text;
}

bool isWholeBelow(double number, double end) {
  return number >= 0 && number < end && number == std::floor(number);
}

std::string_view stemOf(std::string_view base) {
  return base.substr(0, base.find('.'));
}

std::vector<std::string> partsOf(const std::string &inner) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= inner.size();) {
    size_t slash = inner.find('/', at);
    parts.push_back(inner.substr(at, slash == std::string::npos ? slash : slash - at));
    if (slash == std::string::npos)
      break;
    at = slash + 1;
  }
  return parts;
}

class Reader {
public:
  Reader(const std::vector<InputFile> &files, const ImportContext &context) : files(files), context(context) {}

  Result<Imported> run() {
    if (Status status = parseRelations(); !status.isOk())
      return status;
    for (const InputFile &file : files)
      if (Status status = sort(file); !status.isOk())
        return status;
    if (edges.empty())
      return Status::invalid(files[0].name + ": no edges; expected relations/SOURCE___NAME___DESTINATION/edge.csv, "
                                             "edge.csv, or arrays of 2 × edges");
    for (auto step :
         {&Reader::readEdges, &Reader::readCounts, &Reader::build, &Reader::readFeatures, &Reader::readLabels})
      if (Status status = (this->*step)(); !status.isOk())
        return status;
    context.report.format = "OGB";
    return std::move(imported);
  }

private:
  struct EdgeFile {
    const InputFile *file;
    std::string name, src, dst;
    Numbers numbers;
    bool byColumns = false;  // 2 × edges, as arrays are; text has a row an edge
  };
  struct Given {
    std::string name, src, dst;
    bool used = false;
  };

  Status parseRelations() {
    for (const std::string &text : context.options.relations) {
      size_t equals = text.find('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
      if (equals == std::string::npos || colon == std::string::npos || equals == 0 || colon == equals + 1 ||
          colon + 1 == text.size())
        return Status::invalid("the relation " + inTicks(text) +
                               " is not understood; expected "
                               "`NAME=SOURCE:DESTINATION`, as in "
                               "`writes=author:paper`");
      given.push_back({text.substr(0, equals), text.substr(equals + 1, colon - equals - 1), text.substr(colon + 1)});
    }
    return Status::ok();
  }

  uint32_t typeOf(const std::string &name) {
    auto [it, isNew] = types.emplace(name, static_cast<uint32_t>(imported.raw.nodeTypes.size()));
    if (isNew) {
      imported.raw.nodeTypes.push_back(name);
      imported.raw.countOfType.push_back(0);
    }
    return it->second;
  }

  /// Notes what a file is, by its name and folder.
  Status sort(const InputFile &file) {
    std::vector<std::string> parts = partsOf(file.inner);
    const std::string folder = parts.size() > 1 ? parts[parts.size() - 2] : "";
    const std::string stem(stemOf(file.base()));
    const bool isEdges = stem == "edge" || stem == "edge_index";
    if (isEdges && folder.find("___") != std::string::npos) {
      size_t first = folder.find("___"), second = folder.find("___", first + 3);
      if (second == std::string::npos)
        return Status::invalid(file.name + ": the folder " + inTicks(folder) +
                               " does not name a relation; expected SOURCE___NAME___DESTINATION");
      edges.push_back({&file,
                       folder.substr(first + 3, second - first - 3),
                       folder.substr(0, first),
                       folder.substr(second + 3),
                       {}});
    } else if (stem == "num-node-dict" || stem == "num-node-list") {
      counts = &file;
    } else if (stem == "node-feat" || stem == "node_feat") {
      features[folder] = &file;
    } else if (stem == "node-label" || stem == "node_label") {
      labels[folder] = &file;
    } else if ((stem == "train" || stem == "valid" || stem == "test") &&
               file.inner.find("split/") != std::string::npos) {
      splits.emplace_back(&file, splitOfName(stem));
    } else if (isEdges || file.base().ends_with(".npy")) {
      for (Given &relation : given)
        if (stem == relation.name || stem.starts_with(relation.name + "_")) {
          relation.used = true;
          edges.push_back({&file, relation.name, relation.src, relation.dst, {}});
          return Status::ok();
        }
      if (!isEdges && files.size() > 1)
        return Status::invalid(file.name + ": between which node types its edges go is not known; give --relation " +
                               stem + "=SOURCE:DESTINATION");
      edges.push_back({&file, isEdges ? "edge" : stem, "node", "node", {}});
    }
    return Status::ok();
  }

  Status readEdges() {
    for (const Given &relation : given)
      if (!relation.used)
        return Status::invalid("no file holds the relation " + inTicks(relation.name) + " that --relation names");
    for (EdgeFile &part : edges) {
      Result<Numbers> numbers = readNumbers(*part.file, context.watch);
      if (!numbers)
        return numbers.status();
      part.numbers = std::move(*numbers);
      const bool isArray = part.file->base().ends_with(".npy");
      part.byColumns = isArray && part.numbers.rows == 2;
      if (!part.byColumns && part.numbers.columns != 2 && part.numbers.rows != 0)
        return Status::invalid(part.file->name + ": is a table of " + std::to_string(part.numbers.rows) + " × " +
                               std::to_string(part.numbers.columns) + "; edges need two " +
                               (isArray ? "rows or " : "") + "columns (source and destination)");
      for (bool atSource : {true, false}) {
        uint32_t type = typeOf(atSource ? part.src : part.dst);
        int64_t &largest = imported.raw.countOfType[type];
        for (int64_t e = 0; e < numEdges(part); ++e) {
          double id = end(part, e, atSource);
          if (!(id >= 0 && id < 4294967294.0) || id != static_cast<double>(static_cast<int64_t>(id)))
            return Status::invalid(part.file->name + ": edge " + std::to_string(e) + " has the " +
                                   (atSource ? "source " : "destination ") + std::to_string(id) +
                                   "; expected a whole number from 0");
          largest = std::max(largest, static_cast<int64_t>(id) + 1);
        }
      }
    }
    return Status::ok();
  }

  static int64_t numEdges(const EdgeFile &part) { return part.byColumns ? part.numbers.columns : part.numbers.rows; }
  static double end(const EdgeFile &part, int64_t edge, bool atSource) {
    const int64_t which = atSource ? 0 : 1;
    return part.byColumns ? part.numbers.at(which, edge) : part.numbers.at(edge, which);
  }

  /// `num-node-dict.csv` has types over counts; `num-node-list.csv` one count.
  Status readCounts() {
    if (!counts)
      return Status::ok();
    Result<SmallTable> table = readSmallTable(*counts, ',');
    if (!table)
      return table.status();
    const bool isDict = stemOf(counts->base()) == "num-node-dict";
    if (table->rows.size() < (isDict ? 2u : 1u))
      return Status::invalid(counts->name + ": is too short; expected " +
                             (isDict ? "node types, then their numbers of nodes" : "the number of nodes"));
    const std::vector<std::string> &values = table->rows[isDict ? 1 : 0];
    for (size_t c = 0; c < values.size(); ++c) {
      std::string type = isDict ? (c < table->rows[0].size() ? table->rows[0][c] : "") : "node";
      std::optional<uint64_t> count = parseId(values[c]);
      if (type.empty() || !count || *count > UINT32_MAX - 2)
        return Status::invalid(counts->name + ": found " + inTicks(values[c]) + "; expected a number of nodes");
      int64_t &have = imported.raw.countOfType[typeOf(type)];
      if (have > static_cast<int64_t>(*count))
        return Status::invalid(counts->name + ": says that there are " + std::to_string(*count) + " nodes of type " +
                               inTicks(type) + ", but an edge has node " + std::to_string(have - 1));
      have = static_cast<int64_t>(*count);
    }
    return Status::ok();
  }

  Status build() {
    RawGraph &raw = imported.raw;
    first.assign(raw.countOfType.size() + 1, 0);
    for (size_t t = 0; t < raw.countOfType.size(); ++t)
      first[t + 1] = first[t] + raw.countOfType[t];
    if (first.back() > static_cast<int64_t>(UINT32_MAX - 2))
      return Status::invalid("the graph has " + std::to_string(first.back()) + " nodes; at most " +
                             std::to_string(UINT32_MAX - 2) + " are supported");
    for (EdgeFile &part : edges) {
      const auto relation = static_cast<uint32_t>(raw.edgeTypes.size());
      raw.edgeTypes.push_back({part.name, part.src, part.dst});
      const int64_t src = first[typeOf(part.src)], dst = first[typeOf(part.dst)];
      for (int64_t e = 0; e < numEdges(part); ++e) {
        raw.src.push_back(static_cast<uint32_t>(src + static_cast<int64_t>(end(part, e, true))));
        raw.dst.push_back(static_cast<uint32_t>(dst + static_cast<int64_t>(end(part, e, false))));
        raw.type.push_back(relation);
      }
      part.numbers = {};
    }
    context.report.items = static_cast<int64_t>(raw.src.size());
    return Status::ok();
  }

  /// The node type that a folder `node-feat/paper` names; the only one where it names none.
  Result<uint32_t> typeOfFolder(const InputFile &file, const std::string &folder) {
    if (auto it = types.find(folder); it != types.end())
      return it->second;
    if (types.size() == 1)
      return uint32_t{0};
    return Status::invalid(file.name +
                           ": of which node type it is is not known; expected it in a folder named for one");
  }

  /// The numbers of a file that has one row for each node of a type.
  Result<Numbers> readRowsOf(uint32_t type, const InputFile &file) {
    const RawGraph &raw = imported.raw;
    Result<Numbers> numbers = readNumbers(file, context.watch);
    if (numbers && numbers->rows != raw.countOfType[type])
      return Status::invalid(file.name + ": has " + counted(numbers->rows, "row") + " for " +
                             counted(raw.countOfType[type], "node") + " of type " + inTicks(raw.nodeTypes[type]));
    return numbers;
  }

  Status readFeatures() {
    if (!context.options.features)
      return Status::ok();
    RawGraph &raw = imported.raw;
    for (auto [folder, file] : features) {
      Result<uint32_t> type = typeOfFolder(*file, folder);
      if (!type)
        return type.status();
      Result<Numbers> numbers = readRowsOf(*type, *file);
      if (!numbers)
        return numbers.status();
      raw.features.resize(raw.nodeTypes.size());
      raw.features[*type].width = numbers->columns;
      raw.features[*type].values.reserve(static_cast<size_t>(numbers->rows * numbers->columns));
      for (int64_t r = 0; r < numbers->rows; ++r)
        for (int64_t c = 0; c < numbers->columns; ++c) {
          const auto value = static_cast<float>(numbers->at(r, c));
          if (!std::isfinite(value))
            return Status::invalid(numbers->place(*file, r) + ": feature " + std::to_string(c) + " is " +
                                   std::to_string(value) + "; expected finite numbers");
          raw.features[*type].values.push_back(value);
        }
    }
    return Status::ok();
  }

  Status readLabels() {
    RawGraph &raw = imported.raw;
    std::map<uint32_t, size_t> place;  // of a node's first label
    int64_t largest = -1;
    for (auto [folder, file] : labels) {
      Result<uint32_t> type = typeOfFolder(*file, folder);
      if (!type)
        return type.status();
      Result<Numbers> numbers = readRowsOf(*type, *file);
      if (!numbers)
        return numbers.status();
      if (numbers->columns != 1 && numbers->rows > 0) {
        if (Status status = addMatrix(*file, *numbers, first[*type], place); !status.isOk())
          return status;
        largest = std::max(largest, numbers->columns - 1);
        continue;
      }
      for (int64_t r = 0; r < numbers->rows; ++r) {
        const double label = numbers->at(r, 0);
        if (label == -1 || std::isnan(label))
          continue;  // no label
        constexpr int64_t kMaxClass = 1'000'000;
        if (!isWholeBelow(label, kMaxClass))
          return Status::invalid(numbers->place(*file, r) + ": the label is " + textOf(label) +
                                 "; expected a whole number from 0 to " + std::to_string(kMaxClass - 1) +
                                 ", or -1 or NaN for a node without one");
        const auto node = static_cast<uint32_t>(first[*type] + r);
        place[node] = raw.labels.size();
        raw.labels.push_back({node, static_cast<int64_t>(label), Split::None});
        largest = std::max(largest, static_cast<int64_t>(label));
      }
    }
    for (int64_t c = 0; c <= largest; ++c)
      raw.labelNames.push_back(std::to_string(c));
    std::vector<uint32_t> splitOf(static_cast<size_t>(first.back()));  // of a node: its place in `splits`, from 1
    for (uint32_t s = 0; s < splits.size(); ++s) {
      auto [file, split] = splits[s];
      std::vector<std::string> parts = partsOf(file->inner);
      Result<uint32_t> type = typeOfFolder(*file, parts.size() > 1 ? parts[parts.size() - 2] : "");
      if (!type)
        return type.status();
      Result<Numbers> numbers = readNumbers(*file, context.watch);
      if (!numbers)
        return numbers.status();
      if (numbers->rows > 1 && numbers->columns != 1)
        return Status::invalid(file->name + ": is a table of " + std::to_string(numbers->rows) + " × " +
                               std::to_string(numbers->columns) + "; expected nodes in one column or in one row");
      const bool inRow = numbers->rows == 1;
      auto placeOf = [&](int64_t i) {
        return numbers->place(*file, inRow ? 0 : i) +
               (numbers->columns > 1 ? ", column " + std::to_string(i) : std::string()) + ": ";
      };
      for (int64_t i = 0; i < numbers->rows * numbers->columns; ++i) {
        const double id = numbers->at(inRow ? 0 : i, inRow ? i : 0);
        if (!isWholeBelow(id, static_cast<double>(raw.countOfType[*type])))
          return Status::invalid(placeOf(i) + "found " + textOf(id) + "; expected a node of type " +
                                 inTicks(raw.nodeTypes[*type]) + ", which has " +
                                 counted(raw.countOfType[*type], "node") + ", numbered from 0");
        const auto node = static_cast<uint32_t>(first[*type] + static_cast<int64_t>(id));
        if (uint32_t before = splitOf[node]; before > 0 && splits[before - 1].second != split)
          return Status::invalid(placeOf(i) + "node " + std::to_string(static_cast<int64_t>(id)) + " of type " +
                                 inTicks(raw.nodeTypes[*type]) + " is in " + splits[before - 1].first->name +
                                 " too; expected each node in one split");
        splitOf[node] = s + 1;
        if (auto it = place.find(node); it != place.end())
          for (size_t i = it->second; i < raw.labels.size() && raw.labels[i].node == node; ++i)
            raw.labels[i].split = split;
      }
    }
    return Status::ok();
  }

  /// A column for each class: 1 where a node is of it, else 0. Nodes with nothing but NaN have no labels.
  Status addMatrix(const InputFile &file, const Numbers &numbers, int64_t firstNode,
                   std::map<uint32_t, size_t> &place) {
    RawGraph &raw = imported.raw;
    raw.multiLabel = true;
    for (int64_t r = 0; r < numbers.rows; ++r) {
      const auto node = static_cast<uint32_t>(firstNode + r);
      const size_t before = raw.labels.size();
      int64_t numUnknown = 0;
      for (int64_t c = 0; c < numbers.columns; ++c) {
        const double value = numbers.at(r, c);
        numUnknown += std::isnan(value);
        if (value == 1)
          raw.labels.push_back({node, c, Split::None});
        else if (value != 0 && !std::isnan(value))
          return Status::invalid(numbers.place(file, r) + ": column " + std::to_string(c) + " is " +
                                 std::to_string(value) + "; expected 1 where the node is of the class, else 0");
      }
      if (numUnknown > 0 && numUnknown < numbers.columns)
        return Status::invalid(numbers.place(file, r) + ": " + std::to_string(numUnknown) + " of " +
                               std::to_string(numbers.columns) + " labels are NaN; expected all of them or none");
      if (raw.labels.size() == before && numUnknown == 0)
        raw.labels.push_back({node, -1, Split::None});
      if (raw.labels.size() > before)
        place[node] = before;
    }
    return Status::ok();
  }

  const std::vector<InputFile> &files;
  const ImportContext &context;
  Imported imported;
  std::vector<Given> given;
  std::vector<EdgeFile> edges;
  const InputFile *counts = nullptr;
  std::map<std::string, const InputFile *> features, labels;  // by folder
  std::vector<std::pair<const InputFile *, Split>> splits;
  std::map<std::string, uint32_t> types;
  std::vector<int64_t> first;
};

}  // namespace

Result<Imported> importOgb(const std::vector<InputFile> &files, const ImportContext &context) {
  return Reader(files, context).run();
}

}  // namespace hector
