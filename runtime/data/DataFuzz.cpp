/// Feeds arbitrary bytes to one reader (HECTOR_FUZZ_READER says which), then checks what it lets through.
#include "runtime/data/Import.h"
#include "runtime/data/Json.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Pickle.h"

#include <cstdlib>

using namespace hector;

namespace {

void require(bool condition) {
  if (!condition)
    std::abort();
}

/// Takes the next part off `text`: up to a line of dashes, or all.
std::string part(std::string_view &text) {
  constexpr std::string_view kCut = "\n---\n";
  size_t at = text.find(kCut);
  std::string first(text.substr(0, at));
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + kCut.size());
  return first;
}

std::vector<InputFile> files(std::string_view text, std::initializer_list<const char *> names) {
  std::vector<InputFile> all;
  for (const char *name : names) {
    Result<std::vector<InputFile>> more = openMemory(name, part(text));
    if (more)
      all.insert(all.end(), more->begin(), more->end());
  }
  return all;
}

/// An import, and the checks that any graph must pass.
template <class F> void importBy(F importer, const std::vector<InputFile> &inputs, ImportOptions options = {}) {
  if (inputs.empty())
    return;
  constexpr int64_t kAffordable = 1 << 20;
  ImportReport report;
  Watch watch;
  options.rdf.reader.skipBad = inputs[0].bytes.size() % 2 == 0;
  ImportContext context{options, watch, report, 1};
  Result<Imported> imported = importer(inputs, context);
  if (!imported)
    return;
  // A single large id makes a large graph, which is right but slow.
  if (imported->raw.numNodes() > kAffordable || imported->raw.edgeTypes.size() > static_cast<size_t>(kAffordable))
    return;
  AssembleOptions assembly;
  assembly.dropRepeated = true;
  assembly.dropIsolated = inputs[0].bytes.size() % 3 == 0;
  Result<GraphContents> contents = assemble(std::move(imported->raw), assembly, watch);
  if (contents)
    require(checkGraph(*contents).empty());
}

[[maybe_unused]] void fuzz_ntriples(std::string_view text) {
  for (bool multiline : {false, true}) {
    NTriplesOptions options{.skipBad = true, .multiline = multiline};
    options.anyIri = text.size() % 2 == 0;
    ParsedTriples whole = parseNTriples(text, options);
    require(whole.terms.size() % 3 == 0);
    // The spelling is stable: what was read reads as itself.
    std::string again;
    for (size_t i = 0; i < whole.terms.size(); ++i)
      again += std::string(whole.terms[i].view()) + (i % 3 == 2 ? " .\n" : " ");
    ParsedTriples second = parseNTriples(again, {.anyIri = options.anyIri});
    require(second.bad.empty() && second.terms.size() == whole.terms.size());
    for (size_t i = 0; i < whole.terms.size(); ++i)
      require(second.terms[i].view() == whole.terms[i].view());
    // Blocks change nothing.
    if (multiline)
      continue;
    Result<std::vector<InputFile>> file = openMemory("a", "#\n" + std::string(text));
    require(file.isOk());
    options.blockBytes = 5;
    ReadStats stats;
    size_t at = 0;
    Status status = readNTriples(file->at(0), options, {}, stats, [&](std::span<const HashedText> terms) {
      for (HashedText term : terms)
        require(at < whole.terms.size() && term.view() == whole.terms[at++].view());
      return Status::ok();
    });
    require(status.isOk() && at == whole.terms.size() && stats.bad == whole.numBad);
  }
}

[[maybe_unused]] void fuzz_input(std::string_view text) {
  Result<std::vector<InputFile>> opened = openMemory("a", std::string(text));
  if (!opened)
    return;
  for (const InputFile &file : *opened) {
    constexpr uint64_t kLimit = 1 << 22;
    Result<std::string> whole = readWhole(file, kLimit);
    BlockReader reader(file, 64);
    std::string joined;
    for (;;) {
      Result<Block> block = reader.next();
      if (!block || block->text.empty() || joined.size() > kLimit)
        break;
      joined += block->text;
    }
    if (whole && !whole->starts_with("\xff\xfe") && !whole->starts_with("\xfe\xff"))
      require(joined == *whole);
  }
}

[[maybe_unused]] void fuzz_triples(std::string_view text) {
  ImportOptions options;
  if (text.size() % 2)
    options.order = "hrt";
  importBy(importTriples, files(text, {"train.txt", "relation2id.txt", "labels.csv", "test.txt"}), options);
}

[[maybe_unused]] void fuzz_edges(std::string_view text) {
  importBy(importEdges, files(text, {"a.txt"}));
}

[[maybe_unused]] void fuzz_labels(std::string_view text) {
  std::vector<LabelFile> labels;
  for (const InputFile &file : files(text, {"train.tsv", "all.csv"}))
    labels.push_back({file, splitOfName(file.base())});
  RawGraph raw;
  std::vector<std::string> notes;
  Result<int64_t> unknown = readLabels(
      labels, {.nodeColumn = "", .labelColumn = "", .skipUnknown = true},
      [](std::string_view name) { return name.size() == 1 ? static_cast<uint32_t>(name[0]) & 127 : UINT32_MAX; }, raw,
      notes);
  if (!unknown)
    return;
  for (const Label &label : raw.labels)
    require(label.label >= 0 && label.label < static_cast<int64_t>(raw.labelNames.size()));
}

[[maybe_unused]] void fuzz_hgb(std::string_view text) {
  importBy(importHgb, files(text, {"node.dat", "link.dat", "label.dat", "info.dat", "label.dat.test"}));
}

[[maybe_unused]] void fuzz_ogb(std::string_view text) {
  importBy(importOgb, files(text, {"relations/a___r___b/edge.csv", "num-node-dict.csv", "node-feat/a/node-feat.csv",
                                   "node-label/b/node-label.csv", "split/s/b/train.csv"}));
}

[[maybe_unused]] void fuzz_npy(std::string_view text) {
  if (Result<Tensor> tensor = parseNpy(std::string(text), "a"))
    require(tensor->toDoubles().size() == static_cast<size_t>(tensor->numElements()));
}

[[maybe_unused]] void fuzz_json(std::string_view text) {
  if (Result<JsonValue> json = parseJson(text, "a"))
    require(json->line >= 1 && json->column >= 1);
}

[[maybe_unused]] void fuzz_pickle(std::string_view text) {
  if (Result<Pickle> pickle = parsePickle(text, "a"))
    (void)pickleArray(*pickle->root, "a");
}

[[maybe_unused]] void fuzz_planetoid(std::string_view text) {
  importBy(importPlanetoid, files(text, {"ind.a.graph", "ind.a.test.index", "ind.a.allx", "ind.a.tx", "ind.a.y",
                                         "ind.a.ally", "ind.a.ty"}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of its own on the heap, so that the sanitizer sees reads past the end.
  std::vector<char> bytes(data, data + size);
  HECTOR_FUZZ_READER(std::string_view(bytes.data(), bytes.size()));
  return 0;
}
