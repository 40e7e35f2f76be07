/// Folders of the heterogeneous graph benchmark: node.dat, link.dat, label.dat, label.dat.test, info.dat.
#include "runtime/base/Text.h"
#include "runtime/data/Import.h"
#include "runtime/data/Json.h"
#include "runtime/data/Table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hector {

namespace {

const InputFile *findFile(const std::vector<InputFile> &files, std::string_view base) {
  for (const InputFile &file : files)
    if (file.base() == base)
      return &file;
  return nullptr;
}

std::string place(const InputFile &file, int64_t line) {
  return file.name + ":" + std::to_string(line) + ": ";
}

/// Calls `row(fields, line)` for each line, cut at tabs.
Status forEachRow(const InputFile &file, const Watch &watch,
                  const std::function<Status(const std::vector<std::string_view> &, int64_t)> &row) {
  BlockReader reader(file, size_t{1} << 20);
  std::vector<std::string_view> fields;
  int64_t line = 0;
  for (;;) {
    Result<Block> block = reader.next();
    if (!block)
      return block.status();
    if (block->text.empty())
      return Status::ok();
    if (watch.stopped())
      return stoppedStatus();
    std::string_view text = block->text;
    const bool ascii = isAscii(text);
    while (!text.empty()) {
      size_t newline = text.find('\n');
      std::string_view content = text.substr(0, newline);
      text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
      ++line;
      while (content.ends_with('\r'))
        content.remove_suffix(1);
      if (content.empty())
        continue;
      if (size_t good = ascii ? content.size() : validUtf8Prefix(content); good < content.size())
        return Status::invalid(place(file, line) + "the byte 0x" + hexByte(static_cast<unsigned char>(content[good])) +
                               " is not UTF-8; expected UTF-8");
      splitRow(content, '\t', fields);
      if (Status status = row(fields, line); !status.isOk())
        return status;
    }
    if (watch.progress)
      watch.progress(file.name, reader.position(), file.bytes.size(), line);
  }
}

/// info.dat, which gives names to the numbers in the other files.
struct Info {
  std::string name;  // of the file
  JsonValue root;

  /// The value under a path; null where there is none.
  const JsonValue *at(std::initializer_list<std::string_view> path) const {
    const JsonValue *value = &root;
    for (std::string_view step : path)
      if (value = value->find(step); !value)
        return nullptr;
    return value;
  }
  /// The same; null also where it is no text and no number.
  const JsonValue *find(std::initializer_list<std::string_view> path) const {
    const JsonValue *value = at(path);
    return value && (value->kind == JsonValue::Kind::Text || value->kind == JsonValue::Kind::Number) ? value : nullptr;
  }
  /// The object under a path if it names numbers, but not this one; else null.
  const JsonValue *namesOthers(std::initializer_list<std::string_view> path, uint64_t number) const {
    const JsonValue *value = at(path);
    return value && !value->names.empty() && !value->find(std::to_string(number)) ? value : nullptr;
  }
  /// What it says under a path; empty where it says nothing.
  std::string text(std::initializer_list<std::string_view> path) const {
    const JsonValue *value = find(path);
    return value ? value->text : "";
  }
  std::string placeOf(const JsonValue &value) const {
    return name + ":" + std::to_string(value.line) + ":" + std::to_string(value.column);
  }
};

Result<Info> readInfo(const std::vector<InputFile> &files) {
  constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
  Info info;
  const InputFile *file = findFile(files, "info.dat");
  if (!file)
    return info;
  info.name = file->name;
  Result<std::string> text = readWhole(*file, kMaxBytes);
  if (!text)
    return text.status();
  Result<JsonValue> root = parseJson(*text, file->name);
  if (!root)
    return root.status();
  if (root->kind != JsonValue::Kind::Object)
    return Status::invalid(info.placeOf(*root) + ": found " + std::string(root->kindName()) +
                           "; expected an object with the names of node and link types");
  info.root = std::move(*root);
  return info;
}

/// What info.dat says of the links of one type: the node types that they join.
struct LinkEnds {
  struct End {
    uint64_t type = 0;
    const JsonValue *from = nullptr;  // null: nothing is said
  };
  End source, destination;
  const JsonValue *others = nullptr;  // info.dat names link types, but not this one
};

LinkEnds linkEnds(const Info &info, uint64_t link) {
  LinkEnds ends;
  ends.others = info.namesOthers({"link.dat", "link type"}, link);
  for (auto [end, name] : {std::pair(&ends.source, "start"), {&ends.destination, "end"}}) {
    const JsonValue *value = info.find({"link.dat", "link type", std::to_string(link), name});
    if (std::optional<uint64_t> type = value ? parseId(value->text) : std::nullopt)
      *end = {*type, value};
  }
  return ends;
}

/// Appends numbers separated by commas. False where one is none.
bool parseFeatures(std::string_view text, std::vector<float> &values) {
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    // Most features are single digits.
    if (*at >= '0' && *at <= '9' && (at + 1 == end || at[1] == ',')) {
      values.push_back(static_cast<float>(*at - '0'));
      at += 1;
    } else {
      float value = 0;
      auto [stop, error] = std::from_chars(at, end, value);
      if (error != std::errc())
        return false;
      values.push_back(value);
      at = stop;
    }
    if (at == end)
      return true;
    if (*at++ != ',')
      return false;
  }
  return !text.ends_with(',');
}

