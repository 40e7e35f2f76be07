#include "Commands.h"

#include <llvm/Support/ErrorHandling.h>

#include <new>

namespace hector {

void throwWhereLlvmFindsNoMemory() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { throw std::bad_alloc(); });
}

}  // namespace hector
