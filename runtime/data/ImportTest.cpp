/// Whole imports: formats and rules on small inputs, counts on real ones.
#include "runtime/data/Import.h"

#include "runtime/data/Serd.h"
#include "runtime/data/TestFiles.h"

#include <cstring>
#include <limits>
#include <map>
#include <set>

using namespace hector;
using namespace hector::test;

namespace {

Result<GraphFile> import(ImportOptions options, ImportReport *report = nullptr) {
  ImportReport own;
  Result<GraphContents> contents = importGraph(options, {}, report ? *report : own);
  if (!contents)
    return contents.status();
  // Through the file and back: what was written is read equal.
  Folder folder;
  const std::string path = folder.at("graph.safetensors");
  if (Status status = saveGraphFile(path, *contents); !status.isOk())
    return status;
  Result<TensorFile> read = readSafetensors(path);
  if (!read)
    return read.status();
  EXPECT_EQ(checkGraph(*read), std::vector<std::string>{});
  for (const auto &[name, tensor] : contents->tensors.tensors) {
    const Tensor *other = read->find(name);
    if (!other || other->shape != tensor.shape || other->dtype != tensor.dtype ||
        (tensor.numBytes() > 0 && std::memcmp(other->bytes, tensor.bytes, tensor.numBytes()) != 0))
      ADD_FAILURE() << name << " was not read back equal";
  }
  return loadGraphFile(path);
}

struct Counts {
  int64_t nodes, edges, relations;
  bool operator==(const Counts &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Counts &c) {
  return out << c.nodes << " nodes, " << c.edges << " edges, " << c.relations << " relations";
}

Counts countsOf(const Result<GraphFile> &file) {
  if (!file) {
    ADD_FAILURE() << errorOf(file);
    return {};
  }
  return {file->graph.numNodes(), file->graph.numEdges(), file->graph.numRelations()};
}

/// Edges as text: "src -relation-> dst", in order.
std::vector<std::string> edgesOf(const GraphFile &file) {
  std::vector<std::string> edges;
  for (int64_t e = 0; e < file.graph.numEdges(); ++e)
    edges.push_back(std::string(file.nodeName(file.graph.src()[e])) + " " +
                    file.edgeTypes[static_cast<size_t>(file.graph.etype()[e])].name + " " +
                    std::string(file.nodeName(file.graph.dst()[e])));
  return edges;
}

using Texts = std::vector<std::string>;

std::string errorOfImport(const std::string &name, const std::string &text, ImportOptions options = {}) {
  Folder folder;
  options.inputs = {folder.write(name, text)};
  std::string message = errorOf(import(options));
  // Without the folder, which differs from run to run.
  for (size_t at; (at = message.find(folder.path + "/")) != std::string::npos;)
    message.erase(at, folder.path.size() + 1);
  return message;
}

const std::string kType = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
const std::string kPeople = "<http://e/ann> " + kType + " <http://e/Person> .\n" +  //
                            "<http://e/ann> " + kType + " <http://e/Student> .\n" + "<http://e/bob> " + kType +
                            " <http://e/Person> .\n" + "<http://e/ann> <http://e/knows> <http://e/bob> .\n" +
                            "<http://e/ann> <http://e/knows> <http://e/bob> .\n" +
                            "<http://e/bob> <http://e/age> \"7\" .\n" + "_:b <http://e/knows> <http://e/ann> .\n" +
                            "<http://e/bob> <http://e/works> <http://e/acme> .\n";

ImportOptions withRules(NodeRules rules) {
  ImportOptions options;
  options.rdf.rules = rules;
  options.inverses = false;
  return options;
}

Result<GraphFile> importText(const std::string &name, const std::string &text, ImportOptions options,
                             ImportReport *report = nullptr) {
  Folder folder;
  options.inputs = {folder.write(name, text)};
  return import(options, report);
}

}  // namespace

// RDF rules.

TEST(RdfImport, EveryTermIsANode) {
  Result<GraphFile> file = importText("a.nt", kPeople, withRules(NodeRules::Terms));
  EXPECT_EQ(countsOf(file), (Counts{7, 7, 4}));
  EXPECT_EQ(file->nodeTypes, Texts{"node"});
  EXPECT_EQ(edgesOf(*file).at(3), "http://e/ann knows http://e/bob");
  EXPECT_EQ(file->source, "a.nt");
}

TEST(RdfImport, RepeatedTriplesAreOneEdgeUnlessKept) {
  ImportOptions options = withRules(NodeRules::Terms);
  options.dropRepeated = false;
  EXPECT_EQ(countsOf(importText("a.nt", kPeople, options)), (Counts{7, 8, 4}));
}

TEST(RdfImport, LiteralsAndBlankNodesMayBeDropped) {
  ImportOptions options = withRules(NodeRules::Terms);
  options.rdf.keepLiterals = false;
  options.rdf.keepBlanks = false;
  EXPECT_EQ(countsOf(importText("a.nt", kPeople, options)), (Counts{5, 5, 3}));
}

TEST(RdfImport, TypesComeFromRdfType) {
  Result<GraphFile> file = importText("a.nt", kPeople, withRules(NodeRules::Types));
  EXPECT_EQ(countsOf(file), (Counts{4, 3, 3}));
  // Ann is a Student, the rarer of her types; Acme has none.
  EXPECT_EQ(file->nodeTypes, (Texts{"Student", "Person", "literal", "untyped"}));
  EXPECT_EQ(file->edgeTypes.at(0), (EdgeType{"knows", "Student", "Person"}));
  EXPECT_EQ(file->edgeTypes.at(1), (EdgeType{"age", "Person", "literal"}));
}

TEST(RdfImport, RelationsMayDisregardTypes) {
  ImportOptions options = withRules(NodeRules::Types);
  options.rdf.typedEdges = false;
  options.rdf.keepBlanks = true;
  Result<GraphFile> file = importText("a.nt", kPeople, options);
  EXPECT_EQ(countsOf(file), (Counts{5, 4, 3}));
  EXPECT_EQ(file->edgeTypes.at(0), (EdgeType{"knows", "", ""}));
}

TEST(RdfImport, PatternsNameAndTypeNodes) {
  ImportOptions options = withRules(NodeRules::Terms);
  options.rdf.nodePatterns = {"who=http://e/[ab]*", "?=http://e/*"};
  options.rdf.rangePatterns = {"class=http://www.w3.org/*"};
  Result<GraphFile> file = importText("a.nt", kPeople, options);
  // acme matches the first pattern; classes are what rdf:type leads to.
  EXPECT_EQ(countsOf(file), (Counts{6, 6, 4}));
  EXPECT_EQ(file->nodeTypes, (Texts{"who", "class", "literal"}));
}

TEST(RdfImport, PredicatesMayBeRemoved) {
  ImportOptions options = withRules(NodeRules::Terms);
  options.rdf.removePredicates = {"age", "http://e/works", kType.substr(1, kType.size() - 2)};
  EXPECT_EQ(countsOf(importText("a.nt", kPeople, options)), (Counts{3, 2, 1}));
}

TEST(RdfImport, InverseRelationsComeLast) {
  ImportOptions options = withRules(NodeRules::Types);
  options.inverses.reset();
  Result<GraphFile> file = importText("a.nt", kPeople, options);
  EXPECT_EQ(countsOf(file), (Counts{4, 6, 6}));
  EXPECT_EQ(file->edgeTypes.at(3), (EdgeType{"rev-knows", "Person", "Student", 0}));
  EXPECT_EQ(edgesOf(*file).at(3), "http://e/bob rev-knows http://e/ann");
}

TEST(RdfImport, BlankNodesBelongToTheirFile) {
  Folder folder;
  folder.write("a.nt", "_:x <http://e/p> <http://e/o> .\n");
  folder.write("b.nt", "_:x <http://e/p> <http://e/o> .\n");
  ImportOptions options = withRules(NodeRules::Terms);
  options.inputs = {folder.path};
  EXPECT_EQ(countsOf(import(options)), (Counts{3, 2, 1}));
}

TEST(RdfImport, LabelsBesideTheGraphAreRead) {
  Folder folder;
  folder.write("a.nt.gz", gzipped(kPeople));
  folder.write("trainingSet.tsv", "person\tlabel\nhttp://e/ann\tx\n");
  folder.write("testSet.tsv", "person\tlabel\nhttp://e/bob\ty\n");
  ImportOptions options = withRules(NodeRules::Types);
  options.inputs = {folder.path};
  Result<GraphFile> file = import(options);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->labelNames, (Texts{"x", "y"}));
  ASSERT_EQ(file->tensors.find("split.test")->numElements(), 1);
  EXPECT_EQ(file->nodeName(file->tensors.find("split.test")->intAt(0)), "http://e/bob");
}

