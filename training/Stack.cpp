#include "training/Stack.h"

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "driver/Initial.h"
#include "language/Diagnostics.h"
#include "runtime/base/BigVector.h"
#include "runtime/base/Text.h"
#include "training/Number.h"
#include "training/Shipped.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <span>

namespace hector::training {

using language::Home;
using language::InputDecl;

flow::OptimiserKind kindOf(OptimiserKind optimiser) {
  switch (optimiser) {
  case OptimiserKind::Sgd:
    return flow::OptimiserKind::Sgd;
  case OptimiserKind::Adam:
    return flow::OptimiserKind::Adam;
  case OptimiserKind::AdamW:
    break;
  }
  return flow::OptimiserKind::AdamW;
}

// --- starting values
// --------------------------------------------------------------------------------------------------

Tensor startingTensor(const Parameter &parameter, uint64_t seed) {
  const InputDecl decl = {parameter.name, {}, parameter.home, {}};
  Tensor drawn = initialTensor(decl, parameter.shape, seed);
  if (parameter.start == Start::Spread)
    return drawn;
  auto values = std::make_shared<BigVector<float>>(static_cast<size_t>(drawn.numElements()));
  std::fill(values->begin(), values->end(), parameter.start == Start::One ? 1.0F : 0.0F);
  if (parameter.start == Start::Embedding) {
    // Rows of length 1, on average.
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(parameter.shape.back())));
    const auto *from = reinterpret_cast<const float *>(drawn.bytes);
    for (size_t i = 0; i < values->size(); ++i)
      (*values)[i] = from[i] * scale;
  }
  drawn.bytes = reinterpret_cast<const std::byte *>(values->data());
  drawn.owner = std::move(values);
  return drawn;
}

// --- texts
// ------------------------------------------------------------------------------------------------------------

static std::string_view functionOf(Activation activation) {
  switch (activation) {
  case Activation::None:
    return "";
  case Activation::Relu:
    return "relu";
  case Activation::LeakyRelu:
    return "leakyrelu";
  case Activation::Elu:
    return "elu";
  case Activation::Gelu:
    return "gelu";
  case Activation::Silu:
    return "silu";
  case Activation::Tanh:
    break;
  }
  return "tanh";
}

/// What follows a layer, as a model: the row made flat, then norm, activation, residual and dropout.
static std::string glueText(std::span<const int64_t> row, Norm norm, Activation activation, bool hasSkip,
                            double dropout) {
  std::string sizes;
  int64_t flat = 1;
  for (int64_t size : row) {
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    flat *= size;
  }
  const std::string width = std::to_string(flat);
  std::string text = "def glue(g, x: Node[" + sizes + "]";
  if (norm == Norm::Layer)
    text += ", scale: Shared[" + width + "], shift: Shared[" + width + "]";
  if (hasSkip)
    text += ", skip: Node[" + width + "]";
  text += "):\n    for n in g.nodes():\n        h = n.x\n";
  if (row.size() != 1)
    text += "        h = reshape(h, " + width + ")\n";
  if (norm == Norm::Layer)
    text += "        h = layer_norm(h) * scale + shift\n";
  if (norm == Norm::Unit)
    text += "        h = normalize(h)\n";
  if (activation != Activation::None)
    text += "        h = " + std::string(functionOf(activation)) + "(h)\n";
  if (hasSkip)
    text += "        h = h + n.skip\n";
  if (dropout > 0)
    text += "        h = dropout(h, " + formatNumber(dropout) + ")\n";
  return text + "        n[\"out\"] = h\n    return n[\"out\"]\n";
}

constexpr const char *kLinear = R"(def linear_layer(g, x: Node[d_in], W: Shared[d_in, d_out], bias: Shared[d_out]):
    for n in g.nodes():
        n["out"] = n.x * W + bias
    return n["out"]
)";

constexpr const char *kProjection = R"(def project(g, x: Node[d_in], W: NodeType[d_in, d_out], bias: NodeType[d_out]):
    for n in g.nodes():
        n["out"] = n.x * W[n.ntype] + bias[n.ntype]
    return n["out"]
)";

constexpr const char *kIdentity = R"(def rows(g, x: Node[d]):
    for n in g.nodes():
        n["out"] = n.x
    return n["out"]
)";

namespace {

struct BoundText {
  Model model;
  language::Binding binding;
};

}  // namespace

