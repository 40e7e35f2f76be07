#include "driver/BenchFile.h"

#include "driver/TomlReader.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace hector {

namespace fs = std::filesystem;

std::string_view phaseName(BenchPhase phase) {
  return phase == BenchPhase::Training ? "training" : "inference";
}

std::span<const BenchColumnInfo> benchColumns() {
  static constexpr BenchColumnInfo kColumns[] = {
      {BenchColumn::Median, "median_ms", "median ms"},
      {BenchColumn::P95, "p95_ms", "p95 ms"},
      {BenchColumn::Min, "min_ms", "min ms"},
      {BenchColumn::Prepare, "prepare_ms", "prepare ms"},
      {BenchColumn::First, "first_ms", "first ms"},
      {BenchColumn::Bandwidth, "gb_per_s", "GB/s"},
      {BenchColumn::Rate, "gflop_per_s", "GFLOP/s"},
      {BenchColumn::Peak, "peak_bytes", "peak MiB"},
      {BenchColumn::Predicted, "predicted_ms", "predicted ms"},
      {BenchColumn::Error, "error", "error"},
  };
  return kColumns;
}

bool BenchFile::reports(BenchColumn column) const {
  return std::find(report.begin(), report.end(), column) != report.end();
}

namespace {

/// Keys that say how a cell is computed.
constexpr std::array<std::string_view, 4> kWays = {"passes", "dtype", "precision", "threads"};
constexpr std::array<std::string_view, 3> kPrecisions = {"highest", "high", "medium"};
constexpr std::array<std::string_view, 4> kDtypes = {"f64", "f32", "bf16", "f16"};
constexpr std::string_view kSkewed = "skewed";  // the kind of graph that has no counts of its own

bool exists(const std::string &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

class Reader : private TomlReader {
public:
  Reader(std::string text, const std::string &path, BenchOverrides overrides)
      : TomlReader(std::move(text), path), overrides(std::move(overrides)) {
    file.path = path;
  }

  Result<BenchFile> read();

private:
  /// The values that a key of the sweep takes.
  struct Axis {
    std::string name;
    std::vector<const toml::node *> values;
    const toml::key *key;
  };

  // --- parts of the file
  Status readModels(const toml::node &node);
  void readGraphs(const toml::node &node);
  void readGraph(const toml::node &node);
  std::optional<SyntheticOptions> readSynthetic(const toml::table &table, const toml::node &kind);
  std::optional<ImportOptions> readImport(const toml::table &table, const std::string &folder);
  void readBackend();
  Status readMachine();
  void readMeasure(const toml::node &node);
  void readVerify(const toml::node &node);
  void readSettings(const toml::table &root);
  void readSweep(const toml::node &node);
  /// Applies a value to a way; false if `name` is no part of one.
  bool setWay(BenchWay &way, std::string_view name, const toml::node &value);
  /// Reports a key that says nothing about the backend.
  void checkWay(std::string_view name, const toml::key &key);
  bool isKnownToAModel(std::string_view name) const;
  std::vector<std::string_view> namesOfModels() const;

  // --- cells
  void makeRounds();
  void addCells(size_t model, size_t graph, BenchPhase phase);

  BenchOverrides overrides;
  BenchFile file;
  std::vector<BenchPhase> phases = {BenchPhase::Inference};
  BenchWay way;
  std::optional<int64_t> allSizes;
  std::map<std::string, std::string> sizes, attributes;  // as `--size` and `--set` spell their values
  std::vector<Axis> axes;
};

// --- models ---------------------------------------------------------------------------------------------------------

Status Reader::readModels(const toml::node &node) {
  for (const toml::node *value : listOf(node, "`model`")) {
    auto path = text(*value, "`model`");
    if (!path)
      continue;
    const std::string resolved = resolve(*path);
    auto model = loadModel(resolved);
    if (!model && model.status().isLocated())
      return model.status();  // the places are those of the model's text
    if (!model) {
      error(*value, model.status().message());
      continue;
    }
    const std::string name = fs::path(resolved).stem().string();
    if (std::any_of(file.models.begin(), file.models.end(),
                    [&](const BenchModel &other) { return other.name == name; }))
      error(*value, "two models are called " + inTicks(name)).suggest("rename one of the files");
    file.models.push_back({name, resolved, std::move(*model)});
  }
  return Status::ok();
}

bool Reader::isKnownToAModel(std::string_view name) const {
  return std::any_of(file.models.begin(), file.models.end(), [&](const BenchModel &model) {
    return model.model.signature.hasSize(name) || model.model.signature.findAttribute(name);
  });
}

std::vector<std::string_view> Reader::namesOfModels() const {
  std::set<std::string_view> names;
  for (const BenchModel &model : file.models) {
    for (const language::SizeDecl &size : model.model.signature.sizes)
      names.insert(size.name);
    for (const language::AttributeDecl &attribute : model.model.signature.attributes)
      names.insert(attribute.name);
  }
  return {names.begin(), names.end()};
}

// --- graphs ---------------------------------------------------------------------------------------------------------

void Reader::readGraphs(const toml::node &node) {
  for (const toml::node *value : listOf(node, "`graph`"))
    readGraph(*value);
  std::set<std::string> names;
  for (const BenchGraph &graph : file.graphs)
    if (!names.insert(graph.name).second)
      error(node, "two graphs are called " + inTicks(graph.name)).suggest("give one of them another `name`");
}

void Reader::readGraph(const toml::node &node) {
  // A text is a graph file.
  if (node.is_string()) {
    auto path = text(node, "`graph`");
    if (!path)
      return;
    const std::string resolved = resolve(*path);
    if (!exists(resolved))
      error(node, "there is no file " + inTicks(resolved));
    file.graphs.push_back({fs::path(resolved).stem().string(), resolved});
    return;
  }
  const toml::table *table = node.as_table();
  if (!table) {
    expected(node, "a graph", "a text (a graph file) or a table");
    return;
  }
  std::string name;
  if (const toml::node *given = table->get("name")) {
    name = text(*given, "`name`").value_or("");
    // Files and rows of tables are called so.
    const bool isPlain = std::all_of(name.begin(), name.end(), [](char letter) {
      return static_cast<unsigned char>(letter) >= ' ' && letter != '/' && letter != 0x7f;
    });
    if (!isPlain || name == "." || name == "..")
      error(*given, "a graph cannot be called " + inTicks(name))
          .suggest("use letters, digits and spaces; files are named after it");
  }
  bool isOptional = false;
  if (const toml::node *given = table->get("optional"))
    isOptional = truth(*given, "`optional`").value_or(false);
  const std::array<std::string_view, 3> kinds = {"file", "folder", "kind"};
  const toml::node *settled = nullptr;
  for (std::string_view kind : kinds)
    if (const toml::node *given = table->get(kind)) {
      if (settled) {
        error(node, "a graph is a file, a folder or of a kind, but two of them are given");
        return;
      }
      settled = given;
    }
  if (!settled) {
    error(node, "the graph has none of `file`, `folder` and `kind`");
    return;
  }
  if (settled == table->get("kind")) {
    if (auto synthetic = readSynthetic(*table, *settled)) {
      const std::string kind = synthetic->name.empty() ? std::string(kSkewed) : synthetic->name;
      file.graphs.push_back({name.empty() ? kind : name, std::move(*synthetic)});
    }
    return;
  }
  const bool isFolder = settled == table->get("folder");
  auto path = text(*settled, isFolder ? "`folder`" : "`file`");
  if (!path)
    return;
  const std::string resolved = resolve(*path);
  const fs::path named = fs::path(resolved).has_filename() ? fs::path(resolved) : fs::path(resolved).parent_path();
  if (name.empty())
    name = isFolder ? named.filename().string() : named.stem().string();
  std::optional<ImportOptions> import;
  if (isFolder) {
    import = readImport(*table, resolved);
    if (!import)
      return;
  } else {
    checkKeys(*table, "a graph file", {"file", "name", "optional"});
  }
  if (!exists(resolved)) {
    if (isOptional)
      file.absent.push_back(name);
    else
      error(*settled, "there is no " + std::string(isFolder ? "folder " : "file ") + inTicks(resolved))
          .suggest("`optional = true` skips a graph that is not there");
    return;
  }
  if (import)
    file.graphs.push_back({name, std::move(*import)});
  else
    file.graphs.push_back({name, resolved});
}

std::optional<SyntheticOptions> Reader::readSynthetic(const toml::table &table, const toml::node &kind) {
  const size_t before = diagnostics.size();
  checkKeys(table, "a generated graph",
            {"kind", "name", "nodes", "node_types", "edges", "edge_types", "skew", "node_type_skew", "edge_type_skew",
             "seed"});
  std::vector<std::string_view> kinds = {kSkewed};
  for (const NamedGraph &named : namedGraphs())
    kinds.push_back(named.name);
  auto chosen = word(kind, "`kind`", kinds);
  if (!chosen)
    return std::nullopt;
  SyntheticOptions options;
  const NamedGraph *named = findNamedGraph(*chosen);
  if (named) {
    options.name = named->name;
    options.nodes = named->nodes;
    options.nodeTypes = named->nodeTypes;
    options.edges = named->edges;
    options.edgeTypes = named->edgeTypes;
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (auto [key, value] : {std::pair("nodes", &options.nodes), std::pair("node_types", &options.nodeTypes),
                            std::pair("edges", &options.edges), std::pair("edge_types", &options.edgeTypes)})
    if (const toml::node *given = table.get(key)) {
      if (named)
        error(*given, "the kind " + inTicks(*chosen) + " settles the sizes, but `" + key + "` is given as well");
      else if (auto count = whole(*given, "`" + std::string(key) + "`", 1, kMost))
        *value = *count;
    } else if (*value == 0) {
      error(kind, "a graph of the kind `skewed` needs `" + std::string(key) + "`");
    }
  for (auto [key, value] : {std::pair("skew", &options.skew), std::pair("node_type_skew", &options.nodeTypeSkew),
                            std::pair("edge_type_skew", &options.edgeTypeSkew)})
    if (const toml::node *given = table.get(key))
      *value = number(*given, "`" + std::string(key) + "`", 0).value_or(*value);
  if (const toml::node *given = table.get("seed"))
    options.seed = static_cast<uint64_t>(whole(*given, "`seed`", 0, kMost).value_or(0));
  if (diagnostics.size() > before)
    return std::nullopt;
  if (Status status = checkSynthetic(options); !status.isOk()) {
    error(kind, status.message());
    return std::nullopt;
  }
  return options;
}

std::optional<ImportOptions> Reader::readImport(const toml::table &table, const std::string &folder) {
  const size_t before = diagnostics.size();
  checkKeys(table, "an imported graph",
            {"folder", "name", "optional", "preset", "format", "rules", "order", "relations", "inverses",
             "drop_repeated", "drop_isolated"});
  ImportOptions options;
  options.inputs = {folder};
  options.names = options.features = false;
  if (const toml::node *given = table.get("preset")) {
    std::vector<std::string_view> names;
    for (const Preset &preset : presets())
      names.push_back(preset.name);
    options.preset = word(*given, "`preset`", names).value_or("");
  }
  if (const toml::node *given = table.get("format")) {
    constexpr std::array<std::string_view, 6> kNames = {"rdf", "triples", "edges", "hgb", "ogb", "planetoid"};
    constexpr GraphFormat kFormats[] = {GraphFormat::Rdf, GraphFormat::Triples, GraphFormat::Edges,
                                        GraphFormat::Hgb, GraphFormat::Ogb,     GraphFormat::Planetoid};
    if (auto name = word(*given, "`format`", kNames))
      options.format = kFormats[std::find(kNames.begin(), kNames.end(), *name) - kNames.begin()];
  }
  if (const toml::node *given = table.get("rules")) {
    constexpr std::array<std::string_view, 2> kNames = {"terms", "types"};
    if (word(*given, "`rules`", kNames) == "types")
      options.rdf.rules = NodeRules::Types;
  }
  if (const toml::node *given = table.get("order")) {
    constexpr std::array<std::string_view, 3> kNames = {"hrt", "htr", "rht"};
    options.order = word(*given, "`order`", kNames).value_or("");
  }
  if (const toml::node *given = table.get("relations"))
    for (const toml::node *value : listOf(*given, "`relations`"))
      if (auto rule = text(*value, "a relation"))
        options.relations.push_back(*rule);
  if (const toml::node *given = table.get("inverses"))
    options.inverses = truth(*given, "`inverses`");
  if (const toml::node *given = table.get("drop_repeated"))
    options.dropRepeated = truth(*given, "`drop_repeated`");
  if (const toml::node *given = table.get("drop_isolated"))
    options.dropIsolated = truth(*given, "`drop_isolated`").value_or(false);
  if (diagnostics.size() > before)
    return std::nullopt;
  return options;
}

// --- how it is measured ---------------------------------------------------------------------------------------------

void Reader::readMeasure(const toml::node &node) {
  const toml::table *table = tableOf(node, "`measure`");
  if (!table)
    return;
  checkKeys(*table, "`measure`", {"warmup", "runs", "report"});
  constexpr int64_t kMostRuns = 1'000'000;
  if (const toml::node *given = table->get("warmup"))
    file.warmup = static_cast<int>(whole(*given, "`warmup`", 0, kMostRuns).value_or(0));
  if (const toml::node *given = table->get("runs"))
    file.runs = static_cast<int>(whole(*given, "`runs`", 1, kMostRuns).value_or(1));
  if (const toml::node *given = table->get("report")) {
    std::vector<std::string_view> keys;
    for (const BenchColumnInfo &info : benchColumns())
      keys.push_back(info.key);
    file.report.clear();
    for (const toml::node *value : listOf(*given, "`report`"))
      if (auto key = word(*value, "a column of `report`", keys))
        file.report.push_back(benchColumns()[std::find(keys.begin(), keys.end(), *key) - keys.begin()].column);
  }
}

void Reader::readVerify(const toml::node &node) {
  const toml::table *table = tableOf(node, "`verify`");
  if (!table)
    return;
  checkKeys(*table, "`verify`", {"against", "rtol"});
  if (const toml::node *given = table->get("against")) {
    constexpr std::array<std::string_view, 2> kNames = {"reference", "interpreter"};
    if (word(*given, "`against`", kNames) == "interpreter")
      file.judge = BenchJudge::Interpreter;
  }
  if (const toml::node *given = table->get("rtol"))
    file.rtol = number(*given, "`rtol`", 0).value_or(0);
}

bool Reader::setWay(BenchWay &target, std::string_view name, const toml::node &value) {
  if (name == "passes")
    target.passes = text(value, "`passes`").value_or("");
  else if (name == "dtype")
    target.dtype = word(value, "`dtype`", kDtypes).value_or("f32");
  else if (name == "precision")
    target.precision = word(value, "`precision`", kPrecisions).value_or("highest");
  else if (name == "threads")
    target.threads = static_cast<int>(whole(value, "`threads`", 1, 1024).value_or(1));
  else
    return false;
  return true;
}

void Reader::checkWay(std::string_view name, const toml::key &key) {
  const bool isOnGpu = file.backend == BenchBackend::Cuda;
  if (name == "precision" && !isOnGpu)
    error(key, "`precision` is how a GPU multiplies, but the benchmark runs on the CPU, which is always exact")
        .suggest("leave it out, or add backend = \"cuda\"");
  if (name == "threads" && isOnGpu)
    error(key, "`threads` are those of the CPU, but the benchmark runs on a GPU").suggest("leave it out");
}

void Reader::readBackend() {
  if (const toml::node *given = root.get("backend")) {
    constexpr std::array<std::string_view, 2> kNames = {"cpu", "cuda"};
    if (word(*given, "`backend`", kNames) == "cuda")
      file.backend = BenchBackend::Cuda;
  }
  file.backend = overrides.backend.value_or(file.backend);
}

Status Reader::readMachine() {
  const bool isOnGpu = file.backend == BenchBackend::Cuda;
  const MachineTarget target = isOnGpu ? MachineTarget::Gpu : MachineTarget::Cpu;
  file.machine = isOnGpu ? defaultGpu() : defaultMachine();
  const toml::node *given = root.get("machine");
  const std::optional<std::string> named = given ? text(*given, "`machine`") : std::nullopt;
  const bool isFile = named && named->find_first_of("./") != std::string::npos;
  const std::string chosen = !overrides.machine.empty() ? overrides.machine
                             : isFile                   ? resolve(*named)
                                                        : named.value_or("");
  if (chosen.empty())
    return Status::ok();
  // What the command line says has no place in the file.
  auto report = [&](const std::string &message) {
    if (!overrides.machine.empty())
      return Status::invalid("--machine: " + message);
    error(*given, message);
    return Status::ok();
  };
  auto machine = findMachine(chosen, target);
  if (!machine)
    return report(machine.status().message());
  if (machine->target != target)
    return report("the machine " + inTicks(machine->name) + " is a " + (isOnGpu ? "CPU" : "GPU") +
                  ", but the benchmark runs on " +
                  (isOnGpu ? "a GPU; choose `h200` or `here`" : "the CPU; choose `cpu` or `here`, or --backend cuda"));
  file.machine = std::move(*machine);
  return Status::ok();
}

void Reader::readSettings(const toml::table &table) {
  constexpr int64_t kMostSize = 1 << 24;
  for (const Entry &entry : entriesOf(table))
    if (setWay(way, entry.key->str(), *entry.value))
      checkWay(entry.key->str(), *entry.key);
  if (const toml::node *given = table.get("size")) {
    if (const toml::table *named = given->as_table()) {
      for (const Entry &entry : entriesOf(*named)) {
        const std::string name(entry.key->str());
        if (auto size = whole(*entry.value, inTicks(name), 1, kMostSize))
          sizes[name] = std::to_string(*size);
        if (std::none_of(file.models.begin(), file.models.end(),
                         [&](const BenchModel &model) { return model.model.signature.hasSize(name); }))
          error(*entry.key, "no model has a size " + inTicks(name) + suggestion(name, namesOfModels()));
      }
    } else {
      allSizes = whole(*given, "`size`", 1, kMostSize);
    }
  }
  const toml::node *given = table.get("set");
  if (const toml::table *named = given ? tableOf(*given, "`set`") : nullptr)
    for (const Entry &entry : entriesOf(*named)) {
      const std::string name(entry.key->str());
      if (auto value = constant(*entry.value, inTicks(name)))
        attributes[name] = *value;
      if (std::none_of(file.models.begin(), file.models.end(),
                       [&](const BenchModel &model) { return model.model.signature.findAttribute(name); }))
        error(*entry.key, "no model has an attribute " + inTicks(name) + suggestion(name, namesOfModels()));
    }
}

void Reader::readSweep(const toml::node &node) {
  const toml::table *table = tableOf(node, "`sweep`");
  if (!table)
    return;
  for (const Entry &entry : entriesOf(*table)) {
    const std::string name(entry.key->str());
    std::vector<std::string_view> known = namesOfModels();
    known.push_back("size");
    known.insert(known.end(), kWays.begin(), kWays.end());
    const bool isOwn = name == "size" || std::find(kWays.begin(), kWays.end(), name) != kWays.end();
    if (!isOwn && !isKnownToAModel(name)) {
      error(*entry.key, "no model has a size or attribute " + inTicks(name) +
                            ", and it is none of size, passes, dtype, precision and threads" + suggestion(name, known));
      continue;
    }
    checkWay(name, *entry.key);
    axes.push_back({name, listOf(*entry.value, inTicks(name)), entry.key});
    // Values of the wrong kind are found here, once, and not for every cell.
    for (const toml::node *value : axes.back().values) {
      BenchWay unused;
      if (name == "size")
        whole(*value, "`size`", 1, 1 << 24);
      else if (!isOwn)
        constant(*value, inTicks(name));
      else
        setWay(unused, name, *value);
    }
  }
}

// --- cells ----------------------------------------------------------------------------------------------------------

void Reader::addCells(size_t model, size_t graph, BenchPhase phase) {
  const language::Signature &signature = file.models[model].model.signature;
  // What the cell is settles its round; how it is computed is its place there.
  std::map<std::string, size_t> rounds;
  std::vector<size_t> chosen(axes.size(), 0);
  auto applies = [&](const Axis &axis) {
    return axis.name == "size" || std::find(kWays.begin(), kWays.end(), axis.name) != kWays.end() ||
           signature.hasSize(axis.name) || signature.findAttribute(axis.name);
  };
  while (true) {
    BenchCell cell = {model, graph, phase, {}, way, {}};
    std::map<std::string, std::string> boundSizes, boundAttributes;
    std::optional<int64_t> every = allSizes;
    for (const auto &[name, value] : sizes)
      if (signature.hasSize(name))
        boundSizes[name] = value;
    for (const auto &[name, value] : attributes)
      if (signature.findAttribute(name))
        boundAttributes[name] = value;
    std::string key;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Axis &axis = axes[i];
      if (!applies(axis))
        continue;
      const toml::node &value = *axis.values[chosen[i]];
      const std::string spelt = *constant(value, axis.name);
      cell.swept.emplace_back(axis.name, spelt);
      if (setWay(cell.way, axis.name, value))
        continue;
      key += axis.name + "=" + spelt + "\n";
      if (axis.name == "size")
        every = value.value<int64_t>();
      else
        (signature.hasSize(axis.name) ? boundSizes : boundAttributes)[axis.name] = spelt;
    }
    if (every)
      for (const language::SizeDecl &size : signature.sizes)
        boundSizes.try_emplace(size.name, std::to_string(*every));
    for (const auto &[name, value] : boundSizes)
      cell.settings.sizes.push_back(name + "=" + value);
    for (const auto &[name, value] : boundAttributes)
      cell.settings.attributes.push_back(name + "=" + value);
    auto [round, isNew] = rounds.try_emplace(key, file.rounds.size());
    if (isNew)
      file.rounds.emplace_back();
    file.rounds[round->second].push_back(std::move(cell));

    // The next combination; the last axis changes fastest.
    size_t i = axes.size();
    while (i > 0 && (!applies(axes[i - 1]) || ++chosen[i - 1] == axes[i - 1].values.size()))
      chosen[--i] = 0;
    if (i == 0)
      return;
  }
}

void Reader::makeRounds() {
  for (size_t graph = 0; graph < file.graphs.size(); ++graph)
    for (size_t model = 0; model < file.models.size(); ++model)
      for (BenchPhase phase : phases)
        addCells(model, graph, phase);
}

Result<BenchFile> Reader::read() {
  if (!parse())
    return failure();
  checkKeys(root, "a benchmark",
            {"model", "graph", "size", "set", "phase", "backend", "passes", "dtype", "precision", "threads", "sweep",
             "measure", "verify", "machine", "seed"});
  readBackend();
  if (!root.contains("model") || !root.contains("graph"))
    error("the benchmark has no " + std::string(root.contains("graph")   ? "`model`"
                                                : root.contains("model") ? "`graph`"
                                                                         : "`model` and no `graph`"))
        .suggest("name both: model = [\"rgcn.hec\"], graph = [\"aifb.safetensors\"]");
  if (const toml::node *given = root.get("model"))
    if (Status status = readModels(*given); !status.isOk())
      return status;
  if (const toml::node *given = root.get("graph"))
    readGraphs(*given);
  if (const toml::node *given = root.get("phase")) {
    constexpr std::array<std::string_view, 2> kNames = {"inference", "training"};
    phases.clear();
    for (const toml::node *value : listOf(*given, "`phase`"))
      if (auto name = word(*value, "`phase`", kNames))
        phases.push_back(*name == "training" ? BenchPhase::Training : BenchPhase::Inference);
  }
  readSettings(root);
  if (const toml::node *given = root.get("sweep"))
    readSweep(*given);
  if (const toml::node *given = root.get("measure"))
    readMeasure(*given);
  if (const toml::node *given = root.get("verify"))
    readVerify(*given);
  if (const toml::node *given = root.get("seed"))
    file.seed = static_cast<uint64_t>(whole(*given, "`seed`", 0, std::numeric_limits<int64_t>::max()).value_or(0));
  if (Status status = readMachine(); !status.isOk())
    return status;
  if (!diagnostics.empty())
    return failure();
  makeRounds();
  // Sizes that have no value, and values that an attribute does not take.
  for (const std::vector<BenchCell> &round : file.rounds)
    for (const BenchCell &cell : round) {
      const Model &model = file.models[cell.model].model;
      auto binding = bind(model, cell.settings);
      const std::string owner = inTicks(file.models[cell.model].name) + ": ";
      if (!binding)
        error(owner + binding.status().message());
      else
        for (const language::SizeDecl &size : model.signature.sizes)
          if (!binding->sizes.contains(size.name))
            error(owner + "size " + inTicks(size.name) + " has no value")
                .suggest("add it: size = { " + size.name + " = 64 }, or size = 64 for all sizes");
    }
  if (!diagnostics.empty())
    return failure();
  return std::move(file);
}

}  // namespace

Result<BenchFile> parseBenchFile(std::string text, const std::string &path, const BenchOverrides &overrides) {
  return Reader(std::move(text), path, overrides).read();
}

Result<BenchFile> readBenchFile(const std::string &path, const BenchOverrides &overrides) {
  auto text = readTomlText(path, "benchmark");
  if (!text)
    return std::move(text).status();
  return parseBenchFile(std::move(*text), path, overrides);
}

}  // namespace hector