TEST(RdfImport, TurtleIsReadBySerd) {
  if (!haveSerd())
    GTEST_SKIP() << "libserd-0.so.0 is not installed";
  EXPECT_EQ(
      countsOf(importText("a.ttl", "@prefix e: <http://e/> .\ne:a e:p e:b , e:c .\n", withRules(NodeRules::Terms))),
      (Counts{3, 2, 1}));
}

TEST(RdfImport, ThreadsChangeNothing) {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += "<http://e/" + std::to_string(i * 7919 % 1000) + "> <http://e/p" + std::to_string(i % 3) + "> <http://e/" +
            std::to_string(i * 104729 % 1777) + "> .\n";
  ImportOptions options;
  options.threads = 1;
  Result<GraphFile> one = importText("a.nt", text, options);
  options.threads = 3;
  Result<GraphFile> three = importText("a.nt", text, options);
  ASSERT_TRUE(one && three);
  EXPECT_EQ(edgesOf(*one), edgesOf(*three));
}

TEST(RdfImport, NoTriplesAreAnEmptyGraph) {
  EXPECT_EQ(countsOf(importText("a.nt", "# nothing\n", withRules(NodeRules::Terms))), (Counts{0, 0, 0}));
}

TEST(RdfImport, FilesWithoutTriplesAreWarnedOf) {
  Folder folder;
  folder.write("a.nt", "<s:s> <p:p> <o:o> .\n");
  folder.write("b.nt.gz", gzipped(""));
  ImportOptions options = withRules(NodeRules::Terms);
  options.inputs = {folder.path};
  ImportReport report;
  EXPECT_EQ(countsOf(import(options, &report)), (Counts{2, 1, 1}));
  EXPECT_EQ(report.warnings,
            Texts{folder.at("b.nt.gz") + ": is empty once unpacked; expected triples: is it complete?"});
  ImportReport comments;
  ASSERT_TRUE(importText("a.nt", "# nothing\n", options, &comments));
  ASSERT_EQ(comments.warnings.size(), 1u);
  EXPECT_TRUE(comments.warnings[0].ends_with("a.nt: has no triples; the graph is empty"));
}

TEST(RdfError, EmptyFiles) {
  EXPECT_EQ(errorOfImport("a.nt.gz", ""), "a.nt.gz: is empty (0 bytes); expected triples: is it complete?");
  EXPECT_EQ(errorOfImport("a.nt.gz", gzipped("")),
            "a.nt.gz: is empty once unpacked; expected triples: is it complete?");
  EXPECT_EQ(errorOfImport("a.nt", "", withRules(NodeRules::Types)),
            "a.nt: is empty (0 bytes); expected triples: is it complete?");
}

TEST(RdfError, LiteralsThatNeverEndInTurtle) {
  if (!haveSerd())
    GTEST_SKIP() << "libserd-0.so.0 is not installed";
  const std::string text = "<s:s> <p:p> <o:o> .\n<s:s> <p:p> \"" + std::string(BlockReader::kMaxLine + (1 << 18), 'x');
  EXPECT_EQ(errorOfImport("a.ttl.gz", gzipped(text)), "a.ttl.gz:2: no triple ends within 256.0 MiB, the most "
                                                      "supported; is a closing `\"` or `>` missing?");
}

TEST(RdfError, Words) {
  ImportOptions options;
  options.rdf.rules = NodeRules::Types;
  EXPECT_EQ(errorOfImport("a.nt", "<s:s> <p:p> <o:o> .\n", options),
            "no triple has the predicate rdf:type, from which the nodes' types were to come; use --rules terms or "
            "--nodes");
  options = {};
  options.rdf.removePredicates = {"q"};
  EXPECT_EQ(errorOfImport("a.nt", "<s:s> <p:p> <o:o> .\n", options),
            "no triple has the predicate `q`, which is to be removed");
  options = {};
  options.preset = "none";
  EXPECT_EQ(errorOfImport("a.nt", "", options), "there is no preset `none`; there are dgl-aifb, dgl-mutag");
  options = {};
  options.rdf.nodePatterns = {"http://e/*"};
  EXPECT_EQ(errorOfImport("a.nt", "", options),
            "the rule `http://e/*` gives no type; expected `TYPE=PATTERN` or a pattern with {type}");
}

// Triples in text.

TEST(TriplesImport, EveryOrderIsDetected) {
  struct Case {
    const char *format;
    std::string order;
  };
  for (size_t order = 0; order < 3; ++order) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      const std::string h = "e" + std::to_string(i % 30), r = "r" + std::to_string(i % 3),
                        t = "e" + std::to_string(i * 7 % 30);
      text += order == 0 ? h + "\t" + r + "\t" + t : order == 1 ? h + "\t" + t + "\t" + r : r + "\t" + h + "\t" + t;
      text += "\n";
    }
    Result<GraphFile> file = importText("a.txt", text, {});
    EXPECT_EQ(countsOf(file), (Counts{30, 120, 6}));
    EXPECT_EQ(edgesOf(*file).at(0), "e0 r0 e0");
    EXPECT_EQ(edgesOf(*file).at(1), "e3 r0 e21");
  }
}

TEST(TriplesImport, OrderMayBeGiven) {
  ImportOptions options;
  options.order = "rht";
  options.inverses = false;
  Result<GraphFile> file = importText("a.txt", "x y z\n", options);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(edgesOf(*file), Texts{"y x z"});
}

TEST(TriplesImport, IdsCountLinesAndDictionaries) {
  Folder folder;
  folder.write("train2id.txt", "3\r\n0 1 0\r\n1 2 1\r\n2 0 0\r\n");
  folder.write("test2id.txt", "1\n0 2 1\n");
  folder.write("relation2id.txt", "3\nlikes\t0\nknows\t1\nunused\t2\n");
  folder.write("entity2id.txt", "4\na\t0\nb\t1\nc\t2\nd\t3\n");
  ImportOptions options;
  options.inputs = {folder.path};
  options.order = "htr";
  options.inverses = false;
  Result<GraphFile> file = import(options);
  EXPECT_EQ(countsOf(file), (Counts{4, 4, 3}));
  EXPECT_EQ(edgesOf(*file), (Texts{"a likes b", "c likes a", "b knows c", "a knows c"}));
  EXPECT_EQ(file->tensors.find("edge.split")->intAt(3), 2);
  EXPECT_EQ(file->tensors.find("edge.split")->intAt(2), 0);
}

