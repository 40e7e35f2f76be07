#include "runtime/data/Labels.h"

#include "runtime/base/Text.h"
#include "runtime/data/Table.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace hector {

namespace {

struct Row {
  uint32_t node;
  std::string label;
  Split split;
  const InputFile *file;
  int64_t line;
  size_t order;  // as read
};

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// "1.0" and "1" are one label: programs that hold classes as floating point write the former.
std::string labelText(const std::string &text) {
  constexpr std::string_view kZero = ".0";
  if (text.size() > kZero.size() && text.ends_with(kZero) &&
      std::all_of(text.begin(), text.end() - kZero.size(), isDigit))
    return text.substr(0, text.size() - kZero.size());
  return text;
}

/// The number of a class that is one as written: "7", not "007".
std::optional<int64_t> classNumber(const std::string &label) {
  constexpr uint64_t kMaxClass = 1'000'000;
  std::optional<uint64_t> id = parseId(label);
  if (!id || *id >= kMaxClass || label != std::to_string(*id))
    return std::nullopt;
  return static_cast<int64_t>(*id);
}

std::string place(const InputFile &file, int64_t line) {
  return file.name + ":" + std::to_string(line);
}

const char *nameOf(Split split) {
  return split == Split::Train ? "train" : split == Split::Valid ? "valid" : split == Split::Test ? "test" : "no split";
}

std::string columnList(const std::vector<std::string> &header) {
  std::string text;
  for (const std::string &name : header)
    text += (text.empty() ? "" : ", ") + inTicks(name);
  return text;
}

struct Columns {
  size_t node = 0;
  size_t label = 0;
  bool header = false;
};

Result<Columns> findColumns(const InputFile &file, const SmallTable &table, const LabelOptions &options,
                            const std::function<uint32_t(std::string_view)> &find) {
  constexpr size_t kLook = 1000;
  Columns columns;
  const std::vector<std::string> &head = table.rows.front();
  const size_t numColumns = head.size();
  if (numColumns < 2)
    return Status::invalid(place(file, table.lineOf[0]) +
                           ": a label file needs two columns, for nodes and for labels; "
                           "found " +
                           inTicks(head[0]));
  // Rows that name a node, by column.
  std::vector<size_t> hits(numColumns);
  const size_t looked = std::min(table.rows.size(), kLook);
  for (size_t i = 0; i < looked; ++i)
    for (size_t c = 0; c < numColumns && c < table.rows[i].size(); ++c)
      hits[c] += find(table.rows[i][c]) != UINT32_MAX;
  auto byName = [&](const std::string &name) -> Result<size_t> {
    auto it = std::find(head.begin(), head.end(), name);
    if (it == head.end())
      return Status::invalid(file.name + ": has no column " + inTicks(name) + "; its first line has " +
                             columnList(head));
    return static_cast<size_t>(it - head.begin());
  };
  bool named = !options.nodeColumn.empty() || !options.labelColumn.empty();
  if (!options.nodeColumn.empty()) {
    Result<size_t> at = byName(options.nodeColumn);
    if (!at)
      return at.status();
    columns.node = *at;
  } else {
    columns.node = static_cast<size_t>(std::max_element(hits.begin(), hits.end()) - hits.begin());
    if (hits[columns.node] == 0)
      return Status::invalid(file.name + ": no column holds names of nodes; its first line has " + columnList(head) +
                             " (give --node-column, or check that the labels belong to this graph)");
  }
  // A header may leave columns without a name, as pandas does for its index, but not the two that matter.
  auto canBeHeader = [](const std::string &field) { return field.empty() || isColumnName(field); };
  columns.header = named || (find(head[columns.node]) == UINT32_MAX && isColumnName(head[columns.node]) &&
                             std::all_of(head.begin(), head.end(), canBeHeader));
  if (!options.labelColumn.empty()) {
    Result<size_t> at = byName(options.labelColumn);
    if (!at)
      return at.status();
    columns.label = *at;
    return columns;
  }
  std::vector<size_t> candidates;
  for (size_t c = 0; c < numColumns; ++c)
    if (c != columns.node && columns.header && (head[c].starts_with("label") || head[c].starts_with("class")))
      candidates.push_back(c);
  if (candidates.empty())
    for (size_t c = 0; c < numColumns; ++c)
      if (c != columns.node)
        candidates.push_back(c);
  if (candidates.size() != 1)
    return Status::invalid(file.name + ": several columns may hold the labels: " + columnList(head) +
                           "; give --label-column");
  columns.label = candidates[0];
  columns.header &= named || !head[columns.label].empty();
  return columns;
}

}  // namespace

