/// Enums of flow as those that plans and generated code have: the compiler's are made from .td files, and the runtime
/// knows nothing of MLIR.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "runtime/exec/Plan.h"

#include <cstdint>

namespace hector::cpp {

constexpr exec::Domain planDomain(flow::Domain domain) {
  switch (domain) {
  case flow::Domain::One:
    return exec::Domain::One;
  case flow::Domain::NodeType:
    return exec::Domain::NodeType;
  case flow::Domain::EdgeType:
    return exec::Domain::EdgeType;
  case flow::Domain::Node:
    return exec::Domain::Node;
  case flow::Domain::SrcPair:
    return exec::Domain::SrcPair;
  case flow::Domain::DstPair:
    return exec::Domain::DstPair;
  case flow::Domain::Edge:
    return exec::Domain::Edge;
  }
  return exec::Domain::NumDomains;
}

constexpr exec::Order planOrder(flow::Order order) {
  switch (order) {
  case flow::Order::None:
    return exec::Order::None;
  case flow::Order::ByType:
    return exec::Order::ByType;
  case flow::Order::ByDst:
    return exec::Order::ByDst;
  case flow::Order::BySrc:
    return exec::Order::BySrc;
  }
  return exec::Order::None;
}

constexpr exec::Phase planPhase(flow::Phase phase) {
  switch (phase) {
  case flow::Phase::Graph:
    return exec::Phase::Graph;
  case flow::Phase::Weights:
    return exec::Phase::Weights;
  case flow::Phase::Forward:
    return exec::Phase::Forward;
  case flow::Phase::Backward:
    return exec::Phase::Backward;
  }
  return exec::Phase::Backward;
}

/// Whether domains may also be cast. Kernels index `Frame::rows` by them, in text and in code.
constexpr bool areDomainsTheSame() {
  for (uint32_t i = 0; i <= flow::getMaxEnumValForDomain(); ++i)
    if (planDomain(static_cast<flow::Domain>(i)) != static_cast<exec::Domain>(i))
      return false;
  return flow::getMaxEnumValForDomain() + 1 == exec::Domain::NumDomains;
}
static_assert(areDomainsTheSame(), "the domains of FlowBase.td and of kernels/cpu/frame.hpp are in different orders");

}  // namespace hector::cpp
