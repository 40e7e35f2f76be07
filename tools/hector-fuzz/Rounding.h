/// What rounding explains: the criterion for runs in f32.
///
/// In groups, sums come in another order, and so their roundings differ. How far results may move depends on the
/// program: a difference of two large numbers passes on the roundings of both. The run without groups shows how far,
/// since it has roundings of the same kind. For each table of results, with u = 2^-24,
///
///   err0 = max |f32 without groups - f64|    over all entries
///   err1 = max |f32 in groups - f64|
///   S    = max(1, largest |f64|)
///
/// and the table is right if err1 <= 4 err0 + 32 u S. The second term is for tables that are exact without groups:
/// inputs are about 1 in size, so roundings of sums that cancel are about u too.
///
/// Example: a node adds 1, 2^-24 and -1. A sum in f64 gives 2^-24 and err0 = 0; a sum in f32 gives 0 and err1 = u,
/// which is fine. If a part of the sum is lost or added twice, err1 is about 1, and the bound 2e-6.
#pragma once

#include "interp/Interpreter.h"

#include <optional>
#include <string>
#include <vector>

namespace hector::fuzz {

/// Whether f32 without groups went another way than f64: results differ by far more than rounding, since a comparison
/// came out otherwise or a number is too large for f32. Nothing can be said about groups then.
bool hasParted(const std::vector<Table> &exact, const std::vector<Table> &rounded);

/// The first table of `grouped` that rounding does not explain, and why. The other runs are f64, and f32 without
/// groups.
struct Unexplained {
  size_t table;
  std::string text;
};
std::optional<Unexplained> findUnexplained(const std::vector<Table> &exact, const std::vector<Table> &rounded,
                                           const std::vector<Table> &grouped);

}  // namespace hector::fuzz