TEST(TriplesImport, TablesOfTwoColumnsAreLabels) {
  Folder folder;
  folder.write("triples.csv", "0, 0, 1\n1, 1, 2\n");
  folder.write("training.csv", "1,7\n");
  ImportOptions options;
  options.inputs = {folder.path};
  options.order = "hrt";
  Result<GraphFile> file = import(options);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->tensors.find("label")->intAt(0), 7);
  EXPECT_EQ(file->tensors.find("split.train")->intAt(0), 1);
}

TEST(TriplesImport, TriplesWithoutASplitAreLeftOutBesideSplits) {
  Folder folder;
  folder.write("1-1.txt", "1\nc likes a\n");
  folder.write("train.txt", "a likes b\nb likes c\n");
  folder.write("test.txt", "c likes a\n");
  ImportOptions options;
  options.inputs = {folder.path};
  options.order = "hrt";
  options.inverses = false;
  ImportReport report;
  Result<GraphFile> file = import(options, &report);
  EXPECT_EQ(countsOf(file), (Counts{3, 3, 1}));
  ASSERT_TRUE(file && file->tensors.find("edge.split"));
  EXPECT_EQ(file->tensors.find("edge.split")->toDoubles(), (std::vector<double>{0, 0, 2}));
  EXPECT_EQ(report.notes, Texts{folder.at("1-1.txt") +
                                " was left out: its name gives no split (train, valid or test), "
                                "but that of " +
                                folder.at("test.txt") + " does"});
}

TEST(TriplesError, GivenTriplesWithoutASplitBesideSplits) {
  Folder folder;
  ImportOptions options;
  options.inputs = {folder.write("train.txt", "a likes b\n"), folder.write("more.txt", "b likes a\n")};
  options.order = "hrt";
  EXPECT_EQ(errorOf(import(options)), folder.at("more.txt") + ": its name gives no split, but that of " +
                                          folder.at("train.txt") +
                                          " does; expected one of train, valid and test in the name of each file of "
                                          "triples");
}

TEST(TriplesImport, HeadersOverNamesAreNoted) {
  ImportOptions options;
  options.inverses = false;
  ImportReport report;
  Result<GraphFile> file = importText("a.csv", "head,relation,tail\nann,likes,bob\nbob,likes,ann\n", options, &report);
  EXPECT_EQ(countsOf(file), (Counts{2, 2, 1}));
  ASSERT_FALSE(report.notes.empty());
  EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(), [](const std::string &note) {
    return note.ends_with("a.csv:1: `head,relation,tail` was taken as a header, not as a row");
  }));
}

TEST(TriplesImport, FieldsMayStandInQuotes) {
  ImportOptions options;
  options.order = "hrt";
  options.inverses = false;
  const std::string text = "\"a\",\"r\",\"b, \"\"the\"\" b\"\r\n \"b, \"\"the\"\" b\" , r,a\n5\" pipe,r,a\n";
  Result<GraphFile> file = importText("a.csv", text, options);
  EXPECT_EQ(countsOf(file), (Counts{3, 3, 1}));
  EXPECT_EQ(edgesOf(*file), (Texts{"a r b, \"the\" b", "b, \"the\" b r a", "5\" pipe r a"}));
  EXPECT_EQ(countsOf(importText("a.csv", "\"0\",\"0\",\"3\"\n", options)), (Counts{4, 1, 1}));
  // Between tabs they are part of the name.
  file = importText("a.tsv", "\"a\"\tr\tb\n", options);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(edgesOf(*file), Texts{"\"a\" r b"});
}

