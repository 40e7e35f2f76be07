/// Runs the examples of the documentation, so that none of them can go stale. In every `docs/**/*.md`:
///
///   ```graph           of language.md: tensors that all examples share, `name = JSON` a line (graph.* are ids)
///   ```hec ARGS        a model; it must run on those tensors, or, where ARGS bind sizes, compile
///   ```inputs          after a model: tensors for it alone
///   ```result          after a model: what it computes, to four digits
///   ```hec-error ARGS  a wrong model; the ```text block after it is all that is printed
///
/// `docs/generated` holds what commands print. HECTOR_REGEN=1 rewrites it, and ```result and ```text blocks; read the
/// difference before committing it.

#include "runtime/storage/Safetensors.h"
#include "test/Process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace hector::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kDocs = fs::path(HECTOR_SOURCE_DIR) / "docs";

/// A fenced block: its first word, the rest of that line, and the lines between the fences.
struct Fence {
  std::string kind;
  std::string arguments;
  std::string body;
  size_t line = 0;  // of the document, where the body starts, from 0
  size_t numLines = 0;
};

std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::vector<Fence> findFences(const std::string &text) {
  std::vector<Fence> fences;
  std::vector<std::string> lines = splitLines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("```"))
      continue;
    Fence fence;
    std::string head = lines[i].substr(3);
    size_t space = std::min(head.find(' '), head.size());
    fence.kind = head.substr(0, space);
    fence.arguments = head.substr(space);
    fence.line = i + 1;
    for (++i; i < lines.size() && lines[i] != "```"; ++i, ++fence.numLines)
      fence.body += lines[i] + "\n";
    fences.push_back(std::move(fence));
  }
  return fences;
}

void flatten(const json &value, std::vector<double> &numbers) {
  if (value.is_array())
    for (const json &item : value)
      flatten(item, numbers);
  else
    numbers.push_back(value.is_number() ? value.get<double>() : NAN);
}

std::vector<int64_t> shapeOf(const json &value) {
  std::vector<int64_t> shape;
  for (const json *at = &value; at->is_array(); at = &at->front()) {
    shape.push_back(static_cast<int64_t>(at->size()));
    if (at->empty())
      break;
  }
  return shape;
}

/// Adds the `name = JSON` lines of a block to `file`.
void addTensors(const Fence &fence, TensorFile &file) {
  for (const std::string &line : splitLines(fence.body)) {
    size_t equals = line.find('=');
    ASSERT_NE(equals, std::string::npos) << "line " << fence.line << ": `" << line << "` is not `name = JSON`";
    std::string name = line.substr(0, line.find_last_not_of(' ', equals - 1) + 1);
    json value = json::parse(line.substr(equals + 1), nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << "line " << fence.line << ": `" << line << "` is not JSON";
    std::vector<double> numbers;
    flatten(value, numbers);
    bool isIds = name.starts_with("graph.");
    file.tensors[name] = Tensor::fromDoubles(shapeOf(value), numbers, isIds ? DType::I64 : DType::F64);
  }
}

std::string format(const Tensor &tensor) {
  std::vector<double> values = tensor.toDoubles();
  size_t next = 0;
  std::function<std::string(size_t)> print = [&](size_t axis) -> std::string {
    if (axis == tensor.shape.size()) {
      char buffer[32];
      double value = values[next++];
      std::snprintf(buffer, sizeof buffer, "%.4g", value == 0.0 ? 0.0 : value);
      return std::isnan(value) ? "nan" : buffer;  // whatever its sign
    }
    std::string text = "[";
    for (int64_t i = 0; i < tensor.shape[axis]; ++i)
      text += (i ? ", " : "") + print(axis + 1);
    return text + "]";
  };
  return print(0);
}

/// The names that a `result` block shows, in order.
std::vector<std::string> resultNames(const Fence &fence) {
  std::vector<std::string> names;
  for (const std::string &line : splitLines(fence.body))
    names.push_back(line.substr(0, line.find_first_of(" =")));
  return names;
}

class DocsTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    text = readText(kDocs / GetParam());
    lines = splitLines(text);
  }
  /// Replaces a block's lines, when regenerating. Blocks are visited in order, so earlier changes shift later ones.
  void replace(const Fence &fence, const std::string &body) {
    auto first = lines.begin() + static_cast<ptrdiff_t>(fence.line) + shift;
    std::vector<std::string> fresh = splitLines(body);
    auto at = lines.erase(first, first + static_cast<ptrdiff_t>(fence.numLines));
    lines.insert(at, fresh.begin(), fresh.end());
    shift += static_cast<ptrdiff_t>(fresh.size()) - static_cast<ptrdiff_t>(fence.numLines);
  }

  bool isRegen = std::getenv("HECTOR_REGEN") != nullptr;
  std::string text;
  std::vector<std::string> lines;
  ptrdiff_t shift = 0;
};

