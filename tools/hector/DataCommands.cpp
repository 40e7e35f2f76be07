#include "DataCommands.h"

#include "Commands.h"
#include "DataMakeInfo.h"
#include "ImportProgress.h"
#include "Options.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"
#include "runtime/data/Import.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/storage/File.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <new>

namespace hector {

namespace {

struct ImportCommand {
  ImportOptions options;
  std::string out;
  std::string format = "detect";
  std::string rules = "terms";
  std::string literals, blanks, edgeTypes;
};

/// "3 nodes of 1 type, 4 edges of 2 types".
std::string describeSizes(int64_t nodes, int64_t nodeTypes, int64_t edges, int64_t edgeTypes) {
  return withCommas(nodes, "node", "nodes") + " of " + withCommas(nodeTypes, "type", "types") + ", " +
         withCommas(edges, "edge", "edges") + " of " + withCommas(edgeTypes, "type", "types");
}

CLI::App *addImport(CLI::App &data, ImportCommand &command) {
  ImportOptions &options = command.options;
  CLI::App *app = data.add_subcommand("import", "Reads a graph from N-Triples, Turtle, triples in text, HGB, OGB, "
                                                "Planetoid or a list of edges");
  app->add_option("INPUT", options.inputs, "Files, folders or zip archives")->required();
  app->add_option("-o,--out", command.out, "The graph file to write (.safetensors)")->required()->type_name("FILE");
  app->add_option("--format", command.format, "detect, rdf, triples, edges, hgb, ogb or planetoid")
      ->capture_default_str()
      ->check(CLI::IsMember({"detect", "rdf", "triples", "edges", "hgb", "ogb", "planetoid"}))
      ->type_name("NAME");

  app->add_option("--rules", command.rules, "terms: every RDF term is a node; types: a node's type is its rdf:type")
      ->check(CLI::IsMember({"terms", "types"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->group("RDF");
  app->add_option("--nodes", options.rdf.nodePatterns,
                  "Nodes are the IRIs that match: `http://…/{type}/*/{name}`, `TYPE=http://…#d[0-9]*`, or `?=…` for "
                  "a type by the predicate that leads there; may be repeated, the first match counts")
      ->type_name("PATTERN")
      ->take_all()
      ->group("RDF");
  app->add_option("--range", options.rdf.rangePatterns,
                  "`TYPE=PATTERN`: objects of the predicates that match are of that type (with --nodes)")
      ->type_name("RULE")
      ->take_all()
      ->group("RDF");
  std::string presetHelp = "Rules by name:";
  for (const Preset &preset : presets())
    presetHelp += " " + std::string(preset.name) + " (" + std::string(preset.summary) + ")";
  app->add_option("--preset", options.preset, presetHelp)->type_name("NAME")->group("RDF");
  auto keepOrDrop = [&](const char *name, std::string &value, const char *help) {
    app->add_option(name, value, help)->check(CLI::IsMember({"keep", "drop"}))->type_name("keep|drop")->group("RDF");
  };
  keepOrDrop("--literals", command.literals, "Texts and numbers as nodes of a type of their own (default: keep)");
  keepOrDrop("--blank-nodes", command.blanks, "Blank nodes (default: keep with --rules terms, else drop)");
  app->add_option("--edge-types", command.edgeTypes,
                  "triple: a relation for each (source type, predicate, destination type); relation: for each "
                  "predicate (default: triple, with --rules terms relation)")
      ->check(CLI::IsMember({"triple", "relation"}))
      ->type_name("KIND")
      ->group("RDF");
  app->add_option("--remove-predicate", options.rdf.removePredicates,
                  "Leaves out triples with this predicate, as those that give labels away; may be repeated")
      ->type_name("IRI")
      ->take_all()
      ->group("RDF");
  app->add_flag("--multiline-literals", options.rdf.reader.multiline,
                "Texts in N-Triples may go over several lines (not parallel)")
      ->group("RDF");
  app->add_flag("--any-iri", options.rdf.reader.anyIri, "IRIs in N-Triples may contain characters that they should not")
      ->group("RDF");

  app->add_option("--order", options.order, "Columns of triples in text: hrt, htr or rht (default: detected)")
      ->check(CLI::IsMember({"hrt", "htr", "rht"}))
      ->type_name("ORDER")
      ->group("Tables and arrays");
  app->add_option("--relation", options.relations,
                  "`NAME=SOURCE:DESTINATION`: the node types that the edges of file NAME join; may be repeated")
      ->type_name("RULE")
      ->take_all()
      ->group("Tables and arrays");

  auto labelFile = [&](const char *name, std::vector<std::string> &files, const char *help) {
    app->add_option(name, files, help)->type_name("FILE")->group("Labels");
  };
  labelFile("--labels", options.labelFiles, "Labels of nodes (TSV or CSV)");
  labelFile("--train", options.trainFiles, "The same, for nodes to train on");
  labelFile("--valid", options.validFiles, "The same, for validation");
  labelFile("--test", options.testFiles, "The same, for tests");
  app->add_option("--node-column", options.labels.nodeColumn, "The column with the nodes' names (default: detected)")
      ->type_name("NAME")
      ->group("Labels");
  app->add_option("--label-column", options.labels.labelColumn, "The column with the labels (default: detected)")
      ->type_name("NAME")
      ->group("Labels");
  app->add_flag("--skip-unknown-labels", options.labels.skipUnknown, "Leaves out labels of nodes that are not there")
      ->group("Labels");

  app->add_flag("--skip-bad", options.rdf.reader.skipBad, "Counts bad lines and goes on");
  // A flag and its opposite, or neither.
  auto either = [&](const char *names, std::optional<bool> &value, const char *help) {
    app->add_flag_function(names, [&value](int64_t count) { value = count > 0; }, help);
  };
  either("--inverses,!--no-inverses", options.inverses,
         "A relation the other way round for each that has none (default: yes)");
  either("--drop-repeated,!--keep-repeated", options.dropRepeated,
         "Equal edges once (default: for RDF, which is a set)");
  app->add_flag("--drop-isolated", options.dropIsolated, "Leaves out nodes without edges");
  app->add_flag("--names,!--no-names", options.names, "Nodes' names in the file (default: yes)");
  app->add_flag("--features,!--no-features", options.features, "Nodes' features in the file (default: yes)");
  app->add_option("--threads", options.threads, "Threads to read with (default: as many as the machine has)")
      ->type_name("N")
      ->transform(wholeNumber<int>(1, 1024));
  app->footer("Example:\n  hector data import aifb/ --rules types --out aifb.safetensors");
  return app;
}

int runImport(ImportCommand &command) {
  ImportOptions &options = command.options;
  constexpr std::pair<std::string_view, GraphFormat> kFormats[] = {
      {"rdf", GraphFormat::Rdf}, {"triples", GraphFormat::Triples}, {"edges", GraphFormat::Edges},
      {"hgb", GraphFormat::Hgb}, {"ogb", GraphFormat::Ogb},         {"planetoid", GraphFormat::Planetoid}};
  for (auto [name, format] : kFormats)
    if (command.format == name)
      options.format = format;
  options.rdf.rules = command.rules == "types" ? NodeRules::Types : NodeRules::Terms;
  auto keep = [](const std::string &text) {
    return text.empty() ? std::optional<bool>() : std::optional<bool>(text == "keep");
  };
  options.rdf.keepLiterals = keep(command.literals);
  options.rdf.keepBlanks = keep(command.blanks);
  if (!command.edgeTypes.empty())
    options.rdf.typedEdges = command.edgeTypes == "triple";

  std::vector<std::string> inputs = options.inputs;
  for (const auto *files : {&options.labelFiles, &options.trainFiles, &options.validFiles, &options.testFiles})
    inputs.insert(inputs.end(), files->begin(), files->end());
  if (Status status = refuseOverwriting(command.out, inputs); !status.isOk())
    return report(status);
  noteInterrupts();
  ImportProgress progress("items");
  Watch watch;
  watch.stop = [] { return interruptSignal() != 0; };
  watch.progress = [&](std::string_view what, uint64_t done, uint64_t total, int64_t items) {
    progress.update(what, done, total, items);
  };
  auto stopped = [&] {
    progress.clear();
    std::fprintf(stderr, "stopped; nothing was written\n");
    return interruptExitCode();
  };
  ImportReport summary;
  Result<GraphContents> graph = importGraph(options, watch, summary);
  if (watch.stopped())
    return stopped();
  progress.clear();
  if (!graph)
    return report(graph.status());
  const double memorySeconds = progress.seconds();

  const Tensor &src = graph->tensors.tensors["graph.src"];
  const Tensor &ptr = graph->tensors.tensors["graph.ntype_ptr"];
  const int64_t numEdges = src.numElements();
  const int64_t numNodes = ptr.intAt(ptr.numElements() - 1);
  const auto numNodeTypes = static_cast<int64_t>(graph->nodeTypes.size());
  const auto numEdgeTypes = static_cast<int64_t>(graph->edgeTypes.size());
  const Tensor *labels = graph->tensors.find("label");
  std::string labelText;
  if (labels) {
    const bool several = labels->shape.size() == 2;  // a node may have several
    labelText = (several ? withCommas(labels->shape[0], "node", "nodes") + " with any of "
                         : withCommas(labels->numElements(), "label", "labels") + " of ") +
                withCommas(static_cast<int64_t>(graph->labelNames.size()), "class", "classes");
    for (const char *split : {"train", "valid", "test"})
      if (const Tensor *nodes = graph->tensors.find(std::string("split.") + split))
        labelText += ", " + groupedDigits(nodes->numElements()) + " " + split;
  }
  progress.update("writing " + command.out, 0, 0, numEdges);
  Status status = saveGraphFile(command.out, std::move(*graph));
  progress.clear();
  if (!status.isOk())
    return watch.stopped() ? stopped() : report(status);

  for (const std::string &warning : summary.warnings)
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  for (const std::string &note : summary.notes)
    std::printf("note: %s\n", note.c_str());
  if (summary.bad > 0) {
    std::printf("skipped %s; the first:\n", withCommas(summary.bad, "bad line", "bad lines").c_str());
    for (const std::string &bad : summary.firstBad)
      std::printf("  %s\n", bad.c_str());
  }
  if (summary.unknownLabels > 0)
    std::printf("skipped %s of nodes that are not in the graph\n",
                withCommas(summary.unknownLabels, "label", "labels").c_str());
  std::printf("%s: %s (%s, %s read)\n", command.out.c_str(),
              describeSizes(numNodes, numNodeTypes, numEdges, numEdgeTypes).c_str(), summary.format.c_str(),
              groupedDigits(summary.items).c_str());
  if (!labelText.empty())
    std::printf("  %s\n", labelText.c_str());
  const double seconds = progress.seconds();
  std::printf("  %.3f s: %.3f to read, %.3f to build, %.3f to write\n", seconds, summary.readSeconds,
              memorySeconds - summary.readSeconds, seconds - memorySeconds);
  return kExitFine;
}

int runCheck(const std::string &path) {
  Result<TensorFile> tensors = readSafetensors(path);
  if (!tensors)
    return report(tensors.status());
  constexpr size_t kMaxShown = 20;
  std::vector<std::string> findings = checkGraph(*tensors, kMaxShown + 1);
  for (size_t i = 0; i < findings.size() && i < kMaxShown; ++i)
    std::fprintf(stderr, "%s: %s\n", path.c_str(), findings[i].c_str());
  if (findings.size() > kMaxShown)
    std::fprintf(stderr, "%s: and more\n", path.c_str());
  if (!findings.empty())
    return kExitUser;
  Result<GraphFile> graph = graphFromTensors(std::move(*tensors), path);
  if (!graph)
    return report(graph.status());
  const Graph &sound = graph->graph;
  std::printf("%s: sound (%s)\n", path.c_str(),
              describeSizes(sound.numNodes(), sound.numNodeTypes(), sound.numEdges(), sound.numRelations()).c_str());
  return kExitFine;
}

}  // namespace

std::function<std::optional<int>()> addDataImportAndCheck(CLI::App &data) {
  auto import = std::make_shared<ImportCommand>();
  auto checkPath = std::make_shared<std::string>();
  CLI::App *importApp = addImport(data, *import);
  CLI::App *checkApp = data.add_subcommand("check", "Says whether a graph file is sound, and what is wrong");
  checkApp->add_option("FILE", *checkPath, "The graph file (.safetensors)")->required();
  checkApp->footer("Example:\n  hector data check aifb.safetensors");
  return [=]() -> std::optional<int> {
    try {
      if (importApp->parsed())
        return runImport(*import);
      if (checkApp->parsed())
        return runCheck(*checkPath);
    } catch (const std::bad_alloc &) {
      return report(Status::failed((importApp->parsed() ? import->out : *checkPath) + ": out of memory"));
    }
    return std::nullopt;
  };
}

}  // namespace hector