static Result<BoundText> bindText(const std::string &text, const std::string &name,
                                  const std::map<std::string, int64_t> &sizes) {
  auto model = parseModel(text, name);
  if (!model)
    return std::move(model).status();
  auto binding = bind(*model);
  if (!binding)
    return std::move(binding).status();
  binding->sizes.insert(sizes.begin(), sizes.end());
  return BoundText{std::move(*model), std::move(*binding)};
}

Result<Program> importText(const std::string &text, const std::string &name,
                           const std::map<std::string, int64_t> &sizes,
                           const std::shared_ptr<mlir::MLIRContext> &context) {
  auto bound = bindText(text, name, sizes);
  if (!bound)
    return std::move(bound).status();
  return Program::import(bound->model, bound->binding, {}, context);
}

// --- building
// ---------------------------------------------------------------------------------------------------------

/// Some rows of a tensor.
static Tensor selectRows(const Tensor &tensor, std::span<const int64_t> rows) {
  const size_t all = static_cast<size_t>(tensor.shape.front()), bytes = all == 0 ? 0 : tensor.numBytes() / all;
  auto memory = std::make_shared<std::vector<std::byte>>(rows.size() * bytes);
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(tensor.bytes + static_cast<size_t>(rows[i]) * bytes, bytes, memory->data() + i * bytes);
  Tensor selected = tensor;
  selected.shape.front() = static_cast<int64_t>(rows.size());
  selected.bytes = memory->data();
  selected.owner = std::move(memory);
  return selected;
}

class Stack::Builder {
public:
  Builder(const Config &config, const GraphFile &graph, const KeptLayers &kept, Stack &stack)
      : config(config), graph(graph), kept(kept), stack(stack), context(makeContext()) {}

  Status addInput();
  Status addStages();
  Status addLayer(size_t index, int64_t width);
  Status addHead(int64_t width);
  int64_t width() const { return size; }
  const std::string &value() const { return current; }

private:
  int64_t rowsOf(Home home) const;
  void addParameter(const std::string &name, const InputDecl &input, std::vector<int64_t> row, Start start);
  /// Adds a text whose input `x` is the current value; parameters and sizes as given.
  Status addText(const std::string &name, const std::string &text, const std::map<std::string, int64_t> &sizes,
                 std::map<std::string, std::string> wires, const std::map<std::string, Start> &starts);
  Status addGlue(const std::string &name, std::span<const int64_t> row, Norm norm, Activation activation,
                 const std::string &skip, double dropout);
  /// Lists the inputs of a program that is about to be added as parameters and features.
  Status addInputs(const std::string &place, const language::Signature &signature, const language::Binding &binding,
                   const Program &program, std::map<std::string, std::string> &wires,
                   const std::map<std::string, Start> &starts);
  /// Fails if features are not those that a kept run reads.
  Status checkKeptFeatures(const Tensor *x, bool hasParts) const;
  /// Binds what the configuration, what the layer reads and what is kept decide.
  Result<language::Binding> bindLayer(const std::string &name, const std::string &place, const LayerConfig &layer,
                                      const Model &model, const InputDecl &rows) const;
  /// Imports the layer, with values for the sizes that are open: such that the result has `layer.size` numbers per
  /// node or, as far as that is possible, `width`.
  Result<Program> fitLayer(const std::string &place, const LayerConfig &layer, const Model &model, int64_t width,
                           language::Binding &binding) const;
  std::optional<int64_t> firstSize() const;

  const Config &config;
  const GraphFile &graph;
  const KeptLayers &kept;
  Stack &stack;
  std::shared_ptr<mlir::MLIRContext> context;
  std::string current;  // the value that the next layer reads
  int64_t size = 0;     // its numbers per node
};

int64_t Stack::Builder::rowsOf(Home home) const {
  switch (home) {
  case Home::Node:
    return graph.graph.numNodes();
  case Home::Edge:
    return graph.graph.numEdges();
  case Home::EdgeType:
    return graph.graph.numRelations();
  case Home::NodeType:
    return graph.graph.numNodeTypes();
  case Home::Shared:
    break;
  }
  return 1;
}

void Stack::Builder::addParameter(const std::string &name, const InputDecl &input, std::vector<int64_t> row,
                                  Start start) {
  if (input.home != Home::Shared)
    row.insert(row.begin(), rowsOf(input.home));
  stack.learnt.push_back({name, std::move(row), input.home, start});
}

