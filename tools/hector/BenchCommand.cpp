#include "BenchCommand.h"

#include "Commands.h"
#include "Options.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace hector {

std::function<std::optional<int>()> addBench(CLI::App &app) {
  auto options = std::make_shared<BenchCommandOptions>();
  CLI::App *bench = app.add_subcommand("bench", "Measures models as files describe it, and checks the answers");
  bench->add_option("FILE", options->files, "Benchmarks (.toml)")->required()->check(notEmpty());
  auto addFile = [&](const char *name, std::string &path, const char *help, const char *type) {
    bench->add_option(name, path, help)->type_name(type)->check(notEmpty());
  };
  bench->add_option("--runs", options->runs, "How often each cell is measured, instead of as the file says")
      ->transform(wholeNumber<int>(1, 1'000'000))
      ->type_name("NUMBER");
  bench->add_option("--threads", options->threads, "How many threads run at once, instead of as the file says")
      ->transform(wholeNumber<int>(1, 1024))
      ->type_name("NUMBER");
  bench->add_option("--backend", options->backend, "Where cells run, instead of as the file says: cpu or cuda")
      ->check(oneOf({"cpu", "cuda"}))
      ->type_name("NAME");
  bench
      ->add_option("--precision", options->precision,
                   "How exactly a GPU multiplies matrices of f32, instead of as the file says: highest, high or medium")
      ->check(oneOf({"highest", "high", "medium"}))
      ->type_name("NAME");
  bench
      ->add_option("--machine", options->machine,
                   "The machine that plans are chosen for, instead of as the file says: cpu, h200, here (what `hector "
                   "machine` measured) or a file")
      ->type_name("NAME:{cpu,h200,here}")
      ->check(notEmpty());
  bench->add_option("--only", options->only, "Measures only the cells whose names hold this text")
      ->type_name("TEXT")
      ->check(notEmpty());
  bench->add_flag(
      "--profile", options->profile,
      "Lists the kernels of each cell: their times, and the bytes, operations and times that were expected");
  bench->add_flag("--memory", options->memory,
                  "Also runs each cell in a process of its own, and shows by how much that process grows");
  bench->add_flag("--tune", options->tune,
                  "Starts launches on a GPU in the way that is the fastest by the clock, and says which");
  addFile("--json", options->jsonPath, "Writes all figures as JSON (.json)", "FILE");
  addFile("--svg", options->svgPath, "Draws the medians (.svg)", "FILE");
  addFile("--keep", options->keepFolder,
          "Leaves graphs, the inputs of each cell (a case for `hector run`) and its results here", "FOLDER");
  // For the processes that `--memory` starts.
  bench->add_option("--memory-of", options->memoryOf)->group("");
  bench->add_option("--graph-file", options->graphFile)->group("");
  bench->footer("Exits with 1 if an answer is wrong or a cell fails.\n"
                "Examples:\n  hector bench bench/models/layers.toml\n"
                "  hector bench bench/models/layers.toml --only rgat-aifb --profile --runs 5");
  return [=]() -> std::optional<int> {
    if (!bench->parsed())
      return std::nullopt;
    return benchCommand(*options);
  };
}

}  // namespace hector
