#include "BrokenCases.h"

#include "runtime/storage/Safetensors.h"
#include "test/Process.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

namespace hector::test {

namespace {

/// 1, 2, 3, …, so that every element differs.
Tensor counting(std::vector<int64_t> shape, DType dtype = DType::F32) {
  int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<double> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), 1.0);
  return Tensor::fromDoubles(std::move(shape), values, dtype);
}

Tensor ids(std::vector<int64_t> values, DType dtype = DType::I64) {
  return Tensor::fromInt64({static_cast<int64_t>(values.size())}, values, dtype);
}

/// Four nodes of two types, five edges of two types; the inputs of `layer.hec` and of the models.
TensorFile goodCase() {
  TensorFile file;
  file.tensors["graph.src"] = ids({0, 1, 0, 1, 3});
  file.tensors["graph.dst"] = ids({2, 2, 3, 3, 0});
  file.tensors["graph.etype"] = ids({0, 0, 0, 0, 1});
  file.tensors["graph.ntype_ptr"] = ids({0, 2, 4});
  file.tensors["x"] = counting({4, 4});
  file.tensors["w"] = counting({5});
  file.tensors["W"] = counting({2, 4, 6});
  file.tensors["V"] = counting({2, 4, 4});
  file.tensors["K"] = counting({2, 4, 4});
  file.tensors["a"] = counting({6});
  file.tensors["bias"] = counting({4});
  file.tensors["feat"] = counting({4, 4});
  return file;
}

using Change = std::function<void(TensorFile &)>;
using Damage = std::function<void(std::string &)>;

/// Replaces the first `from` in a file's header, and makes the header's length fit.
void patch(std::string &bytes, std::string_view from, std::string_view to) {
  bytes.replace(bytes.find(from), from.size(), to);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  length += to.size() - from.size();
  std::memcpy(bytes.data(), &length, sizeof length);
}

}  // namespace

