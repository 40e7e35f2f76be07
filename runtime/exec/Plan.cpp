#include "runtime/exec/Plan.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace hector::exec {

int64_t byteSize(Storage storage) {
  switch (storage) {
  case Storage::F64:
  case Storage::Index:
    return 8;
  case Storage::F32:
    return 4;
  case Storage::BF16:
  case Storage::F16:
    return 2;
  case Storage::Bool:
    break;
  }
  return 1;
}

static bool isPair(Domain domain) {
  return domain == Domain::SrcPair || domain == Domain::DstPair;
}

static Side sideOf(Domain pairs) {
  return pairs == Domain::SrcPair ? Side::Source : Side::Destination;
}

std::optional<Form> outsideRows(const TableSpec &table) {
  if (table.order == Order::None)
    return std::nullopt;
  if (table.domain == Domain::Edge) {
    const EdgeOrder order = table.order == Order::ByType  ? EdgeOrder::Type
                            : table.order == Order::ByDst ? EdgeOrder::Destination
                                                          : EdgeOrder::Source;
    return Form{.kind = FormKind::EdgeRow, .from = EdgeOrder::File, .to = order};
  }
  if (isPair(table.domain) && table.order != Order::ByType)
    return Form{.kind = FormKind::PlacePair, .side = sideOf(table.domain)};
  return std::nullopt;
}

std::optional<Domain> offsetsOf(const Form &form) {
  switch (form.kind) {
  case FormKind::Edges:
  case FormKind::Places:
    return Domain::Node;
  case FormKind::PlaceEdges:
    return form.side == Side::Source ? Domain::SrcPair : Domain::DstPair;
  case FormKind::Types:
    return form.types == TileRows::Nodes ? Domain::NodeType : Domain::EdgeType;
  default:
    return std::nullopt;
  }
}

std::optional<Form> scratchOffsets(const Launch &launch) {
  const Domain below = launch.scratch.domain;
  if (launch.scratch.bytesPerRow == 0 || below == launch.domain)
    return std::nullopt;
  switch (launch.domain) {
  case Domain::Node:
    if (isPair(below))
      return Form{.kind = FormKind::Places, .side = sideOf(below)};
    // A node has edges at both ends: those that the launch is balanced by.
    if (below == Domain::Edge && launch.balance)
      return Form{.kind = FormKind::Edges, .side = launch.balance->side};
    return std::nullopt;
  case Domain::SrcPair:
  case Domain::DstPair:
    return Form{.kind = FormKind::PlaceEdges, .side = sideOf(launch.domain)};
  case Domain::EdgeType:
    return Form{.kind = FormKind::Types,
                .types = below == Domain::SrcPair   ? TileRows::SrcPairs
                         : below == Domain::DstPair ? TileRows::DstPairs
                                                    : TileRows::Edges};
  case Domain::NodeType:
    return Form{.kind = FormKind::Types, .types = TileRows::Nodes};
  default:
    return std::nullopt;
  }
}

namespace {

constexpr int64_t kMaxRowSize = int64_t{1} << 58;

/// What went wrong, after the place. Empty if nothing did.
using Fault = std::string;

/// Checks a plan step by step and keeps what has been written.
class PlanChecker {
public:
  explicit PlanChecker(const Plan &plan) : plan(plan), writtenIn(plan.tables.size()), isInput(plan.tables.size()) {}

  Fault check() {
    for (const TableSpec &table : plan.tables)
      if (Fault fault = checkTable(table); !fault.empty())
        return "table " + inTicks(table.name) + " " + fault;
    std::set<std::string_view> names;
    for (const Port &port : plan.inputs) {
      if (!isTable(port.table) || !names.insert(port.name).second || isInput[port.table])
        return "input " + inTicks(port.name) + " has no table of its own";
      isInput[port.table] = true;
    }
    for (Side side : plan.relationEnds)
      if (side > Side::Destination)
        return "it relies on an end of relations that does not exist";
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const Step &step = plan.steps[i];
      if (step.phase > Phase::Backward)
        return "step " + std::to_string(i) + " (" + step.launch.label + ") belongs to no phase";
      Fault fault = i > 0 && step.phase < plan.steps[i - 1].phase
                        ? "belongs to an earlier phase than the step before it"
                        : checkLaunch(step.launch);
      if (fault.empty() && step.launch.device.has_value() != plan.steps[0].launch.device.has_value())
        fault = "runs on another kind of device than the first step";
      if (fault.empty())
        fault = checkTables(step);
      if (!fault.empty())
        return "step " + std::to_string(i) + " (" + step.launch.label + ") " + fault;
    }
    names.clear();
    for (const Port &port : plan.outputs)
      if (!isTable(port.table) || !names.insert(port.name).second || !isKnown(port.table))
        return "nothing computes output " + inTicks(port.name);
    Fault fault = checkGradients(plan.outputs, plan.inputs);
    return fault.empty() ? checkGradients(plan.inputs, plan.outputs) : fault;
  }

private:
  bool isTable(int table) const { return table >= 0 && static_cast<size_t>(table) < plan.tables.size(); }
  bool isKnown(int table) const { return isInput[table] || writtenIn[table]; }
  std::string nameOf(int table) const { return inTicks(plan.tables[table].name); }

