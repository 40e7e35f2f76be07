/// Reads a graph from any of the supported formats: the one call behind `hector data import`.
#pragma once

#include "runtime/data/Assemble.h"
#include "runtime/data/Labels.h"
#include "runtime/data/Rdf.h"

#include <cstdint>
#include <optional>

namespace hector {

enum class GraphFormat { Detect, Rdf, Triples, Edges, Hgb, Ogb, Planetoid };

struct ImportOptions {
  std::vector<std::string> inputs;  // files, folders, zip archives
  GraphFormat format = GraphFormat::Detect;
  std::string preset;  // a name of `presetNames`, or empty
  RdfOptions rdf;
  LabelOptions labels;
  std::vector<std::string> labelFiles, trainFiles, validFiles, testFiles;
  std::string order;                   // columns of triples: hrt, htr, rht; empty: detected
  std::vector<std::string> relations;  // `NAME=SOURCE:DESTINATION`: the types that an array of edges joins
  std::optional<bool> inverses;        // by default yes, but where the input has them
  std::optional<bool> dropRepeated;    // by default for RDF, which is a set of triples
  bool dropIsolated = false;
  bool names = true;
  bool features = true;
  int threads = 0;  // 0: as many as the machine has
};

/// What was read and left out, for people.
struct ImportReport {
  std::string format;
  int64_t items = 0;       // triples, rows, edges read
  double readSeconds = 0;  // for the graph's own files, until names had numbers
  int64_t bad = 0;
  std::vector<std::string> firstBad;
  int64_t unknownLabels = 0;
  std::vector<std::string> notes;     // what was decided or left out
  std::vector<std::string> warnings;  // what is probably not meant
};

/// What it returns passes `checkGraph`.
Result<GraphContents> importGraph(const ImportOptions &options, const Watch &watch, ImportReport &report);

/// Sets of rules by name, and what they do in a sentence.
struct Preset {
  std::string_view name;
  std::string_view summary;
};
std::span<const Preset> presets();

/// One importer a format. `files` are those of all inputs; label files are not among them.
struct ImportContext {
  const ImportOptions &options;
  const Watch &watch;
  ImportReport &report;
  int threads;
};
/// What an importer made, and what it wants of `assemble` where the user has no wish.
struct Imported {
  RawGraph raw;
  bool inversesByDefault = true;
  bool dropRepeatedByDefault = false;
  std::function<uint32_t(std::string_view)> find;  // a node by name, for label files; null: labels are in `raw`
};
Result<Imported> importTriples(const std::vector<InputFile> &files, const ImportContext &context);
Result<Imported> importEdges(const std::vector<InputFile> &files, const ImportContext &context);
Result<Imported> importHgb(const std::vector<InputFile> &files, const ImportContext &context);
Result<Imported> importOgb(const std::vector<InputFile> &files, const ImportContext &context);
Result<Imported> importPlanetoid(const std::vector<InputFile> &files, const ImportContext &context);

}  // namespace hector