TEST(TriplesImport, QuotesAreReadByEveryThread) {
  std::string plain, quoted;
  for (int i = 0; i < 100'000; ++i) {
    const std::string h = std::to_string(i % 5000), t = std::to_string(i * 7 % 5000);
    plain += "node" + h + "\",likes,node" + t + "\"\n";
    quoted += "\"node" + h + "\"\"\",\"likes\",\"node" + t + "\"\"\"\n";
  }
  ImportOptions options;
  options.threads = 3;
  Result<GraphFile> one = importText("a.csv", plain, options), other = importText("a.csv", quoted, options);
  ASSERT_TRUE(one && other) << errorOf(one) << errorOf(other);
  EXPECT_EQ(countsOf(one), (Counts{5000, 200'000, 2}));
  EXPECT_EQ(edgesOf(*one), edgesOf(*other));
}

TEST(TriplesError, QuotesThatDoNotClose) {
  ImportOptions options;
  options.order = "hrt";
  for (const char *row : {"\"a,r,b", "\"a\" x,r,b", "a,r,\"b\"\""})
    EXPECT_EQ(errorOfImport("a.csv", "a,r,b\na,r,c\n" + std::string(row) + "\n", options),
              "a.csv:3: found `" + std::string(row) +
                  "`; expected a field that starts with `\"` to end with `\"` in the same line, and quotes inside it "
                  "doubled");
  for (const char *row : {"\"a\",\"r\"", "\"a\",r,\"b\",", "\"a\",r,\"\""})
    EXPECT_EQ(errorOfImport("a.csv", "a,r,b\na,r,c\n" + std::string(row) + "\n", options),
              "a.csv:3: found `" + std::string(row) + "`; expected 3 fields separated by commas");
}

TEST(TriplesImport, FirstRowsWithNumbersAreKept) {
  ImportOptions options;
  options.order = "htr";
  options.inverses = false;
  ImportReport report;
  EXPECT_EQ(countsOf(importText("a.txt", "0 1 -1\n0 2 0\n1 2 0\n", options, &report)), (Counts{3, 3, 2}));
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(report.notes[0].ends_with("a.txt:1: `-1` is not a whole number from 0, so all fields were read as names"))
      << report.notes[0];
}

TEST(TriplesImport, HeadersOfDictionariesAreNoted) {
  Folder folder;
  folder.write("train.txt", "0 1 0\n");
  folder.write("relation2id.txt", "name\tid\nlikes\t0\n");
  ImportOptions options;
  options.inputs = {folder.path};
  options.order = "htr";
  ImportReport report;
  Result<GraphFile> file = import(options, &report);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->edgeTypes.at(0).name, "likes");
  EXPECT_EQ(report.notes, Texts{folder.at("relation2id.txt") + ":1: `name\\tid` was taken as a header, not as a row"});
}

TEST(TriplesImport, FilesWithoutRowsAreWarnedOf) {
  Folder folder;
  folder.write("test.txt", "");
  folder.write("train.txt", "a likes b\nb likes c\nc likes a\n");
  folder.write("valid.txt", "\n\n");
  ImportOptions options;
  options.inputs = {folder.path};
  options.inverses = false;
  ImportReport report;
  EXPECT_EQ(countsOf(import(options, &report)), (Counts{3, 3, 1}));
  EXPECT_EQ(report.warnings, (Texts{folder.at("test.txt") + ": has no rows; expected triples: is it complete?",
                                    folder.at("valid.txt") + ": has no rows; expected triples: is it complete?"}));
}

TEST(TriplesError, NothingButFilesWithoutRows) {
  Folder folder;
  folder.write("train.txt", "\n");
  folder.write("valid.txt", "");
  ImportOptions options;
  options.inputs = {folder.path};
  EXPECT_EQ(errorOf(import(options)), folder.at("train.txt") + ": has no rows; expected a graph");
  options.format = GraphFormat::Triples;
  EXPECT_EQ(errorOf(import(options)), folder.at("train.txt") + ": has no rows; expected triples: is it complete?");
}

TEST(TriplesImport, WrongOrderIsWarnedOf) {
  ImportOptions options;
  options.order = "htr";
  ImportReport report;
  ASSERT_TRUE(importText("a.txt", "ann likes bob\nann likes cid\nann likes dan\n", options, &report));
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_TRUE(report.warnings[0].ends_with(
      "a.txt: with --order htr the graph has 3 relations for 2 nodes; the columns look like --order hrt, which reads "
      "the first row as head `ann`, relation `likes`, tail `bob`"))
      << report.warnings[0];
}

TEST(TriplesImport, OrderThatNamesContradictIsWarnedOf) {
  ImportOptions options;
  options.order = "rht";
  ImportReport report;
  ASSERT_TRUE(importText("a.txt", "ann likes bob\nbob likes cid\ncid knows ann\n", options, &report));
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("the columns look like --order hrt"), std::string::npos) << report.warnings[0];
}

TEST(TriplesImport, RightOrderIsNotWarnedOf) {
  ImportOptions options;
  options.order = "hrt";
  ImportReport report;
  // As many relations as nodes.
  ASSERT_TRUE(importText("a.txt", "ann likes bob\nbob knows ann\n", options, &report));
  EXPECT_EQ(report.warnings, Texts{});
}

TEST(TriplesError, NameOfAnInverseThatIsTaken) {
  ImportOptions options;
  options.order = "hrt";
  const std::string text = "a p b\nb rev-p c\n";
  EXPECT_EQ(errorOfImport("a.txt", text, options),
            "a.txt: the inverse of the relation `p` would be called `rev-p`, but the input has a relation `rev-p` "
            "already; give --no-inverses where the input has its inverses, or rename one of the two");
  options.inverses = false;
  EXPECT_EQ(countsOf(importText("a.txt", text, options)), (Counts{3, 2, 2}));
}

TEST(TriplesError, EmptyFieldsInTheFirstRow) {
  ImportOptions options;
  options.order = "hrt";
  EXPECT_EQ(errorOfImport("a.csv", "1,,3\n1,2,3\n4,5,6\n", options),
            "a.csv:1: found `1,,3`; expected 3 fields separated by commas");
}

TEST(TriplesError, AmbiguousOrderShowsBothReadings) {
  EXPECT_EQ(errorOfImport("a.txt", "1 2 3\n4 5 6\n"),
            "a.txt: which column holds the relations is not clear: the first has 2 different values, the second 2, the "
            "third 2. The first row reads as hrt: head `1`, relation `2`, tail `3`; or as htr: head `1`, relation `3`, "
            "tail `2`. Give --order hrt or --order htr");
}

TEST(TriplesError, CountLineThatIsWrong) {
  ImportOptions options;
  options.order = "hrt";
  EXPECT_EQ(errorOfImport("a.txt", "3\n1 2 3\n4 5 6\n", options),
            "a.txt:1: says that 3 triples follow, but 2 do; the file may be incomplete");
}

TEST(TriplesError, RowsThatDoNotFit) {
  ImportOptions options;
  options.order = "hrt";
  std::string many;
  for (int i = 0; i < 300; ++i)
    many += "1 2 3\n";
  EXPECT_EQ(errorOfImport("a.txt", "1 2 3\n4 5\n", options),
            "a.txt:2: found `4 5`; expected 3 fields separated by spaces");
  EXPECT_EQ(errorOfImport("a.txt", many + "1 x 3\n", options),
            "a.txt:301: found `x`; expected a whole number, as in the rows before");
  options.rdf.reader.skipBad = true;
  ImportReport report;
  EXPECT_EQ(countsOf(importText("a.txt", many + "1 x 3\n", options, &report)), (Counts{4, 600, 6}));
  EXPECT_EQ(report.bad, 1);
}

TEST(TriplesError, NamesWithTwoIds) {
  for (const char *name : {"entity2id.txt", "relation2id.txt"}) {
    Folder folder;
    folder.write("train2id.txt", "0 1 0\n1 0 0\n");
    folder.write(name, "2\na\t0\na\t1\n");
    ImportOptions options;
    options.inputs = {folder.path};
    options.order = "htr";
    EXPECT_EQ(errorOf(import(options)),
              folder.at(name) + ":3: `a` has the id 1, but in line 2 it has the id 0; expected each name once");
  }
}

TEST(TriplesError, RelationWithoutName) {
  Folder folder;
  folder.write("train.txt", "0 1 5\n");
  folder.write("relation2id.txt", "1\nlikes\t0\n");
  ImportOptions options;
  options.inputs = {folder.path};
  options.order = "htr";
  EXPECT_EQ(errorOf(import(options)),
            "a triple has the relation 5, but the relations' names are 1, numbered from 0 (is "
            "--order right?)");
}

// Lists of edges.

TEST(EdgesImport, NamesAndIds) {
  EXPECT_EQ(countsOf(importText("a.txt", "0 1\n1 5\n", {})), (Counts{6, 4, 2}));
  ImportOptions options;
  options.inverses = false;
  Result<GraphFile> file = importText("a.csv", "a,b\nb,c\n", options);
  EXPECT_EQ(countsOf(file), (Counts{3, 2, 1}));
  EXPECT_EQ(edgesOf(*file), (Texts{"a edge b", "b edge c"}));
}

TEST(EdgesImport, FieldsMayStandInQuotes) {
  ImportOptions options;
  options.inverses = false;
  Result<GraphFile> file = importText("a.csv", "\"from\",\"to\"\n\"a\",b\nb,\"c,d\"\n", options);
  EXPECT_EQ(countsOf(file), (Counts{3, 2, 1}));
  EXPECT_EQ(edgesOf(*file), (Texts{"a edge b", "b edge c,d"}));
}

TEST(EdgesImport, FirstRowsWithNumbersAreKept) {
  ImportOptions options;
  options.inverses = false;
  EXPECT_EQ(countsOf(importText("a.txt", "5 6.0\n1 2\n3 4\n", options)), (Counts{6, 3, 1}));
}

TEST(EdgesImport, NumbersReadAsNamesAreNoted) {
  ImportReport report;
  ASSERT_TRUE(importText("a.txt", "5 6.0\n1 2\n", {}, &report));
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(
      report.notes[0].ends_with("a.txt:1: `6.0` is not a whole number from 0, so all fields were read as names"))
      << report.notes[0];
  ImportReport names;
  ASSERT_TRUE(importText("a.txt", "ann bob\nbob eve\n", {}, &names));
  EXPECT_EQ(names.notes, Texts{});
}

TEST(EdgesImport, FilesWithoutRowsAreWarnedOf) {
  Folder folder;
  ImportOptions options;
  options.inputs = {folder.write("a.txt", "0 1\n1 2\n"), folder.write("b.txt", "")};
  options.format = GraphFormat::Edges;
  options.inverses = false;
  ImportReport report;
  EXPECT_EQ(countsOf(import(options, &report)), (Counts{3, 2, 1}));
  EXPECT_EQ(report.warnings, Texts{folder.at("b.txt") + ": has no rows; expected edges: is it complete?"});
}

TEST(EdgesImport, HeadersAreNoted) {
  ImportOptions options;
  options.inverses = false;
  ImportReport report;
  EXPECT_EQ(countsOf(importText("a.csv", "source,target\n0,1\n1,2\n", options, &report)), (Counts{3, 2, 1}));
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(report.notes[0].ends_with("a.csv:1: `source,target` was taken as a header, not as a row"));
}

// HGB.

namespace {

/// An HGB folder with two authors (0, 1) and a paper (2) that the first one wrote, but for the files given.
Result<GraphFile> importHgbFolder(std::map<std::string, std::string> files, std::string *message = nullptr) {
  Folder folder;
  files.emplace("node.dat", "0\tann\t0\n1\tbob\t0\n2\tp\t1\n");
  files.emplace("link.dat", "0\t2\t0\t1.0\n");
  for (const auto &[name, text] : files)
    folder.write(name, text);
  ImportOptions options;
  options.inputs = {folder.path};
  Result<GraphFile> file = import(options);
  if (message) {
    *message = errorOf(file);
    for (size_t at; (at = message->find(folder.path + "/")) != std::string::npos;)
      message->erase(at, folder.path.size() + 1);
  }
  return file;
}

std::string errorOfHgb(std::map<std::string, std::string> files) {
  std::string message;
  EXPECT_FALSE(importHgbFolder(std::move(files), &message));
  return message;
}

const std::string kHgbInfo = "{\"node.dat\": {\"node type\": {\"0\": \"author\", \"1\": \"paper\"}},\n"
                             " \"link.dat\": {\"link type\": {\"0\": {\"start\": 0, \"end\": 1, "
                             "\"meaning\": \"writes\", \"weight\": NaN}}}}\n";

}  // namespace

TEST(HgbImport, InfoAsPythonWritesIt) {
  Result<GraphFile> file = importHgbFolder({{"info.dat", kHgbInfo}});
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->edgeTypes.at(0), (EdgeType{"writes", "author", "paper"}));
  file = importHgbFolder({{"info.dat", R"({"node.dat": {"node type": {"0": NaN, "1": -Infinity}}, "x": Infinity})"}});
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->nodeTypes, (Texts{"type0", "type1"}));
}