/// Whether an input is only added to something: a bias, which starts at 0.
static bool isBias(const Program &program, unsigned index) {
  mlir::Value argument = program.function().getArgument(index);
  return !argument.use_empty() &&
         llvm::all_of(argument.getUsers(), [](mlir::Operation *user) { return mlir::isa<flow::AddOp>(user); });
}

Status Stack::Builder::addInputs(const std::string &place, const language::Signature &signature,
                                 const language::Binding &binding, const Program &program,
                                 std::map<std::string, std::string> &wires,
                                 const std::map<std::string, Start> &starts) {
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const InputDecl &input = signature.inputs[i];
    if (wires.contains(input.name))
      continue;
    language::Diagnostics diagnostics;
    auto row = language::rowShape(input, binding, diagnostics);
    if (!row)
      return Status::located(diagnostics.render());
    if (input.home == Home::EdgeType || input.home == Home::NodeType || input.home == Home::Shared) {
      auto given = starts.find(input.name);
      const Start start = given != starts.end()                                        ? given->second
                          : !row->empty() && isBias(program, static_cast<unsigned>(i)) ? Start::Zero
                                                                                       : Start::Spread;
      addParameter(place + "." + input.name, input, std::move(*row), start);
      continue;
    }
    const Tensor *tensor = graph.tensors.find(input.name);
    if (!tensor)
      return Status::invalid(place + " needs the input " + inTicks(input.name) + ", one row per " +
                             (input.home == Home::Node ? "node" : "edge") +
                             ", but the graph file has no tensor of that name");
    const bool isOfSome = input.home == Home::Edge && graph.edges;
    std::vector<int64_t> shape = *row;
    shape.insert(shape.begin(), isOfSome ? graph.tensors.find("edge.split")->numElements() : rowsOf(input.home));
    if (tensor->shape != shape)
      return Status::invalid("the graph file's " + inTicks(input.name) + " has shape " + formatShape(tensor->shape) +
                             ", but " + place + " needs " + formatShape(shape));
    stack.read[input.name] = isOfSome ? selectRows(*tensor, *graph.edges) : *tensor;
    wires[input.name] = input.name;
  }
  return Status::ok();
}

Status Stack::Builder::addText(const std::string &name, const std::string &text,
                               const std::map<std::string, int64_t> &sizes, std::map<std::string, std::string> wires,
                               const std::map<std::string, Start> &starts) {
  auto bound = bindText(text, name, sizes);
  if (!bound)
    return std::move(bound).status();
  auto program = Program::import(bound->model, bound->binding, {}, context);
  if (!program)
    return std::move(program).status();
  if (Status status = addInputs(name, bound->model.signature, bound->binding, *program, wires, starts); !status.isOk())
    return status;
  auto row = mlir::cast<flow::RowsType>(program->function().getResultTypes().front()).getShape();
  size = row.empty() ? 1 : row.back();
  stack.pieces.push_back({name, std::move(*program), std::move(wires)});
  current = name + ".out";
  return Status::ok();
}

Status Stack::Builder::addGlue(const std::string &name, std::span<const int64_t> row, Norm norm, Activation activation,
                               const std::string &skip, double dropout) {
  if (row.size() == 1 && norm == Norm::None && activation == Activation::None && skip.empty() && dropout == 0)
    return Status::ok();
  std::map<std::string, std::string> wires = {{"x", current}};
  if (!skip.empty())
    wires["skip"] = skip;
  return addText(name, glueText(row, norm, activation, !skip.empty(), dropout), {}, std::move(wires),
                 {{"scale", Start::One}, {"shift", Start::Zero}});
}

/// The first size among the layers, if one has a size.
std::optional<int64_t> Stack::Builder::firstSize() const {
  for (const LayerConfig &layer : config.layers)
    if (layer.size)
      return layer.size;
  return std::nullopt;
}

/// A name of the graph file for a line on a terminal.
static std::string shown(std::string_view name) {
  const std::string ticked = inTicks(name);
  return ticked.substr(1, ticked.size() - 2);
}