/// Finds relations that are each other turned round: same edges, ends swapped.
void pairInverses(RawGraph &raw) {
  auto mix = [](uint64_t x) {
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
  };
  struct Sum {
    uint64_t forward = 0, backward = 0, count = 0;
  };
  std::vector<Sum> sums(raw.edgeTypes.size());
  for (size_t e = 0; e < raw.src.size(); ++e) {
    Sum &sum = sums[raw.type[e]];
    sum.forward += mix(uint64_t{raw.src[e]} << 32 | raw.dst[e]);
    sum.backward += mix(uint64_t{raw.dst[e]} << 32 | raw.src[e]);
    ++sum.count;
  }
  std::vector<bool> paired(sums.size());
  for (size_t a = 0; a < sums.size(); ++a)
    for (size_t b = a + 1; b < sums.size() && !paired[a]; ++b)
      if (!paired[b] && sums[a].count > 0 && sums[a].count == sums[b].count && sums[a].forward == sums[b].backward &&
          sums[a].backward == sums[b].forward) {
        raw.edgeTypes[b].inverseOf = static_cast<int64_t>(a);
        paired[a] = paired[b] = true;
      }
}

}  // namespace

Result<Imported> importHgb(const std::vector<InputFile> &files, const ImportContext &context) {
  const InputFile *nodeFile = findFile(files, "node.dat");
  const InputFile *linkFile = findFile(files, "link.dat");
  if (!nodeFile || !linkFile)
    return Status::invalid(files[0].name + ": an HGB folder needs node.dat and link.dat; " +
                           (nodeFile ? "link.dat" : "node.dat") + " is missing");
  Result<Info> info = readInfo(files);
  if (!info)
    return info.status();

  Imported imported;
  RawGraph &raw = imported.raw;
  auto names = std::make_shared<StringTable>();
  std::vector<uint32_t> nameOf;
  constexpr uint64_t kMaxTypes = 1 << 16;
  uint64_t lastType = 0;
  Status status = forEachRow(*nodeFile, context.watch, [&](const std::vector<std::string_view> &row, int64_t line) {
    if (row.size() < 3 || row.size() > 4)
      return Status::invalid(place(*nodeFile, line) + "has " + counted(static_cast<int64_t>(row.size()), "field") +
                             "; expected id, name, type and perhaps features, separated by tabs");
    std::optional<uint64_t> id = parseId(row[0]), type = parseId(row[2]);
    if (!id || *id != nameOf.size())
      return Status::invalid(place(*nodeFile, line) + "the node is " + inTicks(row[0]) + "; expected " +
                             std::to_string(nameOf.size()) + ": nodes are numbered in order, from 0");
    if (!type || *type < lastType || *type >= kMaxTypes)
      return Status::invalid(place(*nodeFile, line) + "the node's type is " + inTicks(row[2]) +
                             "; expected a number, " + std::to_string(lastType) +
                             " or more: nodes of one type stand together");
    lastType = *type;
    if (raw.countOfType.size() <= *type) {
      raw.countOfType.resize(*type + 1);
      raw.features.resize(*type + 1);
    }
    nameOf.push_back(names->intern(row[1]));
    TypeFeatures &features = raw.features[*type];
    const int64_t before = raw.countOfType[*type]++;
    const size_t had = features.values.size();
    if (row.size() == 4 && !row[3].empty() && context.options.features) {
      if (!parseFeatures(row[3], features.values))
        return Status::invalid(place(*nodeFile, line) + "the features are " + inTicks(row[3]) +
                               "; expected numbers separated by commas");
      auto odd = std::find_if(features.values.begin() + static_cast<std::ptrdiff_t>(had), features.values.end(),
                              [](float value) { return !std::isfinite(value); });
      if (odd != features.values.end())
        return Status::invalid(place(*nodeFile, line) + "feature " +
                               std::to_string(odd - features.values.begin() - static_cast<std::ptrdiff_t>(had)) +
                               " is " + std::to_string(*odd) + "; expected finite numbers");
    }
    const auto width = static_cast<int64_t>(features.values.size() - had);
    if (before == 0)
      features.width = width;
    if (width != features.width)
      return Status::invalid(place(*nodeFile, line) + "has " + counted(width, "feature") +
                             ", but nodes of its type before it have " + std::to_string(features.width));
    return Status::ok();
  });
  if (!status.isOk())
    return status;
  const size_t numNodes = nameOf.size();
  if (numNodes == 0)
    return Status::invalid(nodeFile->name + ": has no rows; expected id, name and type of each node");
  std::vector<uint64_t> firstOfType = {0};
  for (size_t t = 0; t < raw.countOfType.size(); ++t) {
    firstOfType.push_back(firstOfType.back() + static_cast<uint64_t>(raw.countOfType[t]));
    const JsonValue *said = info->find({"node.dat", "node type", std::to_string(t)});
    std::string name = said && !said->text.empty() ? said->text : "type" + std::to_string(t);
    if (auto other = std::find(raw.nodeTypes.begin(), raw.nodeTypes.end(), name); other != raw.nodeTypes.end())
      return Status::invalid((said ? info->placeOf(*said) : info->name) + ": node type " + std::to_string(t) +
                             " is called " + inTicks(name) + ", and so is node type " +
                             std::to_string(other - raw.nodeTypes.begin()) + "; expected different names");
    raw.nodeTypes.push_back(std::move(name));
  }
  auto typeOf = [&](uint64_t node) {
    return static_cast<uint64_t>(std::upper_bound(firstOfType.begin(), firstOfType.end(), node) - firstOfType.begin() -
                                 1);
  };
  auto nameOfType = [&](uint64_t type) {
    return type < raw.nodeTypes.size() ? inTicks(raw.nodeTypes[type]) : "type " + std::to_string(type);
  };

  std::vector<LinkEnds> ends;  // by link type
  bool weighted = false;
  status = forEachRow(*linkFile, context.watch, [&](const std::vector<std::string_view> &row, int64_t line) {
    std::optional<uint64_t> ids[3];
    for (size_t i = 0; i < 3 && i < row.size(); ++i)
      ids[i] = parseId(row[i]);
    if (row.size() < 3 || !ids[0] || !ids[1] || !ids[2] || *ids[2] >= kMaxTypes)
      return Status::invalid(place(*linkFile, line) + "expected source, destination, link type and perhaps a weight, "
                                                      "separated by tabs");
    for (int i : {0, 1})
      if (*ids[i] >= numNodes)
        return Status::invalid(place(*linkFile, line) + "the " + (i == 0 ? "source" : "destination") + " is " +
                               std::to_string(*ids[i]) + "; node.dat has nodes 0 to " + std::to_string(numNodes - 1));
    while (ends.size() <= *ids[2])
      ends.push_back(linkEnds(*info, ends.size()));
    if (const JsonValue *others = ends[*ids[2]].others)
      return Status::invalid(place(*linkFile, line) + "the link type is " + std::to_string(*ids[2]) + ", but " +
                             info->placeOf(*others) + " does not name it; it names " +
                             counted(static_cast<int64_t>(others->names.size()), "link type"));
    for (int i : {0, 1}) {
      const LinkEnds::End &end = i == 0 ? ends[*ids[2]].source : ends[*ids[2]].destination;
      if (uint64_t type = typeOf(*ids[i]); end.from && type != end.type)
        return Status::invalid(place(*linkFile, line) + "the " + (i == 0 ? "source " : "destination ") +
                               std::to_string(*ids[i]) + " is of type " + nameOfType(type) + ", but " +
                               info->placeOf(*end.from) + " says that links of type " + std::to_string(*ids[2]) +
                               (i == 0 ? " start at " : " end at ") + nameOfType(end.type));
    }
    weighted |= row.size() > 3 && parseNumber(row[3]) != 1.0;
    raw.src.push_back(static_cast<uint32_t>(*ids[0]));
    raw.dst.push_back(static_cast<uint32_t>(*ids[1]));
    raw.type.push_back(static_cast<uint32_t>(*ids[2]));
    if (raw.edgeTypes.size() <= *ids[2])
      raw.edgeTypes.resize(*ids[2] + 1);
    return Status::ok();
  });
  if (!status.isOk())
    return status;
  if (weighted)
    context.report.notes.push_back(linkFile->name + " has weights other than 1, which were left out");
  for (size_t r = 0; r < raw.edgeTypes.size(); ++r) {
    EdgeType &type = raw.edgeTypes[r];
    const std::string key = std::to_string(r);
    type.name = info->text({"link.dat", "link type", key, "meaning"});
    if (type.name.empty())
      type.name = "link" + key;
    for (bool atSource : {true, false})
      if (const LinkEnds::End &end = atSource ? ends[r].source : ends[r].destination;
          end.from && end.type < raw.nodeTypes.size())
        (atSource ? type.src : type.dst) = raw.nodeTypes[end.type];
  }
  pairInverses(raw);

  struct Place {
    const char *base;
    int64_t line;
  };
  std::vector<Place> labelled(numNodes);  // of a node's label; line 0: none
  for (auto [base, split] : {std::pair("label.dat", Split::Train), {"label.dat.test", Split::Test}}) {
    const InputFile *file = findFile(files, base);
    if (!file)
      continue;
    std::vector<std::string_view> classes;
    status = forEachRow(*file, context.watch, [&](const std::vector<std::string_view> &row, int64_t line) {
      if (row.size() != 4)
        return Status::invalid(place(*file, line) + "has " + counted(static_cast<int64_t>(row.size()), "field") +
                               "; expected node, name, type and class, separated by tabs");
      std::optional<uint64_t> node = parseId(row[0]);
      if (!node || *node >= numNodes)
        return Status::invalid(place(*file, line) + "the label is for " + inTicks(row[0]) +
                               ", which is no node of node.dat");
      if (const Place &before = labelled[*node]; before.line > 0)
        return Status::invalid(place(*file, line) + "node " + std::to_string(*node) + " has a label already, in " +
                               before.base + ":" + std::to_string(before.line) +
                               "; expected one row for each node, with several classes "
                               "separated by commas");
      labelled[*node] = {base, line};
      // One class, or several separated by commas.
      splitRow(row[3], ',', classes);
      raw.multiLabel |= classes.size() > 1;
      for (std::string_view text : classes) {
        std::optional<uint64_t> label = parseId(text);
        if (!label || *label >= kMaxTypes)
          return Status::invalid(place(*file, line) + "the class is " + inTicks(text) +
                                 "; expected a number from 0 to " + std::to_string(kMaxTypes - 1));
        if (const JsonValue *others = info->namesOthers({"label.dat", "node type", row[2]}, *label))
          return Status::invalid(place(*file, line) + "the class is " + std::to_string(*label) + ", but " +
                                 info->placeOf(*others) + " does not name it; it names " +
                                 counted(static_cast<int64_t>(others->names.size()), "class", "classes"));
        raw.labels.push_back({static_cast<uint32_t>(*node), static_cast<int64_t>(*label), split});
        while (raw.labelNames.size() <= *label) {
          const std::string number = std::to_string(raw.labelNames.size());
          std::string name = info->text({"label.dat", "node type", row[2], number});
          raw.labelNames.push_back(name.empty() ? number : name);
        }
      }
      return Status::ok();
    });
    if (!status.isOk())
      return status;
  }
  auto order = std::make_shared<std::vector<uint32_t>>(std::move(nameOf));
  raw.nameOf = [names, order](uint32_t node) { return (*names)[(*order)[node]]; };
  context.report.format = "HGB";
  context.report.items = static_cast<int64_t>(raw.src.size());
  return imported;
}

}  // namespace hector
