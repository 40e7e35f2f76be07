/// Citation graphs as Planetoid publishes them: `ind.NAME.graph` and beside it features, labels and the test nodes.
#include "runtime/base/Text.h"
#include "runtime/data/Import.h"
#include "runtime/data/Pickle.h"
#include "runtime/data/Table.h"

#include <algorithm>
#include <cmath>

namespace hector {

namespace {

using Kind = PickleValue::Kind;

const InputFile *findPart(const std::vector<InputFile> &files, std::string_view part) {
  for (const InputFile &file : files)
    if (file.base().starts_with("ind.") && file.base().ends_with("." + std::string(part)))
      return &file;
  return nullptr;
}

Result<Pickle> readPickle(const InputFile &file) {
  Result<std::string> bytes = readWhole(file);
  if (!bytes)
    return bytes.status();
  return parsePickle(*bytes, file.name);
}

Result<PickleArray> readArray(const InputFile &file) {
  Result<Pickle> pickle = readPickle(file);
  if (!pickle)
    return pickle.status();
  Result<PickleArray> array = pickleArray(*pickle->root, file.name);
  if (array && array->shape.size() != 2)
    return Status::invalid(file.name + ": has " + std::to_string(array->shape.size()) +
                           " dimensions; expected a table of classes");
  return array;
}

/// A sparse matrix by rows.
struct Sparse {
  int64_t rows = 0, columns = 0;
  PickleArray ptr, indices, values;
};

Result<Sparse> readSparse(const InputFile &file) {
  auto fail = [&](const std::string &what) { return Status::invalid(file.name + ": " + what); };
  Result<Pickle> pickle = readPickle(file);
  if (!pickle)
    return pickle.status();
  const PickleValue &root = *pickle->root;
  if (root.kind != Kind::Object || root.items.size() != 3 || !root.items[0]->text.ends_with("csr_matrix"))
    return fail("is not a sparse matrix by rows; expected scipy's csr_matrix");
  const PickleValue &state = *root.items[2];
  const PickleValue *shape = state.get("_shape"), *ptr = state.get("indptr"), *indices = state.get("indices"),
                    *data = state.get("data");
  if (!shape || !ptr || !indices || !data || shape->kind != Kind::Tuple || shape->items.size() != 2)
    return fail("a part of the matrix is missing; expected _shape, indptr, indices and data");
  Sparse sparse;
  sparse.rows = shape->items[0]->number;
  sparse.columns = shape->items[1]->number;
  for (auto [value, array] : {std::pair(ptr, &sparse.ptr), {indices, &sparse.indices}, {data, &sparse.values}}) {
    Result<PickleArray> read = pickleArray(*value, file.name);
    if (!read)
      return read.status();
    *array = std::move(*read);
  }
  const auto numPtr = static_cast<int64_t>(sparse.ptr.values.size());
  const size_t count = sparse.indices.values.size();
  const bool rising = std::adjacent_find(sparse.ptr.values.begin(), sparse.ptr.values.end(),
                                         [](double a, double b) { return !(a <= b); }) == sparse.ptr.values.end();
  if (sparse.rows < 0 || sparse.columns < 0 || numPtr != sparse.rows + 1 || sparse.values.values.size() != count ||
      sparse.ptr.values.front() != 0 || sparse.ptr.values.back() != static_cast<double>(count) || !rising)
    return fail("the parts of the matrix do not fit together");
  for (int64_t r = 0; r < sparse.rows; ++r)
    for (auto k = static_cast<size_t>(sparse.ptr.values[static_cast<size_t>(r)]);
         k < static_cast<size_t>(sparse.ptr.values[static_cast<size_t>(r) + 1]); ++k) {
      const double column = sparse.indices.values[k];
      if (!(column >= 0 && column < static_cast<double>(sparse.columns)))
        return fail("row " + std::to_string(r) + " has an entry in column " + std::to_string(column) + " of " +
                    std::to_string(sparse.columns));
      if (!std::isfinite(static_cast<float>(sparse.values.values[k])))
        return fail("row " + std::to_string(r) + ", column " + std::to_string(static_cast<int64_t>(column)) + " is " +
                    std::to_string(sparse.values.values[k]) + "; expected finite numbers: the file may be damaged");
    }
  return sparse;
}

/// A table of classes: 1 where the node of a row is of the class of a column, else 0.
Result<PickleArray> readClasses(const InputFile &file) {
  Result<PickleArray> classes = readArray(file);
  if (!classes)
    return classes.status();
  for (size_t i = 0; i < classes->values.size(); ++i)
    if (const double value = classes->values[i]; value != 0 && value != 1) {
      const auto width = static_cast<size_t>(classes->shape[1]);
      return Status::invalid(file.name + ": row " + std::to_string(i / width) + ", column " +
                             std::to_string(i % width) + " is " + std::to_string(value) +
                             "; expected 1 where the node is of the class, else 0");
    }
  return classes;
}

/// The nodes that rows of `tx` and `ty` belong to, and their lines.
struct TestIndex {
  std::string name;  // of the file
  std::vector<uint32_t> nodes;
  std::vector<int64_t> lineOf;

