/// Compares tensors of two files, for tests: `hector-compare ACTUAL EXPECTED [--names A,B] [--tolerance T]`.
/// Exit code 0: all agree; 1: some differ; 2: they cannot be compared.

#include "runtime/base/Program.h"
#include "runtime/base/Status.h"
#include "runtime/storage/Safetensors.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace hector;

/// Prints how the tensors of one name compare; whether they agree. The tolerance is relative to the largest finite
/// entry expected (absolute where all are zero).
static bool agree(const std::string &name, const Tensor &actual, const Tensor &expected, double tolerance) {
  if (actual.shape != expected.shape) {
    std::printf("%s: shape is %s, expected %s\n", name.c_str(), formatShape(actual.shape).c_str(),
                formatShape(expected.shape).c_str());
    return false;
  }
  std::vector<double> a = actual.toDoubles(), b = expected.toDoubles();
  double largest = 0, worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i]))
      largest = std::max(largest, std::abs(b[i]));
    if (double distance = distanceBetween(a[i], b[i]); distance > worst) {
      worst = distance;
      where = i;
    }
  }
  double limit = tolerance * (largest > 0 ? largest : 1);
  if (!(worst <= limit)) {
    std::printf("%s: element %zu is %.17g, expected %.17g; %.3g apart, %.3g allowed\n", name.c_str(), where, a[where],
                b[where], worst, limit);
    return false;
  }
  std::printf("%s: %.3g apart, %.3g allowed\n", name.c_str(), worst, limit);
  return true;
}

static int fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 2;
}

static int compare(int argc, char **argv) {
  CLI::App app("Compares tensors of two files.", "hector-compare");
  std::string actualPath, expectedPath;
  std::vector<std::string> names;
  double tolerance = 0;
  app.add_option("ACTUAL", actualPath, "The file to judge")->required();
  app.add_option("EXPECTED", expectedPath, "The file that is right")->required();
  app.add_option("--names", names, "The tensors to compare; all of EXPECTED unless given")->delimiter(',');
  app.add_option("--tolerance", tolerance, "Relative to the largest entry expected")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  auto actual = readSafetensors(actualPath), expected = readSafetensors(expectedPath);
  if (!actual)
    return fail(actual.status().message());
  if (!expected)
    return fail(expected.status().message());
  if (names.empty())
    for (const auto &[name, tensor] : expected->tensors)
      names.push_back(name);
  bool fine = true;
  for (const std::string &name : names) {
    const Tensor *a = actual->find(name), *b = expected->find(name);
    if (!a || !b)
      return fail((a ? expectedPath : actualPath) + ": there is no tensor `" + name + "`");
    fine &= agree(name, *a, *b, tolerance);
  }
  return fine ? 0 : 1;
}

int main(int argc, char **argv) {
  return runProgram(compare, argc, argv, /*machineFailure=*/2);
}
