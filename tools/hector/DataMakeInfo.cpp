/// The command line of `hector data make` and `hector data info`.

#include "DataMakeInfo.h"

#include "Commands.h"
#include "Options.h"
#include "runtime/base/Interrupt.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace hector {

/// Prints what went wrong and gives the exit code for it.
static int finish(Status status, const std::string &text) {
  if (interruptSignal()) {
    std::fputs("interrupted\n", stderr);
    return interruptExitCode();
  }
  if (!status.isOk())
    return report(status);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    std::fputs("error: cannot write to standard output\n", stderr);
    return kExitMachine;
  }
  return kExitFine;
}

std::function<std::optional<int>()> addDataMakeAndInfo(CLI::App &data) {
  auto make = std::make_shared<DataMakeOptions>();
  SyntheticOptions &graph = make->graph;
  CLI::App *makeApp = data.add_subcommand("make", "Makes a typed graph of given sizes and skew");
  auto count = [](CLI::Option *option) { return option->transform(wholeNumber<int64_t>())->type_name("N"); };
  makeApp
      ->add_option("NAME", graph.name,
                   "A graph of the size of a known one: aifb, am, bgs, biokg, fb15k, mag, mutag or wikikg2")
      ->type_name("");
  count(makeApp->add_option("--nodes", make->nodes, "Nodes"));
  count(makeApp->add_option("--node-types", make->nodeTypes, "Node types [1]"));
  count(makeApp->add_option("--edges", make->edges, "Edges"));
  count(makeApp->add_option("--edge-types", make->edgeTypes, "Edge types [1]"));
  makeApp->add_option("--skew", graph.skew, "Busy nodes: ends have rank span * u^X; 1 is even")
      ->capture_default_str()
      ->type_name("X");
  makeApp->add_option("--node-type-skew", graph.nodeTypeSkew, "Node type k has a share of 1/k^X")
      ->capture_default_str()
      ->type_name("X");
  makeApp->add_option("--edge-type-skew", graph.edgeTypeSkew, "Edge type k has a share of 1/k^X")
      ->capture_default_str()
      ->type_name("X");
  count(makeApp->add_option("--features", make->features, "Columns of the node features `x` [0; 64 with classes]"));
  makeApp->add_option("--noise", graph.noise, "Standard deviation of a feature")->capture_default_str()->type_name("X");
  count(makeApp->add_option("--classes", graph.classes,
                            "Plants classes that only relations and features together tell; writes labels and splits"))
      ->capture_default_str();
  makeApp->add_option("--signal", graph.signal, "The part of the edges that tell the class, at most")
      ->capture_default_str()
      ->type_name("X");
  makeApp->add_option("--seed", graph.seed, "Same seed, same bytes")
      ->transform(wholeNumber<uint64_t>())
      ->capture_default_str()
      ->type_name("N");
  makeApp->add_option("-o,--out", make->outPath, "The graph file (.safetensors)")->required()->type_name("FILE");
  makeApp->footer("Examples:\n  hector data make mag --out mag.safetensors\n"
                  "  hector data make --nodes 100000 --node-types 4 --edges 1000000 --edge-types 12 --classes 4 "
                  "--out planted.safetensors");

  auto info = std::make_shared<DataInfoOptions>();
  CLI::App *infoApp = data.add_subcommand("info", "Describes a graph file: types, degrees, pairs, memory");
  infoApp->add_option("FILE", info->path, "The graph file (.safetensors)")->required()->type_name("");
  infoApp->add_flag("--json", info->json, "JSON instead of text");
  infoApp->add_option("--svg", info->svgPath, "Draws a picture as well")->type_name("FILE");
  infoApp->footer("Example:\n  hector data info mag.safetensors --svg mag.svg");

  return [=]() -> std::optional<int> {
    std::string text;
    if (makeApp->parsed()) {
      noteInterrupts();
      Status status = makeData(*make, text);
      return finish(std::move(status), text);
    }
    if (infoApp->parsed()) {
      noteInterrupts();
      Status status = describeData(*info, text);
      return finish(std::move(status), text);
    }
    return std::nullopt;
  };
}

}  // namespace hector
