/// `hector doctor`: what this machine has, which backends would work, and how to get the missing ones.

#include "Commands.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/device/Nvrtc.h"
#include "runtime/jit/Compiler.h"
#include "runtime/machine/Machine.h"

#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace hector {

/// The value of the first line `key … : value` of a /proc file.
static std::string procValue(const char *path, const std::string &key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line))
    if (line.rfind(key, 0) == 0 && line.find(':') != std::string::npos) {
      size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
      return start == std::string::npos ? "" : line.substr(start);
    }
  return "unknown";
}

/// Whether the loader finds a library.
static bool hasLibrary(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library)
    dlclose(library);
  return library != nullptr;
}

/// "NVIDIA H200, sm_90, 132 multiprocessors, 139.8 GiB of memory, 138.2 GiB of it free".
static std::string describe(Device &device) {
  const DeviceInfo &info = device.info();
  auto free = device.freeBytes();
  return info.name + ", sm_" + std::to_string(info.architecture) + ", " +
         counted(info.multiprocessors, "multiprocessor") + ", " + formatBytes(info.memoryBytes) + " of memory, " +
         (free ? formatBytes(*free) + " of it free" : free.status().message());
}

/// Which description of this machine, or of its GPU, is kept.
static std::string keptMachine(MachineTarget target) {
  auto path = keptMachinePath(target);
  if (!path || access(path->c_str(), F_OK) != 0)
    return std::string("not measured; `hector machine") + (target == MachineTarget::Gpu ? " --backend cuda" : "") +
           "` does";
  auto machine = readMachine(*path);
  return machine ? machine->name + " (" + *path + ")" : machine.status().message();
}

/// What is kept of compiled code, or why nothing can be.
static std::string keptCode() {
  auto state = cacheState();
  if (!state)
    return state.status().message();
  return counted(state->numEntries, "entry", "entries") + ", " + formatBytes(state->numBytes) + " of " +
         formatBytes(state->limit) + " (" + state->folder + ")";
}

static void line(const char *mark, const std::string &what, const std::string &detail) {
  std::printf("  %-3s %-22s %s\n", mark, what.c_str(), detail.c_str());
}

int doctorCommand() {
  utsname system{};
  uname(&system);
  long long mebibytes = static_cast<long long>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / (1 << 20);
  std::printf("hector %s\n\nmachine\n", HECTOR_VERSION);
  line("", "system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  line("", "processor",
       procValue("/proc/cpuinfo", "model name") + ", " + std::to_string(std::thread::hardware_concurrency()) +
           " threads");
  line("", "memory", std::to_string(mebibytes) + " MiB");
  line("", "measured", keptMachine(MachineTarget::Cpu));
  line("", "measured GPU", keptMachine(MachineTarget::Gpu));
  line("", "compiled code", keptCode());

  std::printf("\nfound\n");
  Result<HostCompiler> compiler = [] {
    NotedInterrupts noted;  // the compiler is tried in a folder that is to be removed
    return findCompiler();
  }();
  if (interruptSignal())
    return interruptExitCode();
  auto gpu = createCudaDevice();
  auto nvrtc = Nvrtc::find();
  const bool hasSerd = hasLibrary("libserd-0.so.0");
  line(compiler ? "ok" : "-", "C++ compiler",
       compiler ? compiler->path + " (" + compiler->version + ")" : compiler.status().message());
  line(gpu ? "ok" : "-", "GPU", gpu ? describe(**gpu) : gpu.status().message());
  line(nvrtc ? "ok" : "-", "NVRTC", nvrtc ? nvrtc->path() + " (" + nvrtc->title() + ")" : nvrtc.status().message());
  line(hasSerd ? "ok" : "-", "serd",
       hasSerd ? "libserd-0.so.0" : "no libserd, which reads Turtle; apt-get install libserd-0-0");

  std::printf("\nbackends\n");
  line("ok", "interp", "float64, slow, the judge of the others");
  line(compiler ? "ok" : "-", "cpu",
       compiler ? "compiled code, the default of `hector run`" : "needs a C++ compiler; without one, interp runs");
  line(gpu && nvrtc ? "ok" : "-", "cuda",
       gpu && nvrtc ? "compiled code: `hector run --backend cuda`"
       : gpu        ? "only plans that have code for this GPU; models need NVRTC"
                    : "needs a GPU of NVIDIA, its driver, and NVRTC");
  return kExitFine;
}

}  // namespace hector