  /// Gradients have the rows of what they are gradients of.
  Fault checkGradients(const std::vector<Port> &gradients, const std::vector<Port> &ports) const {
    constexpr std::string_view kGradient = "grad.";
    for (const Port &gradient : gradients) {
      if (!gradient.name.starts_with(kGradient))
        continue;
      for (const Port &port : ports) {
        const TableSpec &of = plan.tables[port.table], &table = plan.tables[gradient.table];
        if (gradient.name.substr(kGradient.size()) == port.name &&
            (table.domain != of.domain || table.shape != of.shape))
          return inTicks(gradient.name) + " has other rows than " + inTicks(port.name);
      }
    }
    return "";
  }

  static bool isDomain(Domain domain) { return domain >= 0 && domain < Domain::NumDomains; }
  static bool isForm(const Form &form) {
    return std::find(allForms().begin(), allForms().end(), form) != allForms().end();
  }

  static Fault checkTable(const TableSpec &table) {
    for (int64_t extent : table.shape)
      if (extent < 1)
        return "has rows of an extent of " + std::to_string(extent);
    // Tables without rows take no memory, however long a row would be; its bytes have to be a number all the same.
    if (table.rowSize() > kMaxRowSize)
      return "has rows of more than " + std::to_string(kMaxRowSize) + " numbers";
    if (!isDomain(table.domain))
      return "has no domain";
    if (table.storage > Storage::Index || table.order > Order::BySrc)
      return "has no type or no order";
    const bool isForeign = (table.domain == Domain::SrcPair && table.order == Order::ByDst) ||
                           (table.domain == Domain::DstPair && table.order == Order::BySrc);
    return isForeign ? "has the pairs of one end in the order of the other" : "";
  }

  static Fault checkLaunch(const Launch &launch) {
    if (launch.kernel.empty())
      return "has no kernel";
    if (!isDomain(launch.domain) || !isDomain(launch.scratch.domain))
      return "has no domain";
    for (const Form &form : launch.forms)
      if (!isForm(form))
        return "reads a form that does not exist";
    if (launch.balance && !isForm(*launch.balance))
      return "is balanced by a form that does not exist";
    if (!(launch.unitCost > 0) || !std::isfinite(launch.unitCost))
      return "has units of no cost";
    if (launch.balance && offsetsOf(*launch.balance) != launch.domain)
      return "is balanced by " + formName(*launch.balance) + ", which has no entries for its units";
    for (const TotalSpec &total : launch.totals) {
      if (total.rowBytes < 0 || total.rowBytes % 64 != 0)
        return "has totals of " + counted(total.rowBytes, "byte") + ", which is no multiple of 64";
      if (total.join.empty())
        return "has a total and no join";
      if (launch.device && total.join != launch.totals.front().join)
        return "has totals that are not joined together, as they are on a GPU";
      if (!isDomain(total.target) || total.slots > TotalSpec::Slots::Rows)
        return "has a total of no domain";
      if (total.slots == TotalSpec::Slots::Rows && !launch.device)
        return "has totals with a slot for each row, which only launches on a GPU have";
    }
    if (launch.device)
      if (Fault fault = checkDevice(launch); !fault.empty())
        return fault;
    const ScratchSpec &scratch = launch.scratch;
    if (scratch.bytes < 0 || scratch.bytesPerRow < 0)
      return "has a negative amount of scratch memory";
    if (scratch.bytesPerRow > 0 && scratch.domain != launch.domain && !scratchOffsets(launch))
      return "has scratch memory for rows that are not below its units";
    return "";
  }