/// Rows of each node type by themselves, as their features have different widths.
Status Stack::Builder::addStages() {
  size = config.input.size ? *config.input.size : firstSize().value_or(64);
  const std::span<const int64_t> ptr = graph.graph.ntypePtr();
  std::string projected, learnt;
  for (size_t k = 0; k + 1 < ptr.size(); ++k) {
    InputStage stage;
    stage.name = graph.nodeTypes[k];
    stage.part = "input." + stage.name;
    stage.first = ptr[k];
    stage.count = ptr[k + 1] - ptr[k];
    if (stage.count == 0)
      continue;
    std::map<std::string, int64_t> sizes = {{"d", size}};
    const Tensor *features = graph.tensors.find("feat." + stage.name);
    if (features && features->shape.size() == 2 && features->shape[1] > 0) {
      stage.features = *features;
      const int64_t width = features->shape[1];
      sizes = {{"d_in", width}, {"d_out", size}};
      stage.parameters = {{stage.part + ".W", {width, size}, Home::Shared, Start::Spread},
                          {stage.part + ".bias", {size}, Home::Shared, Start::Zero}};
      stage.wires = {{"x", "features"}};
      projected += (projected.empty() ? "" : ", ") + shown(stage.name) + " " + std::to_string(width);
    } else {
      stage.parameters = {{stage.part + ".embedding", {stage.count, size}, Home::Node, Start::Embedding}};
      stage.wires = {{"x", stage.part + ".embedding"}};
      learnt += (learnt.empty() ? "" : ", ") + shown(stage.name);
    }
    auto program = importText(stage.features ? kLinear : kIdentity, stage.part, sizes, makeContext());
    if (!program)
      return std::move(program).status();
    stage.program = std::make_shared<const Program>(std::move(*program));
    stack.inputStages.push_back(std::move(stage));
  }
  current = "x";
  stack.lines.push_back("input: features projected to " + std::to_string(size) + " numbers (" + projected + ")" +
                        (learnt.empty() ? "" : "; embeddings of " + learnt));
  return Status::ok();
}

Status Stack::Builder::checkKeptFeatures(const Tensor *x, bool hasParts) const {
  if (kept.parameters.empty() || config.input.kind != InputKind::Features)
    return Status::ok();
  constexpr std::string_view kPart = "input.", kHelp = "; give a graph with the features of training";
  // Features of a node type have `input.TYPE.W`, projected features of all nodes `input.W`.
  std::map<std::string, int64_t> parts;
  for (const auto &[name, tensor] : kept.parameters)
    if (name.starts_with(kPart) && name.ends_with(".W") && name.size() > kPart.size() + 2 && !tensor.shape.empty())
      parts.emplace("feat." + name.substr(kPart.size(), name.size() - kPart.size() - 2), tensor.shape[0]);
  if (parts.empty()) {
    const int64_t width = kept.featureWidth;
    const std::string had =
        "the run reads features `x`" + (width > 0 ? " of " + counted(width, "number") + " per node" : std::string());
    if (!x)
      return Status::invalid(had + ", but the graph has " + (hasParts ? "`feat.TYPE` instead" : "none") +
                             std::string(kHelp));
    if (width > 0 && x->shape.size() == 2 && x->shape[1] != width)
      return Status::invalid(had + ", but those of the graph have " + std::to_string(x->shape[1]) + std::string(kHelp));
    return Status::ok();
  }
  if (x)
    return Status::invalid("the run reads features by node type, such as " + inTicks(parts.begin()->first) +
                           ", but the graph has `x`, which would be read instead" + std::string(kHelp));
  for (const auto &[name, width] : parts) {
    const Tensor *features = graph.tensors.find(name);
    const bool hasRows = features && features->shape.size() == 2;
    if (!hasRows || features->shape[1] != width)
      return Status::invalid(
          "the run reads features " + inTicks(name) + " of " + counted(width, "number") + " per node, but " +
          (hasRows ? "those of the graph have " + std::to_string(features->shape[1]) : "the graph has none") +
          std::string(kHelp));
  }
  return Status::ok();
}

