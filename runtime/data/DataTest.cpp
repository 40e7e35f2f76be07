/// Tables, labels, names and patterns: the pieces that importers share.
#include "runtime/data/Json.h"
#include "runtime/data/Labels.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Pattern.h"
#include "runtime/data/Pickle.h"
#include "runtime/data/StringTable.h"
#include "runtime/data/Table.h"
#include "runtime/data/TestFiles.h"

#include <random>
#include <unordered_map>

using namespace hector;
using namespace hector::test;

namespace {

std::vector<std::string> fields(const std::string &line, char separator) {
  std::vector<std::string_view> views;
  std::deque<std::string> unquoted;
  splitRow(line, separator, views, &unquoted);
  return {views.begin(), views.end()};
}

using Texts = std::vector<std::string>;

/// Nodes "n0" to "n9".
uint32_t findNode(std::string_view name) {
  return name.size() == 2 && name[0] == 'n' && name[1] >= '0' && name[1] <= '9' ? static_cast<uint32_t>(name[1] - '0')
                                                                                : UINT32_MAX;
}

struct LabelCase {
  std::string name, text;
  Split split = Split::None;
};

std::string labelsOf(const std::vector<LabelCase> &cases, LabelOptions options = {}, RawGraph *out = nullptr) {
  std::vector<LabelFile> files;
  for (const LabelCase &c : cases)
    files.push_back({memoryFile(c.name, c.text), c.split});
  RawGraph raw;
  std::vector<std::string> notes;
  Result<int64_t> unknown = readLabels(files, options, findNode, raw, notes);
  if (!unknown)
    return errorOf(unknown);
  std::string text;
  for (const Label &label : raw.labels)
    text += std::to_string(label.node) + ":" + raw.labelNames.at(static_cast<size_t>(label.label)) + ":" +
            std::to_string(static_cast<int>(label.split)) + " ";
  if (out)
    *out = std::move(raw);
  return text + "unknown " + std::to_string(*unknown);
}

std::string npy(const std::string &header, const std::string &data) {
  return std::string("\x93NUMPY\x01\x00", 8) + littleEndian(header.size(), 2) + header + data;
}

}  // namespace

// Names to numbers.

TEST(StringTableTest, NumbersByFirstAppearance) {
  StringTable table;
  EXPECT_EQ(table.intern("b"), 0u);
  EXPECT_EQ(table.intern(""), 1u);
  EXPECT_EQ(table.intern("b"), 0u);
  EXPECT_EQ(table[0], "b");
  EXPECT_EQ(table[1], "");
  EXPECT_EQ(table.find("c"), StringTable::kNone);
  EXPECT_EQ(table.size(), 2u);
}