TEST(HgbImport, SeveralLabelsAreATableByClass) {
  const std::string info = R"({"label.dat": {"node type": {"0": {"0": "x", "1": "y", "2": "z"}}}})";
  Result<GraphFile> file =
      importHgbFolder({{"label.dat", "1\tbob\t0\t2,0\n"}, {"label.dat.test", "0\tann\t0\t1\n"}, {"info.dat", info}});
  ASSERT_TRUE(file) << errorOf(file);
  const Tensor &label = *file->tensors.find("label");
  EXPECT_EQ(label.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(label.dtype, DType::F32);
  EXPECT_EQ(label.toDoubles(), (std::vector<double>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(file->tensors.find("label.node")->toDoubles(), (std::vector<double>{0, 1}));
  EXPECT_EQ(file->tensors.find("split.train")->toDoubles(), std::vector<double>{1});
  EXPECT_EQ(file->tensors.find("split.test")->toDoubles(), std::vector<double>{0});
  EXPECT_EQ(file->labelNames, (Texts{"x", "y", "z"}));
}

TEST(HgbError, LabelsThatAreNone) {
  EXPECT_EQ(errorOfHgb({{"label.dat", "0\tann\t0\t1,\n"}}),
            "label.dat:1: the class is ``; expected a number from 0 to 65535");
  EXPECT_EQ(
      errorOfHgb({{"label.dat", "0\tann\t0\t1\n"}, {"label.dat.test", "0\tann\t0\t2\n"}}),
      "label.dat.test:1: node 0 has a label already, in label.dat:1; expected one row for each node, with several "
      "classes separated by commas");
}

TEST(HgbError, LinksThatContradictInfo) {
  EXPECT_EQ(errorOfHgb({{"link.dat", "0\t2\t0\t1.0\n2\t2\t0\t1.0\n"}, {"info.dat", kHgbInfo}}),
            "link.dat:2: the source 2 is of type `paper`, but info.dat:2:44 says that links of type 0 start at "
            "`author`");
  EXPECT_EQ(errorOfHgb({{"link.dat", "0\t1\t0\t1.0\n"}, {"info.dat", kHgbInfo}}),
            "link.dat:1: the destination 1 is of type `author`, but info.dat:2:54 says that links of type 0 end at "
            "`paper`");
}

TEST(HgbError, TypesAndClassesThatInfoDoesNotName) {
  EXPECT_EQ(errorOfHgb({{"link.dat", "0\t2\t0\t1.0\n1\t2\t3\t1.0\n"}, {"info.dat", kHgbInfo}}),
            "link.dat:2: the link type is 3, but info.dat:2:28 does not name it; it names 1 link type");
  const std::string info = R"({"label.dat": {"node type": {"0": {"0": "x", "1": "y"}}}})";
  EXPECT_EQ(errorOfHgb({{"label.dat", "0\tann\t0\t1\n1\tbob\t0\t0,2\n"}, {"info.dat", info}}),
            "label.dat:2: the class is 2, but info.dat:1:35 does not name it; it names 2 classes");
}

TEST(HgbImport, InfoMayNameNoLinkTypesAndClasses) {
  const std::string info = R"({"link.dat": {"link type": {}}, "label.dat": {"node type": {"0": {}}}})";
  Result<GraphFile> file =
      importHgbFolder({{"link.dat", "0\t2\t1\t1.0\n"}, {"label.dat", "0\tann\t0\t1\n"}, {"info.dat", info}});
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->edgeTypes.at(1).name, "link1");
  EXPECT_EQ(file->labelNames, (Texts{"0", "1"}));
}

TEST(HgbError, InfoThatIsNotSound) {
  EXPECT_EQ(errorOfHgb({{"info.dat", "{\n \"a\": x}"}}),
            "info.dat:2:7: found `x`; expected a value: a text in double quotes, a number, `{`, `[`, `true`, `false` "
            "or `null`");
  EXPECT_EQ(errorOfHgb({{"info.dat", "\n[]"}}),
            "info.dat:2:1: found an array; expected an object with the names of node and link types");
  EXPECT_EQ(errorOfHgb({{"info.dat", R"({"node.dat": {"node type": {"0": "a", "1": "a"}}})"}}),
            "info.dat:1:44: node type 1 is called `a`, and so is node type 0; expected different names");
}

TEST(HgbError, FeaturesThatAreNotFinite) {
  EXPECT_EQ(errorOfHgb({{"node.dat", "0\ta\t0\t1,2\n1\tb\t0\t1,nan\n"}, {"link.dat", "0\t1\t0\n"}}),
            "node.dat:2: feature 1 is nan; expected finite numbers");
}

TEST(HgbError, NoNodes) {
  EXPECT_EQ(errorOfHgb({{"node.dat", "\n"}}), "node.dat: has no rows; expected id, name and type of each node");
}

TEST(HgbImport, FeaturesOfDifferentWidthsLabelsAndInverses) {
  const std::string info =
      R"({"node.dat":{"node type":{"0":"author","1":"paper"}},"link.dat":{"link type":{"0":{"start":0,"end":1,)"
      R"("meaning":"writes"},"1":{"start":"1","end":"0","meaning":"by"}}},"label.dat":{"node type":{"0":{"0":"x","1":"y"}}}})";
  Folder folder;
  folder.write("a.zip", zipped({{"node.dat", "0\tann\t0\t1,0.5\n1\tbob\t0\t0,2\r\n2\tp\t1\t7\n3\tq\t1\t8\n"},
                                {"link.dat", "0\t2\t0\t1.0\n1\t3\t0\t1.0\n2\t0\t1\t1.0\n3\t1\t1\t1.0\n"},
                                {"label.dat", "0\tann\t0\t1\n"},
                                {"label.dat.test", "1\tbob\t0\t0\n"},
                                {"info.dat", info}}));
  ImportOptions options;
  options.inputs = {folder.path};
  Result<GraphFile> file = import(options);
  EXPECT_EQ(countsOf(file), (Counts{4, 4, 2}));
  EXPECT_EQ(file->edgeTypes.at(1), (EdgeType{"by", "paper", "author", 0}));
  EXPECT_EQ(file->tensors.find("feat.author")->toDoubles(), (std::vector<double>{1, 0.5, 0, 2}));
  EXPECT_EQ(file->tensors.find("feat.paper")->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(file->tensors.find("x"), nullptr);
  EXPECT_EQ(file->labelNames, (Texts{"x", "y"}));
  EXPECT_EQ(file->tensors.find("split.test")->intAt(0), 1);
}

TEST(HgbError, Words) {
  auto message = [](const std::string &nodes, const std::string &links) {
    Folder folder;
    folder.write("node.dat", nodes);
    folder.write("link.dat", links);
    ImportOptions options;
    options.inputs = {folder.path};
    std::string text = errorOf(import(options));
    return text.starts_with(folder.path) ? text.substr(folder.path.size() + 1) : text;
  };
  EXPECT_EQ(message("0\ta\t0\n2\tb\t0\n", ""),
            "node.dat:2: the node is `2`; expected 1: nodes are numbered in order, from 0");
  EXPECT_EQ(message("0\ta\t0\t1,2\n1\tb\t0\t1\n", ""),
            "node.dat:2: has 1 feature, but nodes of its type before it have 2");
  EXPECT_EQ(message("0\n", ""),
            "node.dat:1: has 1 field; expected id, name, type and perhaps features, separated by tabs");
  EXPECT_EQ(message("0\ta\t0\t1,x\n", ""), "node.dat:1: the features are `1,x`; expected numbers separated by commas");
  EXPECT_EQ(message("0\ta\t0\n", "0\t7\t0\t1\n"), "link.dat:1: the destination is 7; node.dat has nodes 0 to 0");
}

// OGB.

TEST(OgbImport, RelationsFeaturesLabelsAndSplits) {
  Folder folder;
  folder.write("raw/relations/author___writes___paper/edge.csv.gz", gzipped("0,0\n1,2\n"));
  folder.write("raw/num-node-dict.csv", "author,paper\n3,4\n");
  folder.write("raw/node-feat/paper/node-feat.csv", "1,2\n3,4\n5,6\n7,8.5\n");
  folder.write("raw/node-label/paper/node-label.csv", "0\n1\n1\n0\n");
  folder.write("split/time/paper/train.csv", "0\n2\n");
  folder.write("split/time/paper/test.csv", "3\n");
  ImportOptions options;
  options.inputs = {folder.path};
  Result<GraphFile> file = import(options);
  EXPECT_EQ(countsOf(file), (Counts{7, 4, 2}));
  EXPECT_EQ(file->tensors.find("feat.paper")->toDoubles().back(), 8.5);
  EXPECT_EQ(file->tensors.find("split.train")->intAt(1), 5);
  EXPECT_EQ(file->tensors.find("label.node")->intAt(0), 3);
}

TEST(OgbImport, SeveralLabelsAreATableByClass) {
  Folder folder;
  folder.write("raw/edge.csv", "0,1\n1,2\n");
  folder.write("raw/num-node-list.csv", "4\n");
  folder.write("raw/node-label.csv", "1,0,1\n0,0,0\nnan,nan,nan\n0,1,0\n");
  folder.write("split/random/train.csv", "0\n1\n");
  ImportOptions options;
  options.inputs = {folder.path};
  Result<GraphFile> file = import(options);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->tensors.find("label")->toDoubles(), (std::vector<double>{1, 0, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(file->tensors.find("label.node")->toDoubles(), (std::vector<double>{0, 1, 3}));
  EXPECT_EQ(file->tensors.find("split.train")->toDoubles(), (std::vector<double>{0, 1}));
}

TEST(OgbError, ValuesThatAreNone) {
  auto message = [](const char *name, const char *text) {
    Folder folder;
    folder.write("raw/edge.csv", "0,1\n1,2\n");
    folder.write(name, text);
    ImportOptions options;
    options.inputs = {folder.path};
    std::string error = errorOf(import(options));
    return error.starts_with(folder.path) ? error.substr(folder.path.size() + 1) : error;
  };
  EXPECT_EQ(message("raw/node-feat.csv", "1,2\n\n1,2\n1,1e300\n"),
            "raw/node-feat.csv:4: feature 1 is inf; expected finite numbers");
  EXPECT_EQ(message("raw/node-label.csv", "1,0\n0,2\n0,0\n"),
            "raw/node-label.csv:2: column 1 is 2.000000; expected 1 where the node is of the class, else 0");
  EXPECT_EQ(message("raw/node-label.csv", "1,0\n0,nan\n0,0\n"),
            "raw/node-label.csv:2: 1 of 2 labels are NaN; expected all of them or none");
  EXPECT_EQ(message("raw/node-feat.csv", "1,2\n1\n"),
            "raw/node-feat.csv:2: has 1 field; expected 2, as in the rows before");
  EXPECT_EQ(message("raw/node-feat.csv", "1,2\n"), "raw/node-feat.csv: has 1 row for 3 nodes of type `node`");
}

namespace {

std::string npyOfInts(const std::string &shape, const std::vector<uint64_t> &values) {
  const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': " + shape + ", }";
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + littleEndian(header.size(), 2) + header;
  for (uint64_t value : values)
    bytes += littleEndian(value, 8);
  return bytes;
}

/// Three nodes in a row with labels; the error for other labels or for splits, without the folder's name.
std::string errorOfOgb(const std::string &name, const std::string &text) {
  Folder folder;
  folder.write("raw/edge.csv", "0,1\n1,2\n");
  folder.write("raw/node-label.csv", "0\n1\n1\n");
  folder.write(name, text);
  ImportOptions options;
  options.inputs = {folder.path};
  std::string error = errorOf(import(options));
  return error.starts_with(folder.path) ? error.substr(folder.path.size() + 1) : error;
}

}  // namespace

TEST(OgbError, LabelsThatAreNoClasses) {
  for (const char *label : {"0.7", "1.9", "-2", "2000000", "inf"})
    EXPECT_EQ(errorOfOgb("raw/node-label.csv", "0\n\n" + std::string(label) + "\n1\n"),
              "raw/node-label.csv:3: the label is " + std::string(label) +
                  "; expected a whole number from 0 to 999999, or -1 or NaN for a node without one");
}

TEST(OgbImport, NodesMayHaveNoLabel) {
  Folder folder;
  folder.write("raw/edge.csv", "0,1\n1,2\n");
  folder.write("raw/node-label.csv", "-1\nnan\n1.0\n");
  ImportOptions options;
  options.inputs = {folder.path};
  Result<GraphFile> file = import(options);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->tensors.find("label.node")->toDoubles(), std::vector<double>{2});
  EXPECT_EQ(file->tensors.find("label")->toDoubles(), std::vector<double>{1});
}

TEST(OgbError, SplitsOfNoNodes) {
  for (const char *id : {"0.9", "3", "-1", "nan"})
    EXPECT_EQ(errorOfOgb("split/random/train.csv", "0\n" + std::string(id) + "\n"),
              "split/random/train.csv:2: found " + std::string(id) +
                  "; expected a node of type `node`, which has 3 nodes, numbered from 0");
  EXPECT_EQ(errorOfOgb("split/random/train.csv", "0,2,3\n"),
            "split/random/train.csv:1, column 2: found 3; expected a node of type `node`, which has 3 nodes, numbered "
            "from 0");
  EXPECT_EQ(errorOfOgb("split/random/train.csv", "0,1\n1,2\n"),
            "split/random/train.csv: is a table of 2 × 2; expected nodes in one column or in one row");
}

TEST(OgbImport, SplitsMayBeARow) {
  for (const auto &[name, text] :
       {std::pair<std::string, std::string>{"train.csv", "0,2\n"}, {"train.npy", npyOfInts("(1, 2)", {0, 2})}}) {
    Folder folder;
    folder.write("raw/edge.csv", "0,1\n1,2\n");
    folder.write("raw/node-label.csv", "0\n1\n1\n");
    folder.write("split/random/" + name, text);
    ImportOptions options;
    options.inputs = {folder.path};
    Result<GraphFile> file = import(options);
    ASSERT_TRUE(file) << errorOf(file);
    EXPECT_EQ(file->tensors.find("split.train")->toDoubles(), (std::vector<double>{0, 2})) << name;
  }
}

TEST(OgbError, NodesInTwoSplits) {
  Folder folder;
  folder.write("raw/edge.csv", "0,1\n1,2\n");
  folder.write("raw/node-label.csv", "0\n1\n1\n");
  folder.write("split/random/train.csv", "0\n2\n");
  folder.write("split/random/test.csv", "1\n\n2\n");
  ImportOptions options;
  options.inputs = {folder.path};
  EXPECT_EQ(errorOf(import(options)), folder.at("split/random/train.csv") + ":2: node 2 of type `node` is in " +
                                          folder.at("split/random/test.csv") + " too; expected each node in one split");
}

TEST(OgbImport, ArraysWithGivenTypesAndUsedNodesOnly) {
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }";
  const std::string array = std::string("\x93NUMPY\x01\x00", 8) + littleEndian(header.size(), 2) + header +
                            littleEndian(0, 4) + littleEndian(9, 4) + littleEndian(3, 4) + littleEndian(3, 4);
  Folder folder;
  ImportOptions options;
  options.inputs = {folder.write("writing_coo_2.npy.gz", gzipped(array))};
  options.relations = {"writing=author:paper"};
  Result<GraphFile> all = import(options);
  EXPECT_EQ(countsOf(all), (Counts{14, 4, 2}));
  options.dropIsolated = true;
  EXPECT_EQ(countsOf(import(options)), (Counts{3, 4, 2}));
  options.relations = {"citing=paper:paper"};
  EXPECT_EQ(errorOf(import(options)), "no file holds the relation `citing` that --relation names");
  options.relations = {"citing"};
  EXPECT_EQ(errorOf(import(options)),
            "the relation `citing` is not understood; expected `NAME=SOURCE:DESTINATION`, as in `writes=author:paper`");
}

// Planetoid.

namespace {

/// Pickles of the kind that Planetoid's files are, in protocol 2.
std::string pickledInt(int64_t value) {
  return "J" + littleEndian(static_cast<uint64_t>(value), 4);
}

std::string pickledArray(const std::string &code, const std::vector<int64_t> &shape, const std::string &bytes) {
  std::string sizes;
  for (int64_t size : shape)
    sizes += pickledInt(size);
  return "cnumpy.core.multiarray\n_reconstruct\n)R(" + pickledInt(1) + "(" + sizes + "tcnumpy\ndtype\n(U" +
         littleEndian(code.size(), 1) + code + "tR(" + pickledInt(3) + "U\x01<tb" + pickledInt(0) + "T" +
         littleEndian(bytes.size(), 4) + bytes + "tb";
}

std::string bytesOf(const std::vector<float> &values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A sparse matrix of `rows` with one entry each, in column 0.
std::string pickledColumn(int64_t columns, const std::vector<float> &values) {
  std::string ptr, indices;
  for (size_t i = 0; i <= values.size(); ++i)
    ptr += littleEndian(i, 4);
  for (size_t i = 0; i < values.size(); ++i)
    indices += littleEndian(0, 4);
  const auto count = static_cast<int64_t>(values.size());
  auto text = [](const std::string &key) { return "U" + littleEndian(key.size(), 1) + key; };
  return "\x80\x02"
         "cscipy.sparse.csr\ncsr_matrix\n)\x81}(" +
         text("_shape") + "(" + pickledInt(count) + pickledInt(columns) + "t" + text("indptr") +
         pickledArray("i4", {count + 1}, ptr) + text("indices") + pickledArray("i4", {count}, indices) + text("data") +
         pickledArray("f4", {count}, bytesOf(values)) + "ub.";
}

/// Three nodes in a row; the last one is for tests.
void writePlanetoid(const Folder &folder) {
  folder.write("ind.a.graph", "\x80\x02}(" + pickledInt(0) + "](" + pickledInt(1) + "e" + pickledInt(1) + "](" +
                                  pickledInt(2) + "e" + pickledInt(2) + "]u.");
  folder.write("ind.a.test.index", "2\n");
}

}  // namespace

TEST(PlanetoidImport, SeveralLabelsAreATableByClass) {
  Folder folder;
  writePlanetoid(folder);
  folder.write("ind.a.y", "\x80\x02" + pickledArray("f4", {1, 2}, bytesOf({1, 1})) + ".");
  folder.write("ind.a.ally", "\x80\x02" + pickledArray("f4", {2, 2}, bytesOf({1, 1, 0, 1})) + ".");
  folder.write("ind.a.ty", "\x80\x02" + pickledArray("f4", {1, 2}, bytesOf({1, 0})) + ".");
  ImportOptions options;
  options.inputs = {folder.path};
  Result<GraphFile> file = import(options);
  EXPECT_EQ(countsOf(file), (Counts{3, 4, 1}));
  EXPECT_EQ(file->tensors.find("label")->toDoubles(), (std::vector<double>{1, 1, 0, 1, 1, 0}));
}

TEST(PlanetoidError, FeaturesThatAreNotFinite) {
  Folder folder;
  writePlanetoid(folder);
  folder.write("ind.a.allx", pickledColumn(1, {1, std::numeric_limits<float>::quiet_NaN()}));
  folder.write("ind.a.tx", pickledColumn(1, {1}));
  ImportOptions options;
  options.inputs = {folder.path};
  EXPECT_EQ(errorOf(import(options)),
            folder.at("ind.a.allx") + ": row 1, column 0 is nan; expected finite numbers: the file may be damaged");
}

namespace {

/// A table of classes with as many rows as the values fill.
std::string pickledClasses(int64_t columns, const std::vector<float> &values) {
  return "\x80\x02" + pickledArray("f4", {static_cast<int64_t>(values.size()) / columns, columns}, bytesOf(values)) +
         ".";
}

/// The error for the three nodes with some files replaced; without the folder's name.
std::string errorOfPlanetoid(const std::vector<std::pair<std::string, std::string>> &files) {
  Folder folder;
  writePlanetoid(folder);
  folder.write("ind.a.y", pickledClasses(2, {1, 0}));
  folder.write("ind.a.ally", pickledClasses(2, {1, 0, 0, 1}));
  folder.write("ind.a.ty", pickledClasses(2, {1, 0}));
  for (const auto &[name, contents] : files)
    folder.write(name, contents);
  ImportOptions options;
  options.inputs = {folder.path};
  std::string error = errorOf(import(options));
  for (size_t at; (at = error.find(folder.path + "/")) != std::string::npos;)
    error.erase(at, folder.path.size() + 1);
  return error;
}

}  // namespace

TEST(PlanetoidError, LabelsThatAreNone) {
  EXPECT_EQ(errorOfPlanetoid({}), "no error");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.ally", pickledClasses(2, {1, 0, 0, nan})}}),
            "ind.a.ally: row 1, column 1 is nan; expected 1 where the node is of the class, else 0");
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.y", pickledClasses(2, {2, 0})}}),
            "ind.a.y: row 0, column 0 is 2.000000; expected 1 where the node is of the class, else 0");
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.ty", pickledClasses(2, {0, 0.5})}}),
            "ind.a.ty: row 0, column 1 is 0.500000; expected 1 where the node is of the class, else 0");
}

TEST(PlanetoidError, LabelsOfOtherWidths) {
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.ty", pickledClasses(3, {1, 0, 0})}}),
            "ind.a.ty: has 3 columns, but ind.a.y has 2; expected one for each class");
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.ally", pickledClasses(1, {1, 0})}}),
            "ind.a.ally: has 1 column, but ind.a.y has 2; expected one for each class");
}