Split splitOfName(std::string_view base) {
  constexpr std::pair<std::string_view, Split> kWords[] = {
      {"train", Split::Train}, {"training", Split::Train}, {"valid", Split::Valid}, {"validation", Split::Valid},
      {"val", Split::Valid},   {"dev", Split::Valid},      {"test", Split::Test},   {"testing", Split::Test},
  };
  auto isUpper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto isLetter = [&](char c) { return isUpper(c) || (c >= 'a' && c <= 'z') || (c & '\x80'); };
  Split found = Split::None;
  for (size_t at = 0; at < base.size();) {
    std::string word;
    const size_t start = at;
    // `trainingSet` is two words, and so is `test2id`.
    for (; at < base.size() && isLetter(base[at]); ++at) {
      if (at > start && isUpper(base[at]) && !isUpper(base[at - 1]))
        break;
      word += isUpper(base[at]) ? static_cast<char>(base[at] - 'A' + 'a') : base[at];
    }
    if (word.empty()) {
      ++at;
      continue;
    }
    // What kgbench calls `meta-testing` is kept apart from what it calls `testing`.
    if (word == "meta")
      return Split::None;
    if (word.ends_with("set"))
      word.resize(word.size() - 3);
    for (auto [name, split] : kWords)
      if (word == name) {
        if (found != Split::None && found != split)
          return Split::None;
        found = split;
      }
  }
  return found;
}

Result<int64_t> readLabels(const std::vector<LabelFile> &files, const LabelOptions &options,
                           const std::function<uint32_t(std::string_view)> &find, RawGraph &raw,
                           std::vector<std::string> &notes) {
  std::vector<Row> rows;
  int64_t unknown = 0;
  for (const LabelFile &input : files) {
    Result<TableFormat> format = sniffTable(input.file);
    if (!format)
      return format.status();
    Result<SmallTable> table = readSmallTable(input.file, format->separator);
    if (!table)
      return table.status();
    Result<Columns> columns = findColumns(input.file, *table, options, find);
    if (!columns)
      return columns.status();
    if (columns->header)
      notes.push_back(headerNote(input.file, table->lineOf[0], table->rows[0], format->separator));
    std::unordered_map<uint32_t, int64_t> seen;
    for (size_t i = columns->header ? 1 : 0; i < table->rows.size(); ++i) {
      const std::vector<std::string> &fields = table->rows[i];
      const int64_t line = table->lineOf[i];
      if (fields.size() <= std::max(columns->node, columns->label))
        return Status::invalid(place(input.file, line) + ": has " +
                               counted(static_cast<int64_t>(fields.size()), "field") + "; expected " +
                               std::to_string(table->rows[0].size()) + ", as in the first line");
      uint32_t node = find(fields[columns->node]);
      if (node == UINT32_MAX) {
        if (!options.skipUnknown)
          return Status::invalid(place(input.file, line) + ": the label is for " + inTicks(fields[columns->node]) +
                                 ", which is no node of the graph; --skip-unknown-labels leaves such labels out");
        ++unknown;
        continue;
      }
      if (fields[columns->label].empty())
        return Status::invalid(place(input.file, line) + ": the label is empty; expected a class");
      auto [it, isNew] = seen.emplace(node, line);
      if (!isNew)
        return Status::invalid(place(input.file, line) + ": " + inTicks(fields[columns->node]) +
                               " has a label already, in line " + std::to_string(it->second) +
                               "; expected one label per node");
      rows.push_back({node, labelText(fields[columns->label]), input.split, &input.file, line, rows.size()});
    }
  }

  // One row per node: files agree about the label, and one of them at most gives the split.
  std::sort(rows.begin(), rows.end(),
            [](const Row &a, const Row &b) { return std::pair(a.node, a.order) < std::pair(b.node, b.order); });
  std::map<std::string, int64_t> classes;
  bool allNumbers = true;
  for (const Row &row : rows) {
    classes.emplace(row.label, 0);
    allNumbers &= classNumber(row.label).has_value();
  }
  int64_t next = 0;
  for (auto &[name, id] : classes)
    id = allNumbers ? *classNumber(name) : next++;
  raw.labelNames.clear();
  if (allNumbers) {
    int64_t largest = -1;
    for (const auto &[name, id] : classes)
      largest = std::max(largest, id);
    for (int64_t id = 0; id <= largest; ++id)
      raw.labelNames.push_back(std::to_string(id));
  } else {
    for (const auto &[name, id] : classes)
      raw.labelNames.push_back(name);
  }
  for (size_t i = 0; i < rows.size();) {
    Label label{rows[i].node, classes[rows[i].label], rows[i].split};
    const Row *withSplit = &rows[i];
    size_t j = i + 1;
    for (; j < rows.size() && rows[j].node == rows[i].node; ++j) {
      if (rows[j].label != rows[i].label)
        return Status::invalid(place(*rows[j].file, rows[j].line) + ": the node has the label " +
                               inTicks(rows[j].label) + ", but " + place(*rows[i].file, rows[i].line) + " says " +
                               inTicks(rows[i].label) + "; expected one label per node");
      if (rows[j].split == Split::None)
        continue;
      if (label.split != Split::None && label.split != rows[j].split)
        return Status::invalid(place(*rows[j].file, rows[j].line) + ": the node is in the " + nameOf(rows[j].split) +
                               " split, but " + place(*withSplit->file, withSplit->line) + " puts it in the " +
                               nameOf(label.split) + " split; expected one split per node");
      label.split = rows[j].split;
      withSplit = &rows[j];
    }
    raw.labels.push_back(label);
    i = j;
  }
  return unknown;
}

}  // namespace hector