TEST(StringTableTest, ManyNamesAreThoseOfAMap) {
  std::mt19937 random(3);
  std::unordered_map<std::string, uint32_t> expected;
  StringTable table;
  std::vector<std::string> texts;
  for (int i = 0; i < 200'000; ++i)
    texts.push_back("name" + std::to_string(random() % 60'000));
  std::vector<HashedText> hashed(texts.begin(), texts.end());
  std::vector<uint32_t> ids(texts.size());
  table.internAll(hashed, ids.data());
  for (size_t i = 0; i < texts.size(); ++i)
    ASSERT_EQ(ids[i], expected.emplace(texts[i], static_cast<uint32_t>(expected.size())).first->second);
  for (const auto &[name, id] : expected)
    ASSERT_EQ(table[id], name);
}

// Patterns.

TEST(PatternTest, PartsAndCaptures) {
  Result<Pattern> pattern = Pattern::parse("http://e/{type}/*/{name}");
  ASSERT_TRUE(pattern);
  Pattern::Match match;
  ASSERT_TRUE(pattern->matches("http://e/Person/view/id7", match));
  EXPECT_EQ(match.type, "Person");
  EXPECT_EQ(match.name, "id7");
  EXPECT_FALSE(pattern->matches("http://e/Person/id7"));
  EXPECT_FALSE(pattern->matches("http://e/Person/view/"));
}

TEST(PatternTest, Sets) {
  Result<Pattern> pattern = Pattern::parse("d[0-9_]*");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->matches("d1"));
  EXPECT_TRUE(pattern->matches("d_1_2"));
  EXPECT_FALSE(pattern->matches("dx"));
}

TEST(PatternError, Words) {
  EXPECT_EQ(errorOf(Pattern::parse("a[b")), "the pattern `a[b` has a `[` without characters and `]` after it");
  EXPECT_EQ(errorOf(Pattern::parse("*a*b*c*d*")),
            "the pattern `*a*b*c*d*` has 5 of `*`, `{type}` and `{name}`; at most 4 are supported");
}

// Tables.

TEST(TableTest, FieldsByEverySeparator) {
  EXPECT_EQ(fields(" a  b\tc ", ' '), (Texts{"a", "b", "c"}));
  EXPECT_EQ(fields("a\t\tc d", '\t'), (Texts{"a", "", "c d"}));
  EXPECT_EQ(fields("a, b,\"c,\"\"d\"\"\",", ','), (Texts{"a", "b", "c,\"d\"", ""}));
}

TEST(TableTest, CountLinesHeadersAndNumbersAreSeen) {
  Result<TableFormat> format = sniffTable(memoryFile("a", "2\n1 2 3\n4 5 6\n"));
  ASSERT_TRUE(format);
  EXPECT_EQ(format->countLine, 2);
  EXPECT_EQ(format->numColumns, 3u);
  EXPECT_TRUE(format->allNumbers);
  format = sniffTable(memoryFile("a", "index,label\n0,1\n"));
  ASSERT_TRUE(format);
  EXPECT_TRUE(format->header);
  EXPECT_EQ(format->separator, ',');
  format = sniffTable(memoryFile("a", "a\tb\r\n1\t2\r\nx\ty\r\n"));
  ASSERT_TRUE(format);
  EXPECT_FALSE(format->allNumbers);
  EXPECT_FALSE(format->header);
}

TEST(TableTest, NumbersDoNotMakeAHeader) {
  for (const char *first : {"5 6.0", "5 -6", "a 5", "x +1", "1e999 y"}) {
    Result<TableFormat> format = sniffTable(memoryFile("a", std::string(first) + "\n1 2\n3 4\n"));
    ASSERT_TRUE(format);
    EXPECT_FALSE(format->header) << first;
    EXPECT_FALSE(format->allNumbers) << first;
    EXPECT_EQ(format->skipLines, 0) << first;
  }
}

TEST(TableTest, EmptyFieldsDoNotMakeAHeader) {
  for (const char *first : {",", "a,", ",b"}) {
    Result<TableFormat> format = sniffTable(memoryFile("a", std::string(first) + "\n1,2\n3,4\n"));
    ASSERT_TRUE(format);
    EXPECT_FALSE(format->header) << first;
  }
}

TEST(TableTest, HeadersAreQuotedAndCountedFromTheirLine) {
  Result<TableFormat> format = sniffTable(memoryFile("a", "\n\nfrom\tto\n1\t2\n"));
  ASSERT_TRUE(format);
  EXPECT_EQ(format->notes, Texts{"a:3: `from\\tto` was taken as a header, not as a row"});
  EXPECT_EQ(format->skipLines, 3);
}

TEST(TableTest, KnownWordsAreAHeaderOverNamesToo) {
  for (const char *first : {"head,relation,tail", "Subject,Predicate,Object", "h,r,t", "src_id,type,dst_id",
                            "relation,head,tail", "\"head\",\"relation\",\"tail\""}) {
    Result<TableFormat> format = sniffTable(memoryFile("a", std::string(first) + "\nann,likes,bob\n"));
    ASSERT_TRUE(format);
    EXPECT_TRUE(format->header) << first;
    EXPECT_EQ(format->skipLines, 1) << first;
    EXPECT_FALSE(format->allNumbers) << first;
    EXPECT_EQ(format->notes, Texts{"a:1: `" + std::string(first) + "` was taken as a header, not as a row"});
  }
  Result<TableFormat> format = sniffTable(memoryFile("a", "source,target\nann,bob\n"));
  ASSERT_TRUE(format);
  EXPECT_TRUE(format->header);
}

TEST(TableTest, OtherWordsAreNoHeaderOverNames) {
  for (const char *first : {"head,likes,tail", "head,relation,head", "ann,relation,bob"}) {
    Result<TableFormat> format = sniffTable(memoryFile("a", std::string(first) + "\nann,likes,bob\n"));
    ASSERT_TRUE(format);
    EXPECT_FALSE(format->header) << first;
    EXPECT_EQ(format->skipLines, 0) << first;
  }
  // Nodes of a graph may be called so.
  Result<TableFormat> format = sniffTable(memoryFile("a", "s,t\ns,a\na,t\n"));
  ASSERT_TRUE(format);
  EXPECT_FALSE(format->header);
}

TEST(TableTest, NumbersReadAsNamesAreNoted) {
  Result<TableFormat> format = sniffTable(memoryFile("a", "5 6.0\n1 2\n3 4\n"));
  ASSERT_TRUE(format);
  EXPECT_EQ(format->notes, Texts{"a:1: `6.0` is not a whole number from 0, so all fields were read as names"});
  format = sniffTable(memoryFile("a", "from to\n1 2\n3 x\n4 5\n"));
  ASSERT_TRUE(format);
  EXPECT_EQ(format->notes, (Texts{"a:1: `from to` was taken as a header, not as a row",
                                  "a:3: `x` is not a whole number from 0, so all fields were read as names"}));
  format = sniffTable(memoryFile("a", "ann bob\nbob 7\n"));
  ASSERT_TRUE(format);
  EXPECT_EQ(format->notes, Texts{});
}

TEST(TableError, WhatIsNoTable) {
  EXPECT_EQ(errorOf(sniffTable(memoryFile("a", "\n\n"))), "a: has no rows; expected a table in text");
  EXPECT_EQ(errorOf(sniffTable(memoryFile("a", std::string("x\0y\n", 4)))),
            "a: line 1 has a zero byte; expected a table in text");
  EXPECT_EQ(errorOf(sniffTable(memoryFile("a", "ok\nca\xe9\n"))),
            "a:2:3: the byte 0xe9 is not UTF-8; expected UTF-8 (if the file is in Latin-1, convert it with `iconv -f "
            "LATIN1 -t UTF-8`)");
}

// Labels.

TEST(LabelsTest, ColumnsAreFound) {
  EXPECT_EQ(labelsOf({{"train.tsv", "person\tid\tlabel_x\nn1\t7.0\tred\nn0\t8.0\tblue\n", Split::Train},
                      {"test.tsv", "id\tperson\tlabel_x\n1\tn2\tblue\n", Split::Test}}),
            "0:blue:1 1:red:1 2:blue:3 unknown 0");
}

TEST(LabelsTest, ColumnsMayBeNamed) {
  EXPECT_EQ(labelsOf({{"a.csv", "a,b,c\nn1,n2,x\n"}}, {.nodeColumn = "b", .labelColumn = "a"}), "2:n1:0 unknown 0");
}

TEST(LabelsTest, TablesNeedNoHeader) {
  EXPECT_EQ(labelsOf({{"a.csv", "n3,5\nn4,0\n"}}), "3:5:0 4:0:0 unknown 0");
}

TEST(LabelsTest, FirstLinesWithANumberAreNoHeaders) {
  EXPECT_EQ(labelsOf({{"a.csv", "m7,1\nn4,0\n"}}),
            "a.csv:1: the label is for `m7`, which is no node of the graph; --skip-unknown-labels leaves such labels "
            "out");
}

TEST(LabelsTest, EmptyLabelsAreNoHeaders) {
  EXPECT_EQ(labelsOf({{"a.csv", "m7,\nn4,0\n"}}),
            "a.csv:1: the label is for `m7`, which is no node of the graph; --skip-unknown-labels leaves such labels "
            "out");
}

TEST(LabelsTest, HeadersAreNoted) {
  RawGraph raw;
  std::vector<std::string> notes;
  Result<int64_t> unknown = readLabels({{memoryFile("a.csv", ",node,label\n0,n1,x\n")}}, {}, findNode, raw, notes);
  ASSERT_TRUE(unknown) << errorOf(unknown);
  EXPECT_EQ(raw.labels.size(), 1u);
  EXPECT_EQ(notes, Texts{"a.csv:1: `,node,label` was taken as a header, not as a row"});
}

TEST(LabelsTest, WholeNumbersAreLabelsAsTheyAre) {
  RawGraph raw;
  labelsOf({{"a.csv", "node,label\nn1,2.0\n"}, {"b.csv", "node,label\nn1,2\nn2,0\n", Split::Valid}}, {}, &raw);
  ASSERT_EQ(raw.labels.size(), 2u);
  EXPECT_EQ(raw.labels[0].label, 2);
  EXPECT_EQ(raw.labels[0].split, Split::Valid);
  EXPECT_EQ(raw.labelNames, (Texts{"0", "1", "2"}));
}

TEST(LabelsTest, OtherWaysToWriteNumbersAreNames) {
  RawGraph raw;
  labelsOf({{"a.csv", "n1,007\nn2,7\nn3,1e1\nn4,10\nn5,7.0\nn6,7.00\n"}}, {}, &raw);
  EXPECT_EQ(raw.labelNames, (Texts{"007", "10", "1e1", "7", "7.00"}));
  ASSERT_EQ(raw.labels.size(), 6u);
  EXPECT_EQ(raw.labels[4].label, raw.labels[1].label);
  EXPECT_NE(raw.labels[0].label, raw.labels[1].label);
  labelsOf({{"a.csv", "n1,-3.0\nn2,.0\nn3,-3\n"}}, {}, &raw);
  EXPECT_EQ(raw.labelNames, (Texts{"-3", "-3.0", ".0"}));
}

TEST(LabelsTest, SplitsByName) {
  EXPECT_EQ(splitOfName("trainingSet.tsv"), Split::Train);
  EXPECT_EQ(splitOfName("validation.int.csv"), Split::Valid);
  EXPECT_EQ(splitOfName("test2id.txt"), Split::Test);
  EXPECT_EQ(splitOfName("completeDataset.tsv"), Split::None);
  EXPECT_EQ(splitOfName("dev.txt"), Split::Valid);
}

TEST(LabelsTest, SplitsByNameAreWholeWordsOfAnyCase) {
  for (const char *name : {"Train.txt", "wn18.train.txt", "TRAINING-1.csv", "fb_train", "trainset.txt", "my-TrainSet"})
    EXPECT_EQ(splitOfName(name), Split::Train) << name;
  for (const char *name : {"VALID.txt", "a.Validation.tsv", "val.txt", "wn18-dev.txt", "Valid2id.txt"})
    EXPECT_EQ(splitOfName(name), Split::Valid) << name;
  for (const char *name : {"Test.txt", "wn18.test.csv", "testing_1"})
    EXPECT_EQ(splitOfName(name), Split::Test) << name;
  for (const char *name : {"testimonials.txt", "latest.txt", "device.txt", "validity.csv", "trainers.txt",
                           "train-test.txt", "meta-testing.int.csv", "1-1.txt", ""})
    EXPECT_EQ(splitOfName(name), Split::None) << name;
}

TEST(LabelsError, UnknownNode) {
  const std::vector<LabelCase> files = {{"a.csv", "node,label\nn1,x\nm7,y\n"}};
  EXPECT_EQ(labelsOf(files), "a.csv:3: the label is for `m7`, which is no node of the graph; --skip-unknown-labels "
                             "leaves such labels out");
  EXPECT_EQ(labelsOf(files, {.nodeColumn = "", .labelColumn = "", .skipUnknown = true}), "1:x:0 unknown 1");
}

TEST(LabelsError, DuplicateLabel) {
  EXPECT_EQ(labelsOf({{"a.csv", "node,label\nn1,x\nn1,x\n"}}),
            "a.csv:3: `n1` has a label already, in line 2; expected one label per node");
}

TEST(LabelsError, FilesThatDisagree) {
  EXPECT_EQ(labelsOf({{"a.csv", "node,label\nn1,x\n"}, {"b.csv", "node,label\nn2,x\nn1,y\n"}}),
            "b.csv:3: the node has the label `y`, but a.csv:2 says `x`; expected one label per node");
  EXPECT_EQ(
      labelsOf({{"a.csv", "node,label\nn1,x\n", Split::Train}, {"b.csv", "node,label\nn1,x\n", Split::Test}}),
      "b.csv:2: the node is in the test split, but a.csv:2 puts it in the train split; expected one split per node");
}

TEST(LabelsError, ColumnsThatAreNotClear) {
  EXPECT_EQ(labelsOf({{"a.csv", "node,b,c\nn1,x,y\n"}}),
            "a.csv: several columns may hold the labels: `node`, `b`, `c`; give --label-column");
  EXPECT_EQ(labelsOf({{"a.csv", "node,label\nn1,x\n"}}, {.nodeColumn = "person", .labelColumn = ""}),
            "a.csv: has no column `person`; its first line has `node`, `label`");
  EXPECT_EQ(labelsOf({{"a.csv", "u,v\nx,y\n"}}),
            "a.csv: no column holds names of nodes; its first line has `u`, `v` (give --node-column, or check that the "
            "labels belong to this graph)");
}

TEST(LabelsError, RowsThatAreTooShort) {
  EXPECT_EQ(labelsOf({{"a.csv", "node,label\nn1,x\nn2\n"}}), "a.csv:3: has 1 field; expected 2, as in the first line");
  EXPECT_EQ(labelsOf({{"a.csv", "node,label\nn1,x\nn2,\n"}}), "a.csv:3: the label is empty; expected a class");
}

// Arrays.

TEST(NpyTest, ReadsNumbers) {
  Result<Tensor> tensor =
      parseNpy(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }\n",
                   littleEndian(1, 4) + littleEndian(2, 4) + littleEndian(3, 4) + littleEndian(4, 4)),
               "a.npy");
  ASSERT_TRUE(tensor) << errorOf(tensor);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(tensor->intAt(3), 4);
}

