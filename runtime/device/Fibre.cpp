#include "runtime/device/Fibre.h"

#include <sys/mman.h>
#include <unistd.h>

#if HECTOR_FIBRE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if HECTOR_FIBRE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace hector {

// --- stacks ---------------------------------------------------------------------------------------------------------

/// Returns stacks to the system.
static void unmap(std::byte *base, size_t bytes) {
#if HECTOR_FIBRE_ASAN
  // Functions that never returned have left marks there, which whatever comes to lie there next must not find.
  __asan_unpoison_memory_region(base, bytes);
#endif
  munmap(base, bytes);
}

FibreStacks::~FibreStacks() {
  if (base)
    unmap(base, stride * static_cast<size_t>(count));
}

bool FibreStacks::reserve(int wanted) {
  if (wanted <= count)
    return true;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), newStride = kBytes + page;
  const size_t bytes = newStride * static_cast<size_t>(wanted);
  void *memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  auto *start = static_cast<std::byte *>(memory);
  for (int i = 0; i < wanted; ++i)
    if (mprotect(start + i * newStride, page, PROT_NONE) != 0) {
      munmap(memory, bytes);
      return false;
    }
  if (base)
    unmap(base, stride * static_cast<size_t>(count));
  base = start;
  stride = newStride;
  count = wanted;
  return true;
}

// --- switching ------------------------------------------------------------------------------------------------------

#if HECTOR_FIBRE_SWITCH

// Keeps what a called function must keep, and stores the stack pointer. Rounding modes are those of the thread: kernels
// do not change them.
extern "C" void hectorSwitchStack(void **from, void *to);
asm(R"(
.text
.p2align 4
.globl hectorSwitchStack
.hidden hectorSwitchStack
.type hectorSwitchStack, @function
hectorSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hectorSwitchStack, . - hectorSwitchStack
)");

#endif

Fibre::~Fibre() {
#if HECTOR_FIBRE_TSAN
  if (stackBottom && sanitizerFibre)
    __tsan_destroy_fiber(sanitizerFibre);
#endif
}

void Fibre::prepare(std::byte *bottom, void (*run)()) {
#if HECTOR_FIBRE_ASAN
  // Functions that never returned have left marks there.
  __asan_unpoison_memory_region(bottom, FibreStacks::kBytes);
  fakeStack = nullptr;
  knownBottom = bottom;
  knownBytes = FibreStacks::kBytes;
#endif
#if HECTOR_FIBRE_TSAN
  if (stackBottom && sanitizerFibre)
    __tsan_destroy_fiber(sanitizerFibre);
  sanitizerFibre = __tsan_create_fiber(0);
#endif
  stackBottom = bottom;
#if HECTOR_FIBRE_SWITCH
  // As if `run` had been called, and had then called hectorSwitchStack at once.
  auto *top = reinterpret_cast<void **>(stackTop());
  *--top = nullptr;  // where `run` would return to; the stack pointer is then as the start of a function expects it
  *--top = reinterpret_cast<void *>(run);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  stackPointer = top;
#else
  getcontext(&context);
  context.uc_stack.ss_sp = bottom;
  context.uc_stack.ss_size = FibreStacks::kBytes;
  context.uc_link = nullptr;
  makecontext(&context, run, 0);
#endif
}

#if HECTOR_FIBRE_ASAN
void Fibre::arrive(void *ownFakeStack) {
  // The stack of the host's thread is known to the sanitizer alone.
  __sanitizer_finish_switch_fiber(ownFakeStack, &cameFrom->knownBottom, &cameFrom->knownBytes);
}
#endif

void Fibre::begin() {
#if HECTOR_FIBRE_ASAN
  arrive(nullptr);
#endif
}

void Fibre::switchFrom(Fibre &from, [[maybe_unused]] bool isLast) {
#if HECTOR_FIBRE_ASAN
  cameFrom = &from;
  __sanitizer_start_switch_fiber(isLast ? nullptr : &from.fakeStack, knownBottom, knownBytes);
#endif
#if HECTOR_FIBRE_TSAN
  if (!from.stackBottom)
    from.sanitizerFibre = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizerFibre, 0);
#endif
#if HECTOR_FIBRE_SWITCH
  hectorSwitchStack(&from.stackPointer, stackPointer);
#else
  swapcontext(&from.context, &context);
#endif
#if HECTOR_FIBRE_ASAN
  from.arrive(from.fakeStack);
#endif
}

}  // namespace hector