void writeCases(const std::filesystem::path &folder) {
  const std::pair<const char *, Change> changes[] = {
      {"good", [](TensorFile &) {}},
      {"src-out-of-range", [](TensorFile &file) { file.tensors["graph.src"] = ids({0, 1, 0, 4, 3}); }},
      {"dst-negative", [](TensorFile &file) { file.tensors["graph.dst"] = ids({2, -1, 3, 3, 0}); }},
      {"etype-out-of-range", [](TensorFile &file) { file.tensors["graph.etype"] = ids({0, 0, 0, 0, 2}); }},
      {"etype-missing", [](TensorFile &file) { file.tensors.erase("graph.etype"); }},
      {"src-float", [](TensorFile &file) { file.tensors["graph.src"] = counting({5}); }},
      {"src-nan",
       [](TensorFile &file) {
         double values[] = {0.0, NAN, 0.0, 1.0, 3.0};
         file.tensors["graph.src"] = Tensor::fromDoubles({5}, values, DType::F64);
       }},
      {"src-short-ints", [](TensorFile &file) { file.tensors["graph.src"] = ids({0, 1, 0, 1, 3}, DType::I16); }},
      {"src-matrix", [](TensorFile &file) { file.tensors["graph.src"].shape = {5, 1}; }},
      {"src-missing", [](TensorFile &file) { file.tensors.erase("graph.src"); }},
      {"src-misspelt",
       [](TensorFile &file) {
         file.tensors["graph.source"] = file.tensors["graph.src"];
         file.tensors.erase("graph.src");
       }},
      {"dst-short", [](TensorFile &file) { file.tensors["graph.dst"] = ids({2, 2, 3, 3}); }},
      {"ntype-not-from-zero", [](TensorFile &file) { file.tensors["graph.ntype_ptr"] = ids({1, 2, 4}); }},
      {"ntype-decreases", [](TensorFile &file) { file.tensors["graph.ntype_ptr"] = ids({0, 3, 2, 4}); }},
      {"x-missing", [](TensorFile &file) { file.tensors.erase("x"); }},
      {"bias-misspelt",
       [](TensorFile &file) {
         file.tensors["bais"] = file.tensors["bias"];
         file.tensors.erase("bias");
       }},
      {"x-integers", [](TensorFile &file) { file.tensors["x"] = counting({4, 4}, DType::I64); }},
      {"graph-alone",
       [](TensorFile &file) {
         std::erase_if(file.tensors, [](const auto &entry) { return !entry.first.starts_with("graph."); });
       }},
      {"state-dict",
       [](TensorFile &file) { file.tensors = {{"conv1.weight", counting({2, 6, 4})}, {"conv1.bias", counting({4})}}; }},
      {"x-rows", [](TensorFile &file) { file.tensors["x"] = counting({3, 4}); }},
      {"w-rows", [](TensorFile &file) { file.tensors["w"] = counting({4}); }},
      {"x-rank", [](TensorFile &file) { file.tensors["x"] = counting({4, 2, 2}); }},
      {"x-scalar", [](TensorFile &file) { file.tensors["x"] = counting({}); }},
      {"x-no-columns", [](TensorFile &file) { file.tensors["x"] = counting({4, 0}); }},
      {"size-conflict", [](TensorFile &file) { file.tensors["W"] = counting({2, 3, 6}); }},
      {"not-a-multiple", [](TensorFile &file) { file.tensors["W"] = counting({2, 4, 7}); }},
      {"etype-lengths", [](TensorFile &file) { file.tensors["V"] = counting({3, 4, 4}); }},
      {"both-names", [](TensorFile &file) { file.tensors["param.x"] = file.tensors["x"]; }},
      {"grad-shape", [](TensorFile &file) { file.tensors["grad.out"] = counting({4, 3}); }},
      {"grad-misspelt", [](TensorFile &file) { file.tensors["grad.oot"] = counting({4, 4}); }},
      {"too-few-weights",
       [](TensorFile &file) { file.metadata["edge_types"] = R"(["writes", "cites", "has", "is"])"; }},
      {"too-many-weights",
       [](TensorFile &file) {
         file.metadata["edge_types"] = R"(["all", "others"])", file.tensors["V"] = counting({3, 4, 4});
       }},
      {"edge-types-not-json", [](TensorFile &file) { file.metadata["edge_types"] = "writes, cites"; }},
      {"node-types-differ", [](TensorFile &file) { file.metadata["node_types"] = R"(["a", "b", "c"])"; }},
      {"x-rows-alone",
       [](TensorFile &file) {
         file.tensors.erase("graph.ntype_ptr");
         file.tensors["x"] = counting({3, 4});
       }},
      {"types-beyond-limit",
       [](TensorFile &file) {
         file.tensors["V"] = counting({int64_t{1} << 40, 0, 4});
         file.tensors["W"] = counting({int64_t{1} << 40, 0, 6});
       }},
      {"mixed-relation", [](TensorFile &file) { file.tensors["graph.src"] = ids({0, 2, 0, 1, 3}); }},
  };
  for (const auto &[name, change] : changes) {
    TensorFile file = goodCase();
    change(file);
    if (!writeSafetensors((folder / (std::string(name) + ".safetensors")).string(), file).isOk())
      return;
  }

  const std::pair<const char *, Damage> damages[] = {
      {"empty", [](std::string &bytes) { bytes.clear(); }},
      {"four-bytes", [](std::string &bytes) { bytes.resize(4); }},
      {"truncated-header", [](std::string &bytes) { bytes.resize(200); }},
      {"truncated-data", [](std::string &bytes) { bytes.resize(bytes.size() - 10); }},
      {"trailing-bytes", [](std::string &bytes) { bytes += "more"; }},
      {"huge-header",
       [](std::string &bytes) {
         uint64_t length = UINT64_MAX;
         std::memcpy(bytes.data(), &length, sizeof length);
       }},
      {"not-json", [](std::string &bytes) { patch(bytes, "\":{\"dtype\"", "\"={\"dtype\""); }},
      {"not-safetensors", [](std::string &bytes) { bytes = "node,edge\n1,2\n3,4\n" + std::string(40, ' '); }},
      {"unknown-dtype", [](std::string &bytes) { patch(bytes, "\"I64\"", "\"I63\""); }},
      {"dtype-too-wide", [](std::string &bytes) { patch(bytes, "\"F32\"", "\"F64\""); }},
      {"overlapping-offsets", [](std::string &bytes) { patch(bytes, "[40,80]", "[32,72]"); }},
      {"overflowing-offsets", [](std::string &bytes) { patch(bytes, "[40,80]", "[40,18446744073709551656]"); }},
      {"offset-beyond-file", [](std::string &bytes) { patch(bytes, "[40,80]", "[40,9999]"); }},
      {"negative-offset", [](std::string &bytes) { patch(bytes, "[40,80]", "[-4,80]"); }},
      {"shape-overflow", [](std::string &bytes) { patch(bytes, "[5]", "[5,4611686018427387904,4]"); }},
  };
  std::string good = readText(folder / "good.safetensors");
  for (const auto &[name, damage] : damages) {
    std::string bytes = good;
    damage(bytes);
    writeText(folder / (std::string(name) + ".safetensors"), bytes);
  }
}

}  // namespace hector::test
