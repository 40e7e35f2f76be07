/// Runs passes on flow in textual form, for compiler work and tests.

#include "compiler/Conversion/FlowToKern/FlowToKern.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "runtime/base/Program.h"

#include <llvm/Support/ErrorHandling.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>
#include <mlir/Transforms/Passes.h>

#include <new>

static int optMain(int argc, char **argv) {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { throw std::bad_alloc(); });
  mlir::DialectRegistry registry;
  registry.insert<hector::flow::FlowDialect, hector::kern::KernDialect, mlir::func::FuncDialect>();
  hector::flow::registerFlowPasses();
  mlir::registerPass(hector::createLowerToKernPass);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "hector-opt: passes on flow and kern\n", registry));
}

int main(int argc, char **argv) {
  return hector::runProgram(optMain, argc, argv);
}