TEST(PlanetoidError, TestNodes) {
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.test.index", "\n"}}),
            "ind.a.test.index: has no rows; expected the number of a test node in each");
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.test.index", "2\n\n2\n"}}),
            "ind.a.test.index:3: node 2 is in line 1 already; expected each node once");
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.test.index", "1\n"}}),
            "ind.a.test.index:1: node 1 has a row in ind.a.ally, which holds nodes 0 to 1; expected test nodes after "
            "those");
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.test.index", "3\n"}}), "ind.a.test.index:1: found `3`; expected a node, 0 to 2");
  EXPECT_EQ(errorOfPlanetoid({{"ind.a.graph", "\x80\x02}."}, {"ind.a.test.index", "0\n"}}),
            "ind.a.test.index:1: found `0`; the graph has no nodes");
}

// What no importer looks for.

TEST(ImportError, GraphsThatCheckRefuses) {
  // A folder's name is the name of a node type, which the file stores as UTF-8.
  Folder folder;
  folder.write("relations/a\xff___r___b/edge.csv", "0,1\n");
  folder.write("node-feat/a\xff/node-feat.csv", "1\n");
  ImportOptions options;
  options.inputs = {folder.path};
  EXPECT_NE(errorOf(import(options)).find(": makes a graph that is not sound: "), std::string::npos)
      << errorOf(import(options));
}