Status Stack::Builder::addInput() {
  const InputConfig &input = config.input;
  const Tensor *features = graph.tensors.find("x");
  const bool hasParts = std::any_of(graph.nodeTypes.begin(), graph.nodeTypes.end(), [&](const std::string &type) {
    return graph.tensors.find("feat." + type) != nullptr;
  });
  const bool wantsFeatures =
      input.kind == InputKind::Features || (input.kind == InputKind::Auto && (features || hasParts));
  if (Status status = checkKeptFeatures(features, hasParts); !status.isOk())
    return status;
  if (wantsFeatures && !features && !hasParts)
    return Status::invalid(
        "the input is to be features, but the graph file has neither a tensor `x` with one row per node "
        "nor `feat.TYPE` for a node type; use embeddings");
  stack.kind = wantsFeatures ? InputKind::Features : InputKind::Embedding;
  if (wantsFeatures && !features) {
    if (Status status = addStages(); !status.isOk())
      return status;
  } else if (wantsFeatures) {
    if (features->shape.size() == 2 && features->shape[1] == 0)
      return Status::invalid("the graph file's `x` has shape " + formatShape(features->shape) +
                             ", so it has no columns; expected at least one number per node, or use --input embedding");
    if (features->shape.size() != 2 || features->shape[0] != graph.graph.numNodes())
      return Status::invalid("the graph file's `x` has shape " + formatShape(features->shape) +
                             ", but a row for each of " + std::to_string(graph.graph.numNodes()) + " nodes is needed");
    stack.read["x"] = *features;
    current = "x";
    size = stack.xWidth = features->shape[1];
    stack.lines.push_back("input: features of " + std::to_string(size) + " numbers");
    if (input.size && *input.size != size) {
      stack.lines.back() += ", projected to " + std::to_string(*input.size) + " by node type";
      if (Status status = addText("input", kProjection, {{"d_in", size}, {"d_out", *input.size}}, {{"x", "x"}}, {});
          !status.isOk())
        return status;
    }
  } else {
    size = input.size ? *input.size : firstSize().value_or(64);
    current = "embedding";
    addParameter("embedding", {"embedding", {}, Home::Node, {}}, {size}, Start::Embedding);
    stack.lines.push_back("input: embeddings of " + std::to_string(size) + " numbers");
  }
  stack.inputSize = size;
  const int64_t row[] = {size};
  return addGlue("input_glue", row, Norm::None, input.activation, "", input.dropout);
}

/// The value of a size that counts the parts of a layer, if nothing else decides it. Other open sizes are as large as
/// the result.
static std::optional<int64_t> usualCount(std::string_view size) {
  if (size == "heads")
    return 1;
  if (size == "kernels")
    return 4;
  if (size == "bases")
    return 8;
  return std::nullopt;
}

/// The input of a layer that its rows come from: the one called `x`, or the only one of nodes.
static const InputDecl *rowsInput(const language::Signature &signature) {
  const InputDecl *only = nullptr;
  int count = 0;
  for (const InputDecl &input : signature.inputs)
    if (input.home == Home::Node) {
      if (input.name == "x")
        return &input;
      only = &input;
      ++count;
    }
  return count == 1 ? only : nullptr;
}

Result<language::Binding> Stack::Builder::bindLayer(const std::string &name, const std::string &place,
                                                    const LayerConfig &layer, const Model &model,
                                                    const InputDecl &rows) const {
  Settings settings;
  for (const auto &[size, value] : layer.sizes)
    settings.sizes.push_back(size + "=" + std::to_string(value));
  for (const auto &[word, value] : layer.attributes)
    (model.signature.hasSize(word) ? settings.sizes : settings.attributes).push_back(word + "=" + value);
  auto binding = bind(model, settings);
  if (!binding)
    return std::move(binding).status().during(place);
  bool undecided = false;
  const int64_t shape[] = {size};
  auto bindRows = [&] {
    undecided = false;
    return language::bindShape(rows, shape, "what it reads", *binding, undecided);
  };
  if (auto wrong = bindRows())
    return Status::invalid(place + ": " + *wrong);
  // Tensors that are there decide sizes as well: parameters of a run, and rows of the graph file. One may decide what
  // another leaves open.
  for (size_t known = binding->sizes.size() + 1; known != binding->sizes.size();) {
    known = binding->sizes.size();
    for (const InputDecl &input : model.signature.inputs) {
      const bool isParameter = input.home != Home::Node && input.home != Home::Edge;
      auto found = kept.parameters.find(name + "." + input.name);
      const Tensor *tensor = !isParameter                     ? graph.tensors.find(input.name)
                             : found == kept.parameters.end() ? nullptr
                                                              : &found->second;
      if (!tensor || &input == &rows || language::openSizes(input, *binding).empty())
        continue;
      std::span<const int64_t> row = tensor->shape;
      if (input.home != Home::Shared)
        row = row.subspan(std::min<size_t>(1, row.size()));
      bool isOpen = false;
      if (auto wrong = language::bindShape(input, row, "`" + name + "." + input.name + "`", *binding, isOpen))
        return Status::invalid(place + ": " + *wrong);
    }
  }
  if (undecided)
    if (auto wrong = bindRows())
      return Status::invalid(place + ": " + *wrong);
  if (undecided) {
    for (const std::string &open : language::openSizes(rows, *binding))
      if (const auto count = usualCount(open))
        binding->sizes[open] = *count;
    if (auto wrong = bindRows())
      return Status::invalid(place + ": " + *wrong);
  }
  if (undecided)
    return Status::invalid(place + ": its rows have " + std::to_string(size) + " numbers, but " + inTicks(rows.name) +
                           " leaves sizes open; name them in `sizes`");
  return binding;
}