  std::string place(size_t row) const { return name + ":" + std::to_string(lineOf[row]) + ": "; }
};

Result<TestIndex> readTestIndex(const InputFile &file, size_t numNodes) {
  Result<SmallTable> table = readSmallTable(file, ' ');
  if (!table)
    return table.status();
  if (table->rows.empty())
    return Status::invalid(file.name + ": has no rows; expected the number of a test node in each");
  TestIndex test = {file.name, {}, std::move(table->lineOf)};
  std::vector<int64_t> seen(numNodes);  // the line of a node; 0: none
  for (size_t i = 0; i < table->rows.size(); ++i) {
    const std::string &text = table->rows[i][0];
    std::optional<uint64_t> id = parseId(text);
    if (!id || *id >= numNodes)
      return Status::invalid(
          test.place(i) + "found " + inTicks(text) + "; " +
          (numNodes == 0 ? "the graph has no nodes" : "expected a node, 0 to " + std::to_string(numNodes - 1)));
    if (seen[*id] != 0)
      return Status::invalid(test.place(i) + "node " + std::to_string(*id) + " is in line " +
                             std::to_string(seen[*id]) + " already; expected each node once");
    seen[*id] = test.lineOf[i];
    test.nodes.push_back(static_cast<uint32_t>(*id));
  }
  return test;
}

}  // namespace

Result<Imported> importPlanetoid(const std::vector<InputFile> &files, const ImportContext &context) {
  const InputFile *graphFile = findPart(files, "graph");
  if (!graphFile)
    return Status::invalid(files[0].name + ": `ind.NAME.graph` is missing; it holds the edges");
  Result<Pickle> pickle = readPickle(*graphFile);
  if (!pickle)
    return pickle.status();
  const PickleValue *dict = pickle->root;
  if (dict->kind == Kind::Object && dict->items.size() == 3)  // a defaultdict
    dict = dict->items[2];
  if (dict->kind != Kind::Dict)
    return Status::invalid(graphFile->name + ": is not a dictionary; expected one from nodes to lists of neighbours");
  const size_t numNodes = dict->items.size() / 2;
  auto isNode = [&](const PickleValue *v) {
    return v->kind == Kind::Int && v->number >= 0 && static_cast<size_t>(v->number) < numNodes;
  };
  // Each edge both ways, once; published copies have repeated ones and loops, which all loaders drop.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const PickleValue *node = dict->items[i], *list = dict->items[i + 1];
    if (!isNode(node) || list->kind != Kind::List)
      return Status::invalid(graphFile->name + ": entry " + std::to_string(i / 2) +
                             " is not a node with a list of neighbours; nodes are 0 to " +
                             std::to_string(numNodes - 1));
    for (const PickleValue *other : list->items) {
      if (!isNode(other))
        return Status::invalid(graphFile->name + ": node " + std::to_string(node->number) + " has the neighbour " +
                               std::to_string(other->number) + "; nodes are 0 to " + std::to_string(numNodes - 1));
      if (other->number == node->number)
        continue;
      edges.emplace_back(node->number, other->number);
      edges.emplace_back(other->number, node->number);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());

  Imported imported;
  RawGraph &raw = imported.raw;
  imported.inversesByDefault = false;  // edges go both ways
  raw.nodeTypes = {"paper"};
  raw.countOfType = {static_cast<int64_t>(numNodes)};
  raw.edgeTypes = {{"cites", "paper", "paper"}};
  for (auto [src, dst] : edges) {
    raw.src.push_back(src);
    raw.dst.push_back(dst);
  }
  raw.type.resize(edges.size());

  TestIndex test;
  if (const InputFile *file = findPart(files, "test.index")) {
    Result<TestIndex> read = readTestIndex(*file, numNodes);
    if (!read)
      return read.status();
    test = std::move(*read);
  }
  // Rows of `all…` belong to the first nodes, those of `t…` to the test nodes.
  auto rowsFit = [&](const InputFile &file, int64_t rows, bool isTest) {
    const auto most = static_cast<int64_t>(isTest ? test.nodes.size() : numNodes);
    if (rows > most || (isTest && rows != most))
      return Status::invalid(file.name + ": has " + counted(rows, "row") + " for " +
                             counted(most, isTest ? "test node" : "node"));
    for (size_t i = 0; !isTest && i < test.nodes.size(); ++i)
      if (test.nodes[i] < rows)
        return Status::invalid(test.place(i) + "node " + std::to_string(test.nodes[i]) + " has a row in " + file.name +
                               ", which holds nodes 0 to " + std::to_string(rows - 1) +
                               "; expected test nodes after those");
    return Status::ok();
  };
  const InputFile *allX = findPart(files, "allx"), *testX = findPart(files, "tx");
  if (allX && testX && context.options.features) {
    int64_t width = -1;
    for (bool isTest : {false, true}) {
      const InputFile &file = isTest ? *testX : *allX;
      Result<Sparse> sparse = readSparse(file);
      if (!sparse)
        return sparse.status();
      if (Status status = rowsFit(file, sparse->rows, isTest); !status.isOk())
        return status;
      if (width < 0) {
        width = sparse->columns;
        constexpr size_t kMaxValues = size_t{1} << 34;
        if (static_cast<size_t>(width) > kMaxValues / std::max<size_t>(numNodes, 1))
          return Status::invalid(file.name + ": has " + std::to_string(width) + " columns for " +
                                 std::to_string(numNodes) + " nodes, more than is supported");
        raw.features = {{width, std::vector<float>(numNodes * static_cast<size_t>(width))}};
      }
      if (sparse->columns != width)
        return Status::invalid(file.name + ": has " + std::to_string(sparse->columns) + " columns, but " + allX->name +
                               " has " + std::to_string(width));
      for (int64_t r = 0; r < sparse->rows; ++r) {
        const auto row = static_cast<size_t>(r);
        const size_t node = isTest ? test.nodes[row] : row;
        for (auto k = static_cast<size_t>(sparse->ptr.values[row]);
             k < static_cast<size_t>(sparse->ptr.values[row + 1]); ++k)
          raw.features[0].values[node * static_cast<size_t>(width) + static_cast<size_t>(sparse->indices.values[k])] =
              static_cast<float>(sparse->values.values[k]);
      }
    }
  } else if (context.options.features) {
    context.report.notes.push_back("features (allx, tx) are not there; the graph has none");
  }

  // The usual splits: the rows of `y` train, the next 500 nodes validate, the test nodes test.
  constexpr size_t kNumValid = 500;
  const InputFile *allY = findPart(files, "ally"), *testY = findPart(files, "ty"), *trainY = findPart(files, "y");
  if (allY && testY && trainY) {
    Result<PickleArray> train = readClasses(*trainY);
    if (!train)
      return train.status();
    const auto numTrain = static_cast<size_t>(train->shape[0]);
    for (bool isTest : {false, true}) {
      const InputFile &file = isTest ? *testY : *allY;
      Result<PickleArray> classes = readClasses(file);
      if (!classes)
        return classes.status();
      if (Status status = rowsFit(file, classes->shape[0], isTest); !status.isOk())
        return status;
      if (classes->shape[1] != train->shape[1])
        return Status::invalid(file.name + ": has " + counted(classes->shape[1], "column") + ", but " + trainY->name +
                               " has " + std::to_string(train->shape[1]) + "; expected one for each class");
      const auto width = static_cast<size_t>(classes->shape[1]);
      while (raw.labelNames.size() < width)
        raw.labelNames.push_back(std::to_string(raw.labelNames.size()));
      for (size_t r = 0; r < static_cast<size_t>(classes->shape[0]); ++r) {
        const auto *row = classes->values.data() + r * width;
        const auto numOnes = std::count(row, row + width, 1.0);
        const size_t node = isTest ? test.nodes[r] : r;
        if (numOnes == 0)
          continue;  // a row without a class: a node that was never labelled
        raw.multiLabel |= numOnes > 1;
        Split split = isTest                        ? Split::Test
                      : node < numTrain             ? Split::Train
                      : node < numTrain + kNumValid ? Split::Valid
                                                    : Split::None;
        for (size_t c = 0; c < width; ++c)
          if (row[c] == 1.0)
            raw.labels.push_back({static_cast<uint32_t>(node), static_cast<int64_t>(c), split});
      }
    }
  }
  context.report.format = "Planetoid";
  context.report.items = static_cast<int64_t>(edges.size());
  return imported;
}

}  // namespace hector