// Formats that are not known.

TEST(ImportError, UnknownFormat) {
  EXPECT_EQ(errorOfImport("a.txt", "a b c d\n"),
            "a.txt: the format is not known by name or contents; give --format rdf, "
            "triples, edges, hgb, ogb or planetoid");
}

// Real graphs.

namespace {

struct RealCase {
  const char *folder;
  Counts counts;
  std::function<void(ImportOptions &)> set = [](ImportOptions &) {};
};

}  // namespace

TEST(RealGraphs, CountsAreAsPublished) {
  if (sharedData().empty())
    GTEST_SKIP() << "../shared/data is not there";
  const auto preset = [](const char *name) { return [name](ImportOptions &o) { o.preset = name; }; };
  const auto withoutFeatures = [](ImportOptions &o) { o.features = false; };
  const RealCase cases[] = {
      {"aifb", {8285, 58086, 90}},
      {"aifb", {7262, 48810, 104}, preset("dgl-aifb")},
      {"mutag", {27163, 148100, 50}, preset("dgl-mutag")},
      {"am-kgbench", {1080876, 2721498, 24}},
      {"bgs-earthmaterial",
       {14557, 124078, 66},
       [](ImportOptions &o) { o.rdf.reader.multiline = o.rdf.reader.anyIri = true; }},
      {"fb15k-237", {14541, 620232, 474}},
      {"fb15k-clean", {14861, 610180, 1430}},
      {"wn18", {40943, 302884, 36}},
      {"wn18rr", {40943, 186006, 22}},
      {"kinship", {104, 21372, 50}},
      {"ogbn-mag-0.1",
       {87381, 345172, 6},
       [](ImportOptions &o) {
         o.relations = {"citing=paper:paper", "writing=author:paper", "has=field:paper"};
         o.dropIsolated = true;
       }},
      {"hgb-acm", {10942, 547872, 8}, withoutFeatures},
      {"cora", {2708, 10556, 1}},
      {"citeseer", {3327, 9104, 1}},
      {"pubmed", {19717, 88648, 1}},
  };
  for (const RealCase &c : cases) {
    ImportOptions options;
    options.inputs = {sharedData() + "/" + c.folder};
    c.set(options);
    EXPECT_EQ(countsOf(import(options)), c.counts) << c.folder;
  }
}

