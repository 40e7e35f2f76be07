/// Which way to compile a program, by the time that it takes where memory suffices, and by memory where it does not.
#pragma once

#include "driver/Program.h"
#include "runtime/exec/Plan.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace hector {

/// A program with passes run and groups formed, and its plan for one graph.
struct Planned {
  Program program;
  std::shared_ptr<const exec::Plan> plan;
  std::string passes;  // those that ran: `default` stands for the plan that it chose
};

/// What a plan takes.
struct PlanBytes {
  int64_t usual = 0;
  int64_t least = 0;  // with a single thread, say
};

/// How programs become plans on a machine.
struct PlanMaker {
  std::function<Result<exec::Plan>(const Program &)> make;
  std::function<Result<PlanBytes>(const exec::Plan &)> measure;
};

/// One way to compile a program, and what that takes.
struct Candidate {
  Planned planned;
  double seconds = 0;  // as estimated
  PlanBytes bytes;
};

/// Compiles a program, before any pass and with its graph and its machine attached, to a plan that takes at most
/// `limit` bytes. The cheapest one does as a rule; where it does not fit, memory counts more and more against time, and
/// values are computed again instead of kept; then every plan that `default` knows is tried. A plan that fits as usual
/// is preferred to one that takes as little as it can. Where nothing fits, this is the plan that takes the least.
Result<Candidate> choosePlan(const Program &program, const std::string &passes, int64_t limit, const PlanMaker &maker);

}  // namespace hector