TEST_P(DocsTest, ExamplesSayTheTruth) {
  Workspace workspace(HECTOR_PROGRAM);
  std::vector<Fence> fences = findFences(text);
  TensorFile shared;
  for (const Fence &fence : findFences(readText(kDocs / "language.md")))
    if (fence.kind == "graph")
      addTensors(fence, shared);
  size_t next = 0;  // behind the blocks that belong to the latest model
  for (size_t i = 0; i < fences.size(); ++i) {
    const Fence &fence = fences[i];
    SCOPED_TRACE(GetParam() + ":" + std::to_string(fence.line));
    EXPECT_TRUE(fence.kind != "result" || i < next) << "this result belongs to no model";
    bool isError = fence.kind == "hec-error";
    if (fence.kind != "hec" && !isError)
      continue;

    TensorFile file = shared;
    next = i + 1;
    if (next < fences.size() && fences[next].kind == "inputs")
      addTensors(fences[next++], file);
    fs::path folder = workspace.folder();
    writeText(folder / "model.hec", fence.body);
    ASSERT_TRUE(writeSafetensors((folder / "case.safetensors").string(), file).isOk());
    fs::remove(folder / "out.safetensors");
    bool compiles = fence.arguments.find("--size") != std::string::npos;
    Outcome outcome = workspace.run(compiles ? "hector compile model.hec --emit flow" + fence.arguments
                                             : "hector run model.hec --case case.safetensors --out out.safetensors"
                                               " --backend interp" +
                                                   fence.arguments);
    if (isError) {
      EXPECT_EQ(outcome.exitCode, 2);
      ASSERT_TRUE(next < fences.size() && fences[next].kind == "text") << "a text block must follow";
      if (isRegen)
        replace(fences[next], outcome.output);
      else
        EXPECT_EQ(outcome.output, fences[next].body);
      continue;
    }
    EXPECT_EQ(outcome.exitCode, 0) << fence.body << outcome.output;
    if (outcome.exitCode != 0 || compiles || next == fences.size() || fences[next].kind != "result")
      continue;
    auto out = readSafetensors((folder / "out.safetensors").string());
    ASSERT_TRUE(out);
    std::string actual;
    for (const std::string &name : resultNames(fences[next])) {
      const Tensor *tensor = out->find(name);
      ASSERT_TRUE(tensor) << "the model has no result `" << name << "`";
      actual += name + " = " + format(*tensor) + "\n";
    }
    if (isRegen)
      replace(fences[next], actual);
    else
      EXPECT_EQ(actual, fences[next].body);
    ++next;
  }
  if (isRegen) {
    std::string fresh;
    for (const std::string &line : lines)
      fresh += line + "\n";
    writeText(kDocs / GetParam(), fresh);
  }
}

/// The documents that hold examples.
std::vector<std::string> findDocuments() {
  std::vector<std::string> names;
  for (const auto &entry : fs::recursive_directory_iterator(kDocs))
    if (entry.path().extension() == ".md" && readText(entry.path()).find("\n```hec") != std::string::npos)
      names.push_back(fs::relative(entry.path(), kDocs).string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

/// docs/rationale/kern.md reads this code with its reader.
TEST(GeneratedTest, CodeOfRgatIsAsEmitted) {
  Workspace workspace(HECTOR_PROGRAM);
  const fs::path shown = kDocs / "generated" / "rgat.cpp";
  fs::copy_file(fs::path(HECTOR_SOURCE_DIR) / "models" / "rgat.hec", workspace.folder() / "rgat.hec");
  Outcome outcome = workspace.run("hector compile rgat.hec --size d_in=64 --size d_out=64 --grad --emit cpp");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  if (std::getenv("HECTOR_REGEN"))
    writeText(shown, outcome.output);
  else
    EXPECT_EQ(outcome.output, readText(shown)) << "run utils/regen and read the difference";
}

INSTANTIATE_TEST_SUITE_P(Documents, DocsTest, testing::ValuesIn(findDocuments()), testName);

}  // namespace
}  // namespace hector::test
