/// Plans as text: what `hector compile --emit plan` prints and plan files hold. docs/plan-files.md has the rules.
///
///   plan rgat
///   numbers f32
///   size d_in 64
///   table 4 att domain=edge row=8 type=f32 order=by_dst  # steps 2 to 5
///   launch forward att
///     kernel hector_att
///     units node balance=edges.dst cost=57
///     reads 0 2
///     writes 4
///
/// Each line has a keyword, words and named fields. Words with other characters than these are in quotes; what follows
/// a `#` is a comment. Comments tell what can be derived from the rest, such as lifetimes.
#pragma once

#include "runtime/exec/Plan.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector::exec {

/// The backends that plans are made for.
inline constexpr const char *kCpu = "cpu", *kCuda = "cuda";

/// What a plan was compiled from and how. All that is needed to bind inputs to it, and to compile it again.
struct PlanOrigin {
  std::string backend = kCpu;
  std::string modelPath;                              // what messages call the model
  std::string modelText;                              // not part of the text of a plan
  std::string entry;                                  // the function that is the model
  std::string numbers;                                // what it computes with: "f32"
  std::string passes;                                 // as `--passes` takes them
  std::string precision = "highest";                  // of products of floats on a GPU, as `--precision` takes it
  std::optional<std::vector<std::string>> gradients;  // inputs; an empty list stands for all
  std::vector<std::string> attributes, sizes;         // "NAME=VALUE", every one that the model has

  bool operator==(const PlanOrigin &) const = default;
};

/// The plan without its source, and the origin without the text of the model.
std::string planText(const Plan &plan, const PlanOrigin &origin);

struct ParsedPlan {
  Plan plan;
  PlanOrigin origin;
};
/// Reads what `planText` writes. Fails with the line, also where the plan contradicts itself (`checkPlan`) or its
/// launches are not for its backend.
Result<ParsedPlan> parsePlanText(std::string_view text);

/// A word as texts have it: in quotes where it needs them.
std::string asWord(std::string_view word);

/// One line of such a text, taken apart. The first thing that is wrong is kept, and what is taken after that is empty.
class TextLine {
public:
  /// A line without words is a comment or empty.
  explicit TextLine(std::string_view line);

  const std::string &keyword() const { return first; }
  bool isEmpty() const { return first.empty() && wrong.empty(); }

  /// The next word; `what` says in messages what is missing.
  std::string word(std::string_view what);
  bool hasWord() const { return next < words.size(); }
  int64_t number(std::string_view what, int64_t least = 0, int64_t most = std::numeric_limits<int64_t>::max());
  /// A named field, or nothing.
  std::optional<std::string> field(const std::string &name);
  std::string neededField(const std::string &name);
  int64_t neededNumber(const std::string &name, int64_t most = std::numeric_limits<int64_t>::max());
  /// A named field that is a number, or what it is without one.
  int64_t numberOr(const std::string &name, int64_t otherwise, int64_t most = std::numeric_limits<int64_t>::max());
  /// Notes what is wrong, unless something was before.
  void fail(const std::string &message);

  /// What is wrong with the line, words and fields that nothing took included. Empty if nothing is.
  std::string finish();

private:
  int64_t toNumber(const std::string &text, std::string_view what, int64_t least, int64_t most);

  std::string first, wrong;
  std::vector<std::string> words;
  size_t next = 0;
  std::map<std::string, std::string> fields;
};

}  // namespace hector::exec