namespace {

/// Values to try for the open sizes of a layer, the likeliest first.
struct OpenSize {
  std::string name;
  std::vector<int64_t> values;
};

}  // namespace

/// Products of one or several of `values`, largest first.
static std::vector<int64_t> productsOf(const std::vector<int64_t> &values) {
  constexpr size_t kMost = 32;
  constexpr int64_t kLargest = int64_t{1} << 24;
  std::set<int64_t, std::greater<>> products;
  for (int64_t value : values) {
    std::vector<int64_t> more = {value};
    for (int64_t product : products)
      if (product <= kLargest / value)
        more.push_back(product * value);
    if (products.size() < kMost)
      products.insert(more.begin(), more.end());
  }
  return {products.begin(), products.end()};
}

/// All choices of a value for each size; those with fewer second choices come first.
static std::vector<std::vector<int64_t>> choicesOf(const std::vector<OpenSize> &sizes) {
  constexpr size_t kMost = 256;
  std::vector<std::pair<int64_t, std::vector<int64_t>>> all = {{0, {}}};
  for (const OpenSize &open : sizes) {
    std::vector<std::pair<int64_t, std::vector<int64_t>>> longer;
    for (const auto &[second, chosen] : all)
      for (size_t i = 0; i < open.values.size() && longer.size() < kMost; ++i) {
        longer.emplace_back(second + (i > 0), chosen);
        longer.back().second.push_back(open.values[i]);
      }
    all = std::move(longer);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::vector<int64_t>> choices;
  for (auto &[second, chosen] : all)
    choices.push_back(std::move(chosen));
  return choices;
}

/// The result that the next layer reads: the one called `out`, or the only one.
static std::optional<unsigned> rowsResult(const Program &program) {
  mlir::func::FuncOp function = program.function();
  std::optional<unsigned> found;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (mlir::cast<flow::RowsType>(function.getResultTypes()[i]).getDomain() != flow::Domain::Node)
      continue;
    auto name = function.getResultAttrOfType<mlir::StringAttr>(i, "flow.name");
    if (name && name.getValue() == "out")
      return i;
    if (found)
      return std::nullopt;
    found = i;
  }
  return found;
}

static int64_t numbersPerNode(const Program &program, unsigned result) {
  int64_t numbers = 1;
  for (int64_t extent : mlir::cast<flow::RowsType>(program.function().getResultTypes()[result]).getShape())
    numbers *= extent;
  return numbers;
}