TEST(RealGraphs, LabelsAndSplitsAreThere) {
  if (sharedData().empty())
    GTEST_SKIP() << "../shared/data is not there";
  struct Case {
    const char *folder, *preset;
    int64_t train, test;
    size_t classes;
  };
  for (Case c : {Case{"aifb", "dgl-aifb", 140, 36, 4}, {"aifb", "", 140, 36, 4}, {"mutag", "dgl-mutag", 272, 68, 2}}) {
    ImportOptions options;
    options.inputs = {sharedData() + "/" + c.folder};
    options.preset = c.preset;
    Result<GraphFile> file = import(options);
    ASSERT_TRUE(file) << errorOf(file);
    EXPECT_EQ(file->tensors.find("split.train")->numElements(), c.train);
    EXPECT_EQ(file->tensors.find("split.test")->numElements(), c.test);
    EXPECT_EQ(file->labelNames.size(), c.classes);
  }
}

TEST(RealGraphs, PairRatioOfFb15k237) {
  if (sharedData().empty())
    GTEST_SKIP() << "../shared/data is not there";
  ImportOptions options;
  options.inputs = {sharedData() + "/fb15k-237"};
  Result<GraphFile> file = import(options);
  ASSERT_TRUE(file) << errorOf(file);
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (int64_t e = 0; e < file->graph.numEdges(); ++e)
    pairs.emplace(file->graph.src()[e], file->graph.etype()[e]);
  EXPECT_NEAR(static_cast<double>(pairs.size()) / static_cast<double>(file->graph.numEdges()), .261, .0005);
}
