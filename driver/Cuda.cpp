#include "driver/Cuda.h"

#include "driver/Cpu.h"

namespace hector {

Result<exec::Plan> makeCudaPlan(const Program &program, const CudaOptions &options) {
  auto module = lowered(program);
  if (!module)
    return std::move(module).status();
  return emitCuda(**module, options);
}

}  // namespace hector