Result<Program> Stack::Builder::fitLayer(const std::string &place, const LayerConfig &layer, const Model &model,
                                         int64_t width, language::Binding &binding) const {
  std::vector<int64_t> given;  // that the user set
  std::string givenText;
  for (const auto &[name, value] : binding.sizes)
    if (layer.sizes.contains(name) || layer.attributes.contains(name)) {
      given.push_back(value);
      givenText += (givenText.empty() ? "" : ", ") + name + " " + std::to_string(value);
    }
  std::vector<OpenSize> open;
  for (const InputDecl &input : model.signature.inputs)
    for (const std::string &name : language::openSizes(input, binding))
      if (std::none_of(open.begin(), open.end(), [&](const OpenSize &size) { return size.name == name; }))
        open.push_back({name, {}});
  auto importWith = [&](std::span<const int64_t> values) {
    for (size_t i = 0; i < open.size(); ++i)
      binding.sizes[open[i].name] = values[i];
    return Program::import(model, binding, {}, context);
  };
  // What is kept was accepted when the run began.
  const int64_t wanted = layer.size && kept.parameters.empty() ? *layer.size : 0;
  if (open.empty()) {
    auto program = importWith({});
    const auto result = program ? rowsResult(*program) : std::nullopt;
    if (!result || wanted == 0 || numbersPerNode(*program, *result) == wanted)
      return program;
    const std::string gives = std::to_string(numbersPerNode(*program, *result));
    return Status::invalid(givenText.empty() ? place + " has the size of what it reads, " + std::to_string(size) +
                                                   ", but is given size " + std::to_string(wanted) +
                                                   "; leave it out, or change the size before it"
                                             : place + " is given size " + std::to_string(wanted) + ", but gives " +
                                                   gives + " numbers per node, as its sizes are set (" + givenText +
                                                   "); these contradict each other, so leave one out");
  }

  const int64_t target = layer.size ? *layer.size : width;
  const std::vector<int64_t> products = productsOf(given);
  std::string names;
  for (OpenSize &size : open) {
    const auto count = usualCount(size.name);
    if (count)
      size.values.push_back(*count);
    else if (target > 0)
      size.values.push_back(target);
    for (int64_t product : products)
      if (target > 0 && product > 1 && target % product == 0)
        size.values.push_back(target / product);
    names += (names.empty() ? "" : ", ") + inTicks(size.name);
  }
  std::optional<std::vector<int64_t>> fallback;
  Status failure = Status::ok();
  for (const std::vector<int64_t> &values : choicesOf(open)) {
    auto program = importWith(values);
    if (!program) {
      if (failure.isOk())
        failure = std::move(program).status();
      continue;
    }
    const auto result = rowsResult(*program);
    if (!result || numbersPerNode(*program, *result) == target)
      return program;
    if (!fallback)
      fallback = values;
  }
  // The last layer may give other rows than there are classes; a head follows.
  if (fallback && wanted == 0)
    return importWith(*fallback);
  // A size that the others decide, such as that of a bias: one value fits, and the next one does not.
  if (wanted == 0 && open.size() == 1)
    for (int64_t product : products) {
      const int64_t values[] = {product}, next[] = {product + 1};
      if (importWith(values) && !importWith(next))
        return importWith(values);
    }
  if (wanted == 0 && failure.isOk())
    return Status::invalid(place + " leaves the " + (open.size() == 1 ? "size " : "sizes ") + names +
                           " open; give the layer a size, as in `" + layer.model + ":16`, or name " +
                           (open.size() == 1 ? "it" : "them") + " in `sizes`");
  if (givenText.empty() && !fallback)
    return failure;
  return Status::invalid(place + " cannot give " + counted(target, "number") + " per node" +
                         (givenText.empty() ? "" : " with " + givenText) + "; leave out the size " +
                         std::to_string(target) + " and set by name what is open: " + names +
                         (fallback ? "" : "\n" + failure.message()));
}

Status Stack::Builder::addLayer(size_t index, int64_t width) {
  const LayerConfig &layer = config.layers[index];
  const std::string name = "layer" + std::to_string(index + 1);
  const std::string place = "layer " + std::to_string(index + 1) + " (" + layer.model + ")";
  auto read = [&]() -> Result<Model> {
    if (index < kept.texts.size())
      return parseModel(kept.texts[index], layer.model, layer.entry);
    if (isModelPath(layer.model))
      return loadModel(layer.model, layer.entry);
    const std::string_view text = findText(shippedLayers(), layer.model);
    if (!text.empty())
      return parseModel(std::string(text), layer.model + ".hec", layer.entry);
    std::vector<std::string_view> names;
    std::string all;
    for (const ShippedText &shipped : shippedLayers()) {
      names.push_back(shipped.name);
      all += (all.empty() ? "" : ", ") + std::string(shipped.name);
    }
    const std::string_view near = language::nearest(layer.model, names);
    return Status::invalid("there is no layer " + inTicks(layer.model) +
                           (near.empty() ? "; layers are " + all + ", or a path of a model file"
                                         : "; did you mean `" + std::string(near) + "`?"));
  };
  auto model = read();
  if (!model)
    return std::move(model).status();
  stack.layerTexts.emplace_back(model->source->text());
  const InputDecl *rows = rowsInput(model->signature);
  if (!rows)
    return Status::invalid(place + " has no input `x` with one row per node, which a layer of a stack needs");
  const int64_t before = size;
  auto binding = bindLayer(name, place, layer, *model, *rows);
  if (!binding)
    return std::move(binding).status();
  auto program = fitLayer(place, layer, *model, width, *binding);
  if (!program)
    return std::move(program).status();
  const auto result = rowsResult(*program);
  if (!result)
    return Status::invalid(place + " returns no table `out` with one row per node");
  std::map<std::string, std::string> wires = {{rows->name, current}};
  if (Status status = addInputs(name, model->signature, *binding, *program, wires, {}); !status.isOk())
    return status;
  const std::string resultName = program->function().getResultAttrOfType<mlir::StringAttr>(*result, "flow.name").str();
  const std::vector<int64_t> row(mlir::cast<flow::RowsType>(program->function().getResultTypes()[*result]).getShape());
  stack.pieces.push_back({name, std::move(*program), std::move(wires)});
  const std::string skip = current;
  current = name + "." + resultName;
  size = 1;
  for (int64_t extent : row)
    size *= extent;
  if (layer.residual && before != size)
    return Status::invalid(place + " is residual, but reads rows of " + std::to_string(before) + " numbers and gives " +
                           std::to_string(size));
  stack.lines.push_back(name + ": " + layer.model + ", " + std::to_string(before) + " to " + std::to_string(size) +
                        " numbers");
  return addGlue(name + "_glue", row, layer.norm, layer.activation, layer.residual ? skip : "", layer.dropout);
}

