/// Stands in for the CUDA driver in tests: device memory is host memory, and all work is done at once. Every program
/// has the kernel `triple(int *numbers, int64_t count)`. `fakeCudaFail` makes the calls of one function fail,
/// `fakeCudaLive` counts what was made and not released, `fakeCudaLoaded` is the code that was loaded last, and
/// `fakeCudaGraph` describes the graph that was launched last, `fakeCudaStream` is where a kernel was launched last.
/// Graphs run in another order than they were made in.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

std::string failingCall, loadedCode;
int failingError = 0;
int64_t live = 0;
int depth = 0;  // of contexts that are current

struct Node {
  std::string what;
  std::function<void()> work;
  std::vector<Node *> after;
};
using Graph = std::vector<std::unique_ptr<Node>>;
std::string launched;  // the graph that was launched last

/// What a function returns unless it is told to fail. All but the first few functions need a context.
int result(const char *function, bool needsContext = true) {
  if (failingCall == function)
    return failingError;
  return needsContext && depth == 0 ? 201 : 0;
}

std::function<void()> triple(void **arguments) {
  int *numbers = *static_cast<int **>(arguments[0]);
  const int64_t count = *static_cast<int64_t *>(arguments[1]);
  return [=] {
    for (int64_t i = 0; i < count; ++i)
      numbers[i] *= 3;
  };
}

int addNode(const char *function, void **node, void *graph, void *const *after, size_t numAfter, Node made) {
  if (int error = result(function))
    return error;
  for (size_t i = 0; i < numAfter; ++i)
    made.after.push_back(static_cast<Node *>(after[i]));
  Graph &nodes = *static_cast<Graph *>(graph);
  nodes.push_back(std::make_unique<Node>(std::move(made)));
  *node = nodes.back().get();
  return 0;
}

int make(const char *function, void **handle, void *value, bool needsContext = true) {
  if (int error = result(function, needsContext))
    return error;
  ++live;
  *handle = value;
  return 0;
}

int release(const char *function, bool needsContext = true) {
  if (int error = result(function, needsContext))
    return error;
  --live;
  return 0;
}

void *launchStream = nullptr;  // that a kernel was launched in last

int someEvent, someFunction, someStream, someModule, someContext;

}  // namespace

extern "C" {

void fakeCudaFail(const char *function, int error) {
  failingCall = function;
  failingError = error;
}
const char *fakeCudaLoaded() {
  return loadedCode.c_str();
}
/// "triple 4x128+16; fill 160 after 0".
const char *fakeCudaGraph() {
  return launched.c_str();
}
void *fakeCudaStream() {
  return launchStream;
}
/// Objects, memory and current contexts.
int64_t fakeCudaLive() {
  return live + depth;
}

int cuInit(unsigned) {
  return result("cuInit", false);
}
int cuDriverGetVersion(int *version) {
  *version = 13020;
  return 0;
}
int cuGetErrorName(int error, const char **text) {
  *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : error == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OTHER";
  return error == 12345;
}
int cuGetErrorString(int, const char **text) {
  *text = "as the test asked";
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = failingCall == "no GPU" ? 0 : 1;
  return result("cuDeviceGetCount", false);
}
int cuDeviceGet(int *device, int) {
  *device = 7;
  return 0;
}
int cuDeviceGetName(char *name, int, int) {
  std::strcpy(name, "Fake");
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448 : 1000 + attribute;
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = size_t{4} << 30;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  return make("cuDevicePrimaryCtxRetain", context, &someContext, false);
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return release("cuDevicePrimaryCtxRelease_v2", false);
}
int cuCtxPushCurrent_v2(void *) {
  ++depth;
  return 0;
}
int cuCtxPopCurrent_v2(void **) {
  --depth;
  return 0;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *free = size_t{1} << 30;
  *total = size_t{4} << 30;
  return result("cuMemGetInfo_v2");
}
int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  if (int error = result("cuMemAlloc_v2"))
    return error;
  if (bytes > size_t{1} << 30)
    return 2;
  ++live;
  *memory = reinterpret_cast<uintptr_t>(std::malloc(bytes));
  return 0;
}
int cuMemFree_v2(unsigned long long memory) {
  std::free(reinterpret_cast<void *>(static_cast<uintptr_t>(memory)));
  return release("cuMemFree_v2");
}
int cuMemcpyHtoDAsync_v2(unsigned long long target, const void *source, size_t bytes, void *) {
  std::memcpy(reinterpret_cast<void *>(static_cast<uintptr_t>(target)), source, bytes);
  return result("cuMemcpyHtoDAsync_v2");
}
int cuMemcpyDtoHAsync_v2(void *target, unsigned long long source, size_t bytes, void *) {
  std::memcpy(target, reinterpret_cast<void *>(static_cast<uintptr_t>(source)), bytes);
  return result("cuMemcpyDtoHAsync_v2");
}
int cuMemcpyDtoDAsync_v2(unsigned long long target, unsigned long long source, size_t bytes, void *) {
  std::memcpy(reinterpret_cast<void *>(static_cast<uintptr_t>(target)),
              reinterpret_cast<void *>(static_cast<uintptr_t>(source)), bytes);
  return result("cuMemcpyDtoDAsync_v2");
}
int cuMemsetD8Async(unsigned long long target, unsigned char value, size_t bytes, void *) {
  std::memset(reinterpret_cast<void *>(static_cast<uintptr_t>(target)), value, bytes);
  return result("cuMemsetD8Async");
}