TEST(NpyError, Words) {
  EXPECT_EQ(errorOf(parseNpy("text", "a.npy")),
            "a.npy: does not start as an npy file does; expected an array written by numpy.save");
  EXPECT_EQ(errorOf(parseNpy(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", "1234"), "a.npy")),
            "a.npy: its shape `(2, 2)` needs 16 bytes, but 4 follow the header; the file is incomplete or damaged");
  EXPECT_EQ(errorOf(parseNpy(npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", ""), "a.npy")),
            "a.npy: its elements are `'|O'`; expected little-endian integers or floats");
  EXPECT_EQ(errorOf(parseNpy(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }", ""), "a.npy")),
            "a.npy: is in Fortran order; save it with numpy.ascontiguousarray first");
  EXPECT_EQ(errorOf(parseNpy(npy("{}", ""), "a.npy")),
            "a.npy: its header is `{}`; expected `descr`, `fortran_order` and `shape`");
}

// JSON.

TEST(JsonTest, ValuesKnowWhereTheyStand) {
  Result<JsonValue> json = parseJson("{\"ä\": [1, {\"b\":\n -2.5e3}],\n  \"c\": \"x\\u00e4\\ud83d\\ude00\\n\"}", "a");
  ASSERT_TRUE(json) << errorOf(json);
  const JsonValue &b = *json->find("ä")->items.at(1).find("b");
  EXPECT_EQ(b.text, "-2.5e3");
  EXPECT_EQ(b.line, 2);
  EXPECT_EQ(b.column, 2);
  EXPECT_EQ(json->find("ä")->items.at(0).column, 8);
  EXPECT_EQ(json->find("c")->text, "xä😀\n");
  EXPECT_EQ(json->find("d"), nullptr);
}

TEST(JsonTest, NumbersThatPythonWritesAreRead) {
  for (const char *text : {"[NaN]", "[Infinity]", "[-Infinity]"}) {
    Result<JsonValue> json = parseJson(text, "a");
    ASSERT_TRUE(json) << errorOf(json);
    EXPECT_EQ(json->items.at(0).kind, JsonValue::Kind::NotANumber) << text;
  }
}

TEST(JsonError, EveryMessageHasItsPlace) {
  auto message = [](const std::string &text) { return errorOf(parseJson(text, "a")); };
  const std::string value = "expected a value: a text in double quotes, a number, `{`, `[`, `true`, `false` or `null`";
  EXPECT_EQ(message(""), "a:1:1: the file ends; " + value);
  EXPECT_EQ(message("{\"a\":\n  nan}"), "a:2:3: found `nan`; " + value);
  EXPECT_EQ(message("[01]"), "a:1:2: found `01`; " + value);
  EXPECT_EQ(message("[1,]"), "a:1:4: found `]`; " + value);
  EXPECT_EQ(message("[NaNs]"), "a:1:2: found `NaNs`; " + value);
  EXPECT_EQ(message("{a: 1}"), "a:1:2: found `a`; expected a name in double quotes");
  EXPECT_EQ(message("{\"a\" 1}"), "a:1:6: found `1`; expected `:` after the name `a`");
  EXPECT_EQ(message("{\"ä\": 1 2}"), "a:1:9: found `2`; expected `,` or `}`");
  EXPECT_EQ(message("[1\n\n2]"), "a:3:1: found `2`; expected `,` or `]`");
  EXPECT_EQ(message("{} {}"), "a:1:4: found `{`; expected the end, after the first value");
  EXPECT_EQ(message("[\"a\n\"]"), "a:1:2: the text has no end; expected a closing `\"` in its line");
  EXPECT_EQ(message("[\"\\q\"]"),
            "a:1:4: found `q`; expected one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
  EXPECT_EQ(message("[\"\\ud800x\"]"), "a:1:3: found half of a surrogate pair; expected both halves");
  EXPECT_EQ(message("[\n\"\xff\"]"), "a:2:2: the byte 0xff is not UTF-8; expected UTF-8");
  EXPECT_EQ(message(std::string(1000, '[')), "a:1:202: values are nested more than 200 deep; expected fewer");
}

TEST(PickleTest, DictionariesOfLists) {
  // {1: [2, 300], -5: []}
  Result<Pickle> pickle = parsePickle(std::string("\x80\x02}q\x00(K\x01]q\x01(K\x02M\x2c\x01"
                                                  "eJ\xfb\xff\xff\xff]u.",
                                                  26),
                                      "a");
  ASSERT_TRUE(pickle) << errorOf(pickle);
  ASSERT_EQ(pickle->root->items.size(), 4u);
  EXPECT_EQ(pickle->root->items[1]->items[1]->number, 300);
  EXPECT_EQ(pickle->root->items[2]->number, -5);
}

TEST(PickleError, Words) {
  const std::string expected = "; expected a pickle of arrays, sparse matrices or dictionaries of lists";
  EXPECT_EQ(errorOf(parsePickle("", "a")), "a: byte 0: ends before the pickle does" + expected);
  EXPECT_EQ(errorOf(parsePickle("\x80\x02.", "a")), "a: byte 3: stops without a value" + expected);
  EXPECT_EQ(errorOf(parsePickle("i", "a")),
            "a: byte 1: the pickle has the instruction 0x69, which is not supported" + expected);
  EXPECT_EQ(errorOf(parsePickle("K\x01K\x02R.", "a")), "a: byte 5: something that has no name is called" + expected);
  EXPECT_EQ(errorOf(parsePickle(std::string("T\xff\xff\xff\x7f"
                                            "ab"),
                                "a")),
            "a: byte 5: the pickle is incomplete" + expected);
}