Status Stack::Builder::addHead(int64_t width) {
  stack.lines.push_back("head: linear, " + std::to_string(size) + " to " + std::to_string(width) + " numbers");
  return addText("head", kLinear, {{"d_in", size}, {"d_out", width}}, {{"x", current}}, {});
}

Result<Stack> Stack::make(const Config &config, const GraphFile &graph, int64_t width, const KeptLayers &kept) {
  Stack stack;
  Builder builder(config, graph, kept, stack);
  if (Status status = builder.addInput(); !status.isOk())
    return status;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool isLast = i + 1 == config.layers.size() && !config.head;
    stack.hiddenValue = builder.value();
    if (Status status = builder.addLayer(i, isLast ? width : 0); !status.isOk())
      return status;
  }
  if (width > 0 && (config.head || builder.width() != width)) {
    stack.hiddenValue = builder.value();
    if (Status status = builder.addHead(width); !status.isOk())
      return status;
  }
  // A stack without any layer still is a function.
  if (stack.pieces.empty()) {
    auto program = importText(kIdentity, "rows", {{"d", builder.width()}}, makeContext());
    if (!program)
      return std::move(program).status();
    stack.pieces.push_back({"rows", std::move(*program), {{"x", builder.value()}}});
    stack.outValue = "rows.out";
  } else {
    stack.outValue = builder.value();
  }
  stack.outWidth = builder.width();
  return stack;
}

// --- programs
// ---------------------------------------------------------------------------------------------------------

std::vector<ProgramPart> Stack::parts() const {
  std::vector<ProgramPart> all;
  for (const Piece &piece : pieces)
    all.push_back({piece.name, &piece.program, piece.wires});
  return all;
}

Learning Stack::learning(OptimiserKind optimiser) const {
  Learning learning;
  for (const Parameter &parameter : learnt)
    learning.parameters.push_back(parameter.name);
  learning.gradients = learning.parameters;
  if (!inputStages.empty())
    learning.gradients.push_back("x");
  learning.optimiser = kindOf(optimiser);
  return learning;
}

Result<Program> Stack::forInference(bool withHidden) const {
  std::vector<PartResult> results = {{outValue, "out"}};
  if (withHidden)
    results.push_back({hiddenValue, "hidden"});
  return Program::compose("stack", parts(), results);
}

Result<Program> Stack::forTraining(const std::string &lossName, OptimiserKind optimiser) const {
  auto loss = importText(std::string(findText(shippedPrograms(), lossName)), lossName, {{"classes", outWidth}},
                         pieces.front().program.sharedContext());
  if (!loss)
    return std::move(loss).status();
  std::vector<ProgramPart> all = parts();
  all.push_back({"loss", &*loss, {{"x", outValue}}});
  const PartResult results[] = {{"loss.loss", "loss"}};
  return Program::compose("step", all, results, learning(optimiser));
}

Result<Program> Stack::forStage(const InputStage &stage, std::optional<OptimiserKind> optimiser) {
  const ProgramPart part = {stage.part, stage.program.get(), stage.wires};
  const PartResult out = {stage.part + ".out", "out"};
  std::optional<Learning> learning;
  if (optimiser) {
    learning.emplace();
    for (const Parameter &parameter : stage.parameters)
      learning->parameters.push_back(parameter.name);
    learning->gradients = learning->parameters;
    learning->optimiser = kindOf(*optimiser);
  }
  return Program::compose("input", {&part, 1}, {&out, 1}, learning);
}

Result<Program> Stack::forEncoding(OptimiserKind optimiser) const {
  const PartResult results[] = {{outValue, "out"}};
  return Program::compose("step", parts(), results, learning(optimiser));
}

}  // namespace hector::training
