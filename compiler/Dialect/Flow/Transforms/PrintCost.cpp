/// Prints groups and their costs.

#include "compiler/Analysis/Cost.h"
#include "compiler/Analysis/FlowFunction.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <llvm/Support/Format.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/BuiltinOps.h>

namespace hector::flow {

#define GEN_PASS_DEF_PRINTCOSTPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

struct PrintCostPass : impl::PrintCostPassBase<PrintCostPass> {
  explicit PrintCostPass(llvm::raw_ostream &out = llvm::outs()) : out(out) {}

  void runOnOperation() override {
    // One function after another: a pass on functions would run in no fixed order.
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (mlir::failed(checkFlowFunction(function)))
        return signalPassFailure();
      print(function, out);
    }
    markAllAnalysesPreserved();
  }

  static void print(mlir::func::FuncOp function, llvm::raw_ostream &out) {
    Groups groups(function);
    Cost cost = estimate(groups);
    LoopPricer pricer(groups.getBody(), groups.getMachine());
    mlir::AsmState names(function);
    auto number = [](double value) { return llvm::format("%.0f", value); };
    auto name = [&](mlir::Value value) {
      std::string spelled;
      llvm::raw_string_ostream stream(spelled);
      value.printAsOperand(stream, names);
      return spelled;
    };
    out << "groups of @" << function.getName() << ": " << cost.groups.size() << "\n";
    for (size_t i = 0; i < cost.groups.size(); ++i) {
      const GroupCost &group = cost.groups[i];
      static constexpr llvm::StringRef kPhases[] = {"once", "weights", "forward", "backward"};
      out << "group " << i << ": " << kPhases[static_cast<unsigned>(group.phase)] << ", "
          << stringifyLoop(group.kind.loop) << " over " << stringifyDomain(group.domain) << "\n";
      for (const OpCost &op : group.ops)
        out << "  " << op.op->getName() << " " << name(op.op->getResult(0)) << ": " << number(op.rows) << " rows, "
            << number(op.operations) << " operations, "
            << number(bytesAlone(*groups.getBody().find(op.op->getResult(0)), pricer)) << " bytes alone\n";
      for (const TableCost &read : group.reads) {
        out << "  reads " << name(read.table);
        if (read.map != Map::Self)
          out << "[" << stringifyMap(read.map) << "]";
        out << ": " << number(read.bytes) << " bytes"
            << (read.isGathered   ? ", gathered"
                : read.isPermuted ? ", permuted"
                                  : "")
            << "\n";
      }
      if (group.indexBytes > 0)
        out << "  indices: " << number(group.indexBytes) << " bytes\n";
      for (const TableCost &write : group.writes)
        out << "  writes " << name(write.table) << ": " << number(write.bytes) << " bytes\n";
      out << "  " << number(group.operations) << " operations, " << number(group.bytes) << " bytes\n";
    }
    for (const KeptTable &table : cost.kept)
      out << "kept " << name(table.table) << ": " << number(table.bytes) << " bytes\n";
    out << "total: " << number(cost.operations) << " operations, " << number(cost.bytes) << " bytes, at most "
        << number(cost.peakBytes) << " bytes live, " << number(cost.inputBytes) << " bytes of inputs, "
        << number(cost.graphBytes) << " bytes of the graph\n";
  }

  llvm::raw_ostream &out;
};

}  // namespace

std::unique_ptr<mlir::Pass> createPrintCostPass(llvm::raw_ostream &out) {
  return std::make_unique<PrintCostPass>(out);
}

}  // namespace hector::flow
