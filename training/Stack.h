/// Layers put together for a graph: what the configuration lists, as programs.
///
/// The whole has the inputs of its layers under the name of their place, `layer1.W`, `layer2.W`. Inputs that every type
/// of edge or node has, or that are shared, are parameters. Rows of nodes come from the layer before; those of the
/// first layer from features of the graph file, or from an embedding that is learnt. Other inputs of nodes and edges
/// come from the graph file.
#pragma once

#include "driver/Inputs.h"
#include "driver/Program.h"
#include "runtime/graph/GraphFile.h"
#include "training/Config.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector::training {

/// How a parameter starts.
enum class Start : uint8_t { Spread, Zero, One, Embedding };

struct Parameter {
  std::string name;  // "layer1.W"
  std::vector<int64_t> shape;
  language::Home home = language::Home::Shared;
  Start start = Start::Spread;
};

/// Nodes of one type whose rows are made for the first layer: projected features, or embeddings.
struct InputStage {
  std::string name;  // of the type
  int64_t first = 0, count = 0;
  std::optional<Tensor> features;          // a row per node; none: rows are learnt
  std::vector<Parameter> parameters;       // "input.author.W"
  std::shared_ptr<const Program> program;  // from `features`, or from the embedding, to `out`
  std::string part;                        // the name of its program in a whole
  std::map<std::string, std::string> wires;
};

/// What a run has kept of its layers. Their shapes decide sizes, whatever today's rules for open sizes are.
struct KeptLayers {
  std::vector<std::string> texts;  // of the models
  Tensors parameters;
  int64_t featureWidth = 0;  // of `x`, as `Stack::featureWidth` gave it
};

class Stack {
public:
  /// Reads and imports the layers of `config` for a graph. The result has `width` numbers per node; if it is 0,
  /// whatever the last layer gives. Models that are not kept are read. What is wrong is reported with the layer's
  /// number and, inside models, with places.
  static Result<Stack> make(const Config &config, const GraphFile &graph, int64_t width, const KeptLayers &kept = {});

  /// The text of each layer's model.
  const std::vector<std::string> &texts() const { return layerTexts; }
  const std::vector<Parameter> &parameters() const { return learnt; }
  /// The tensors of the graph file that the whole reads, by the name of the input.
  const Tensors &features() const { return read; }
  /// Where node types have features of different widths, each has a program of its own that makes its rows of the input
  /// `x`. Otherwise there are none, and `x`, if the whole reads it, is a feature.
  const std::vector<InputStage> &stages() const { return inputStages; }
  int64_t inputWidth() const { return inputSize; }
  /// Numbers per node of the graph file's `x`; 0 if it is not read.
  int64_t featureWidth() const { return xWidth; }
  /// Where the rows of the first layer come from: what `InputKind::Auto` stands for on this graph.
  InputKind inputKind() const { return kind; }
  /// Numbers per node of the result.
  int64_t width() const { return outWidth; }
  /// Lines that say what each part is: "layer1: rgcn, 16 to 4 numbers".
  const std::vector<std::string> &description() const { return lines; }

  /// Computes `out` and, if asked for, `hidden`: the rows that the last layer, or the head, reads.
  Result<Program> forInference(bool withHidden = false) const;
  /// Computes `loss` with the program `lossName` of training/programs, whose input `x` is the result of the stack, and
  /// its other inputs are `loss.NAME`; and a step of the optimiser.
  Result<Program> forTraining(const std::string &lossName, OptimiserKind optimiser) const;
  /// Computes `out` and, from `grad.out`, a step of the optimiser.
  Result<Program> forEncoding(OptimiserKind optimiser) const;
  /// The program of a stage: `out` and, if it learns, a step from `grad.out`.
  static Result<Program> forStage(const InputStage &stage, std::optional<OptimiserKind> optimiser);

private:
  struct Piece {
    std::string name;
    Program program;
    std::map<std::string, std::string> wires;
  };
  class Builder;

  std::vector<ProgramPart> parts() const;
  Learning learning(OptimiserKind optimiser) const;

  std::vector<std::string> layerTexts;
  std::vector<Parameter> learnt;
  Tensors read;
  std::vector<InputStage> inputStages;
  int64_t xWidth = 0;
  int64_t inputSize = 0;
  InputKind kind = InputKind::Auto;
  std::vector<Piece> pieces;
  std::string outValue, hiddenValue;
  int64_t outWidth = 0;
  std::vector<std::string> lines;
};

/// The text of a program as a part: imported with sizes, in the context of `like`.
Result<Program> importText(const std::string &text, const std::string &name,
                           const std::map<std::string, int64_t> &sizes,
                           const std::shared_ptr<mlir::MLIRContext> &context);

flow::OptimiserKind kindOf(OptimiserKind optimiser);

/// A tensor for the start of training.
Tensor startingTensor(const Parameter &parameter, uint64_t seed);

}  // namespace hector::training
