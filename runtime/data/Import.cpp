#include "runtime/data/Import.h"

#include "runtime/base/Text.h"
#include "runtime/data/Table.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <thread>

namespace hector {

namespace {

constexpr Preset kPresets[] = {
    {"dgl-aifb", "AIFB as DGL types it: by the first part of the path; authors and publications of one number merge"},
    {"dgl-mutag", "MUTAG as DGL types it: compounds and atoms, bonds, the rest by the predicate that leads to it"},
};

/// Presets are rules that a user could write out.
Status applyPreset(ImportOptions &options) {
  if (options.preset.empty())
    return Status::ok();
  RdfOptions &rdf = options.rdf;
  rdf.rules = NodeRules::Patterns;
  if (options.preset == "dgl-aifb") {
    rdf.nodePatterns = {"http://www.aifb.uni-karlsruhe.de/{type}/*/{name}"};
  } else if (options.preset == "dgl-mutag") {
    rdf.nodePatterns = {"d=http://dl-learner.org/carcinogenesis#d[0-9]*",
                        "bond=http://dl-learner.org/carcinogenesis#bond[0-9]*",
                        "?=http://dl-learner.org/carcinogenesis#*"};
    rdf.rangePatterns = {"SCHEMA=http://www.w3.org/*"};
  } else {
    std::string names;
    for (const Preset &preset : kPresets)
      names += (names.empty() ? "" : ", ") + std::string(preset.name);
    return Status::invalid("there is no preset " + inTicks(options.preset) + "; there are " + names);
  }
  return Status::ok();
}

bool hasExtension(const InputFile &file, std::initializer_list<std::string_view> extensions) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](std::string_view e) { return file.base().ends_with(e); });
}

bool isRdf(const InputFile &file) {
  return hasExtension(file, {".nt", ".ttl", ".turtle", ".ntriples"});
}

bool isArray(const InputFile &file) {
  return hasExtension(file, {".npy", ".npz"});
}

/// Whether text looks like N-Triples: its first line that is not empty or a comment starts as a triple does.
bool looksLikeTriples(const InputFile &file) {
  constexpr size_t kLook = 1 << 14;
  BlockReader reader(file, kLook);
  Result<Block> block = reader.next();
  if (!block)
    return false;
  std::string_view text = block->text;
  while (!text.empty()) {
    size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos)
      return false;
    text.remove_prefix(start);
    if (text.front() != '#')
      break;
    size_t newline = text.find('\n');
    if (newline == std::string_view::npos)
      return false;
    text.remove_prefix(newline);
  }
  return text.starts_with("<") || text.starts_with("_:");
}

Result<GraphFormat> detect(const std::vector<InputFile> &files) {
  auto any = [&](auto test) { return std::any_of(files.begin(), files.end(), test); };
  if (any([](const InputFile &f) { return f.base() == "link.dat"; }))
    return GraphFormat::Hgb;
  if (any([](const InputFile &f) { return f.base().starts_with("ind.") && f.base().ends_with(".graph"); }))
    return GraphFormat::Planetoid;
  if (any(isRdf))
    return GraphFormat::Rdf;
  if (any(isArray) || any([](const InputFile &f) { return f.base() == "edge.csv"; }))
    return GraphFormat::Ogb;
  bool anyRows = false;
  for (const InputFile &file : files) {
    if (looksLikeTriples(file))
      return GraphFormat::Rdf;
    // A file without rows tells nothing; the importer warns of it.
    if (Result<bool> rows = hasRows(file); rows && !*rows)
      continue;
    anyRows = true;
    Result<TableFormat> table = sniffTable(file);
    if (!table)
      return table.status();
    if (table->numColumns == 3)
      return GraphFormat::Triples;
    if (table->numColumns == 2 && files.size() == 1)
      return GraphFormat::Edges;
  }
  if (!anyRows)
    return Status::invalid(files[0].name + ": has no rows; expected a graph");
  std::string names;
  for (size_t i = 0; i < files.size() && i < 3; ++i)
    names += (i ? ", " : "") + files[i].name;
  return Status::invalid(names + ": the format is not known by name or contents; give --format rdf, triples, edges, "
                                 "hgb, ogb or planetoid");
}

/// Label files that lie beside RDF files: `trainingSet.tsv`, `testSet.tsv`, `completeDataset.tsv`.
bool isLabelTable(const InputFile &file) {
  return hasExtension(file, {".tsv", ".csv"});
}

std::string sourceOf(const ImportOptions &options) {
  std::string text;
  for (const std::string &input : options.inputs) {
    std::filesystem::path path(input);
    if (path.filename().empty())
      path = path.parent_path();
    text += (text.empty() ? "" : ", ") + path.filename().string();
  }
  return text;
}