  static Fault checkDevice(const Launch &launch) {
    constexpr int64_t kMostTileRows = 1 << 10;
    const DeviceLaunch &device = *launch.device;
    const bool isBlock =
        device.lanes == device.threads && (device.schedule == Schedule::Units || device.schedule == Schedule::Tiles);
    if (!isBlock && (device.lanes < 1 || device.lanes > 32 || (device.lanes & (device.lanes - 1)) != 0))
      return "has groups of " + counted(device.lanes, "lane") + ", which is no power of 2 up to 32";
    if (device.threads < 32 || device.threads > 1024 || device.threads % 32 != 0)
      return "has blocks of " + counted(device.threads, "thread") + ", which is no multiple of 32 up to 1024";
    if (device.blocks < 1 || device.blocks > 32)
      return "has " + counted(device.blocks, "block") + " for a multiprocessor; 1 to 32 are possible";
    if (device.bands < 1 || device.bands > (device.schedule == Schedule::Chunks ? 1 : kMostBands))
      return "has " + counted(device.bands, "band") + " of blocks; 1 to " + std::to_string(kMostBands) +
             " are possible, and 1 of chunks";
    if (device.sharedBytes < 0 || device.sharedBytes > kMostSharedBytes)
      return "has blocks with " + counted(device.sharedBytes, "byte") + " of shared memory; 0 to " +
             std::to_string(kMostSharedBytes) + " are possible";
    if (device.schedule > Schedule::Chunks)
      return "has a schedule that does not exist";
    const bool hasPieces = device.schedule == Schedule::Pieces || device.schedule == Schedule::Tiles;
    for (const TotalSpec &total : launch.totals)
      if (!hasPieces && total.slots != TotalSpec::Slots::Rows)
        return "has totals, but no pieces";
    if (device.tileRows < 1 || device.tileRows > kMostTileRows)
      return "has tiles of " + counted(device.tileRows, "row") + "; 1 to " + std::to_string(kMostTileRows) +
             " are possible";
    if (!isDomain(device.rows))
      return "walks rows of no domain";
    constexpr int64_t kMostPartBytes = 1 << 16;
    if (device.partBytes < 0 || device.partBytes > kMostPartBytes)
      return "has parts of " + counted(device.partBytes, "byte") + " per lane; 0 to " + std::to_string(kMostPartBytes) +
             " are possible";
    for (const TableSpec &buffer : device.buffers)
      if (Fault fault = checkTable(buffer); !fault.empty())
        return "has a buffer " + inTicks(buffer.name) + " that " + fault;
    return "";
  }

  Fault checkTables(const Step &step) {
    for (int table : step.launch.inputs) {
      if (!isTable(table))
        return "reads a table that does not exist";
      if (!isKnown(table))
        return "reads table " + nameOf(table) + ", which nothing has written";
      if (step.phase == Phase::Graph && isInput[table])
        return "reads input " + nameOf(table) + ", but runs once per graph";
    }
    std::set<int> filled;
    for (const TotalSpec &total : step.launch.totals)
      if (!isOutput(total, step.launch) || !filled.insert(total.output).second)
        return "has a total without a table of its own to fill";
    for (int table : step.launch.outputs) {
      if (!isTable(table))
        return "writes a table that does not exist";
      if (isInput[table])
        return "writes input " + nameOf(table);
      // What a phase leaves is used by several runs of later ones.
      if (writtenIn[table] && *writtenIn[table] < Phase::Forward && *writtenIn[table] != step.phase)
        return "writes table " + nameOf(table) + ", which an earlier phase has left for several runs";
      if (!writtenIn[table])
        writtenIn[table] = step.phase;
    }
    return "";
  }

  bool isOutput(const TotalSpec &total, const Launch &launch) const {
    if (total.output < 0 || static_cast<size_t>(total.output) >= launch.outputs.size())
      return false;
    const int table = launch.outputs[total.output];
    return isTable(table) && plan.tables[table].domain == total.target;
  }

  const Plan &plan;
  std::vector<std::optional<Phase>> writtenIn;  // the first phase that writes a table
  std::vector<bool> isInput;
};

}  // namespace

Status checkPlan(const Plan &plan) {
  if (Fault fault = PlanChecker(plan).check(); !fault.empty())
    return Status::invalid("the plan of " + inTicks(plan.name) + " is damaged: " + fault);
  return Status::ok();
}

}  // namespace hector::exec