int cuStreamCreate(void **stream, unsigned) {
  return make("cuStreamCreate", stream, &someStream);
}
int cuStreamDestroy_v2(void *) {
  return release("cuStreamDestroy_v2");
}
int cuStreamSynchronize(void *) {
  return result("cuStreamSynchronize");
}
int cuEventCreate(void **event, unsigned) {
  return make("cuEventCreate", event, &someEvent);
}
int cuEventDestroy_v2(void *) {
  return release("cuEventDestroy_v2");
}
int cuEventRecord(void *, void *) {
  return result("cuEventRecord");
}
int cuEventSynchronize(void *) {
  return result("cuEventSynchronize");
}
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 1.5f;
  return result("cuEventElapsedTime");
}

int cuModuleLoadData(void **module, const void *image) {
  loadedCode = static_cast<const char *>(image);  // text of tests, which ends with a zero
  return make("cuModuleLoadData", module, &someModule);
}
int cuModuleUnload(void *) {
  return release("cuModuleUnload");
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  *function = &someFunction;
  return std::strcmp(name, "triple") == 0 ? result("cuModuleGetFunction") : 500;
}
int cuFuncSetAttribute(void *, int, int) {
  return result("cuFuncSetAttribute");
}
int cuFuncGetParamInfo(void *, size_t index, size_t *offset, size_t *bytes) {
  *offset = 8 * index;
  *bytes = 8;
  return index < 2 ? 0 : 1;
}
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream,
                   void **arguments, void **) {
  launchStream = stream;
  triple(arguments)();
  return result("cuLaunchKernel");
}

int cuGraphCreate(void **graph, unsigned) {
  auto made = std::make_unique<Graph>();
  const int error = make("cuGraphCreate", graph, made.get());
  if (!error)
    (void)made.release();
  return error;
}
struct KernelNode {
  void *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **arguments;
  void **extra;
};
int cuGraphAddKernelNode(void **node, void *graph, void *const *after, size_t numAfter, const KernelNode *what) {
  if (what->function != &someFunction || what->gridY != 1 || what->gridZ != 1 || what->blockY != 1 ||
      what->blockZ != 1 || what->extra)
    return 1;
  const std::string text = "triple " + std::to_string(what->gridX) + "x" + std::to_string(what->blockX) + "+" +
                           std::to_string(what->sharedBytes);
  return addNode("cuGraphAddKernelNode", node, graph, after, numAfter, {text, triple(what->arguments), {}});
}
struct MemsetNode {
  unsigned long long target;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};
int cuGraphAddMemsetNode(void **node, void *graph, void *const *after, size_t numAfter, const MemsetNode *what,
                         void *context) {
  if (what->elementSize != 1 || what->height != 1 || context != &someContext)
    return 1;
  auto work = [fill = *what] {
    std::memset(reinterpret_cast<void *>(static_cast<uintptr_t>(fill.target)), static_cast<int>(fill.value),
                fill.width);
  };
  return addNode("cuGraphAddMemsetNode", node, graph, after, numAfter,
                 {"fill " + std::to_string(what->width), work, {}});
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  if (int error = result("cuGraphInstantiateWithFlags"))
    return error;
  auto copy = std::make_unique<Graph>();
  std::map<const Node *, Node *> copies;
  for (const auto &node : *static_cast<Graph *>(graph)) {
    copy->push_back(std::make_unique<Node>(*node));
    copies[node.get()] = copy->back().get();
    for (Node *&before : copy->back()->after)
      before = copies.at(before);
  }
  return make("cuGraphInstantiateWithFlags", executable, copy.release());
}
int cuGraphLaunch(void *executable, void *) {
  if (int error = result("cuGraphLaunch"))
    return error;
  const Graph &graph = *static_cast<Graph *>(executable);
  std::map<const Node *, size_t> numbers;
  launched.clear();
  for (const auto &node : graph) {
    launched += (numbers.empty() ? "" : "; ") + node->what;
    for (size_t i = 0; i < node->after.size(); ++i)
      launched += (i == 0 ? " after " : " ") + std::to_string(numbers.at(node->after[i]));
    numbers.emplace(node.get(), numbers.size());
  }
  // The last one that can run comes first.
  std::set<const Node *> done;
  while (done.size() < graph.size()) {
    auto isReady = [&](const std::unique_ptr<Node> &node) {
      return !done.contains(node.get()) && std::all_of(node->after.begin(), node->after.end(),
                                                       [&](const Node *before) { return done.contains(before); });
    };
    const auto next = std::find_if(graph.rbegin(), graph.rend(), isReady);
    (*next)->work();
    done.insert(next->get());
  }
  return 0;
}
int cuGraphDestroy(void *graph) {
  delete static_cast<Graph *>(graph);
  return release("cuGraphDestroy");
}
int cuGraphExecDestroy(void *executable) {
  delete static_cast<Graph *>(executable);
  return release("cuGraphExecDestroy");
}
}