Result<Imported> importRdfFiles(const std::vector<InputFile> &files, const ImportContext &context,
                                std::vector<LabelFile> &labels) {
  const bool named = std::any_of(files.begin(), files.end(), isRdf);
  std::vector<InputFile> graph;
  for (const InputFile &file : files) {
    if (!named || isRdf(file))
      graph.push_back(file);
    else if (isLabelTable(file))
      labels.push_back({file, splitOfName(file.base())});
    else
      context.report.notes.push_back(file.name + " is not RDF and was left out");
  }
  RdfOptions options = context.options.rdf;
  options.reader.threads = context.threads;
  if (!options.nodePatterns.empty())
    options.rules = NodeRules::Patterns;
  Result<RdfGraph> rdf = importRdf(graph, options, context.watch);
  if (!rdf)
    return rdf.status();
  context.report.format = "RDF";
  context.report.items = rdf->stats.triples;
  context.report.readSeconds = rdf->readSeconds;
  context.report.bad = rdf->stats.bad;
  context.report.firstBad = rdf->stats.firstBad;
  context.report.warnings = std::move(rdf->warnings);
  Imported imported;
  imported.raw = std::move(rdf->raw);
  imported.dropRepeatedByDefault = true;
  imported.find = std::move(rdf->find);
  return imported;
}

Result<GraphContents> runImport(const ImportOptions &given, const Watch &watch, ImportReport &report) {
  ImportOptions options = given;
  if (Status status = applyPreset(options); !status.isOk())
    return status;
  Result<std::vector<InputFile>> files = openInputs(options.inputs);
  if (!files)
    return files.status();
  const int threads =
      options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ImportContext context{options, watch, report, threads};

  std::vector<LabelFile> labels;
  for (auto [paths, split] : {std::pair(&options.labelFiles, Split::None),
                              {&options.trainFiles, Split::Train},
                              {&options.validFiles, Split::Valid},
                              {&options.testFiles, Split::Test}}) {
    Result<std::vector<InputFile>> more = openInputs(*paths);
    if (!more)
      return more.status();
    for (InputFile &file : *more)
      labels.push_back({std::move(file), split});
  }
  const bool labelsGiven = !labels.empty();

  GraphFormat format = options.format;
  if (format == GraphFormat::Detect) {
    Result<GraphFormat> found = detect(*files);
    if (!found)
      return found.status();
    format = *found;
  }
  std::vector<LabelFile> beside;
  auto run = [&]() -> Result<Imported> {
    switch (format) {
    case GraphFormat::Triples:
      return importTriples(*files, context);
    case GraphFormat::Edges:
      return importEdges(*files, context);
    case GraphFormat::Hgb:
      return importHgb(*files, context);
    case GraphFormat::Ogb:
      return importOgb(*files, context);
    case GraphFormat::Planetoid:
      return importPlanetoid(*files, context);
    default:
      return importRdfFiles(*files, context, beside);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  Result<Imported> imported = run();
  if (!imported)
    return imported.status();
  if (report.readSeconds == 0)
    report.readSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!labelsGiven)
    labels = std::move(beside);
  if (!labels.empty()) {
    if (!imported->find)
      return Status::invalid(labels[0].file.name + ": this format has its labels inside; leave out --labels, --train, "
                                                   "--valid and --test");
    Result<int64_t> unknown = readLabels(labels, options.labels, imported->find, imported->raw, report.notes);
    if (!unknown)
      return unknown.status();
    report.unknownLabels = *unknown;
  }
  imported->find = nullptr;
  imported->raw.source = sourceOf(options);
  AssembleOptions assembly;
  assembly.inverses = options.inverses.value_or(imported->inversesByDefault);
  assembly.dropRepeated = options.dropRepeated.value_or(imported->dropRepeatedByDefault);
  assembly.dropIsolated = options.dropIsolated;
  assembly.names = options.names;
  assembly.threads = threads;
  const std::string source = imported->raw.source;
  Result<GraphContents> contents = assemble(std::move(imported->raw), assembly, watch);
  if (!contents)
    return std::move(contents).status().during(source);
  // Importers name the place of what is wrong. This holds for what none of them looks for.
  if (watch.progress)
    watch.progress("checking the graph", 0, 0, 0);
  if (std::vector<std::string> findings = checkGraph(*contents, 1); !findings.empty())
    return Status::invalid(source + ": makes a graph that is not sound: " + findings.front());
  return contents;
}

}  // namespace

std::span<const Preset> presets() {
  return kPresets;
}

Result<GraphContents> importGraph(const ImportOptions &options, const Watch &watch, ImportReport &report) {
  // Inputs may unpack to, or ask for, more than there is.
  try {
    return runImport(options, watch, report);
  } catch (const std::bad_alloc &) {
    return noMemoryStatus(sourceOf(options));
  } catch (const std::length_error &) {
    return noMemoryStatus(sourceOf(options));
  }
}

}  // namespace hector
