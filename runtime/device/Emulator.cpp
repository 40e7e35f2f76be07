#include "runtime/device/Emulator.h"

#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/device/Fibre.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <exception>
#include <link.h>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

// Where a fault can be turned into a report: the fibre goes on in another function.
#if HECTOR_FIBRE_SWITCH && !HECTOR_FIBRE_ASAN
#define HECTOR_CATCHES_FAULTS 1
#include <ucontext.h>
#else
#define HECTOR_CATCHES_FAULTS 0
#endif

// Finds a thread's copy of a module's thread-local variables, and makes it where there is none yet.
extern "C" void *__tls_get_addr(size_t *moduleAndOffset);

namespace hector {

namespace {

using cuda::HostEntry;
using cuda::Place;

constexpr int kWarp = 32;

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t end) { return next() % end; }
  /// One of the bits that are set: the first from a place on that is drawn.
  int bitOf(uint32_t bits) {
    const int start = static_cast<int>(next() >> 59);
    return (std::countr_zero(std::rotr(bits, start)) + start) % 32;
  }

private:
  uint64_t state;
};

/// The static shared memory of a loaded module: all of its thread-local variables.
struct ModuleMemory {
  bool isKnown = false;  // else nothing tells it from other variables
  size_t module = 0;     // 0: there is none
  size_t bytes = 0;

  std::span<std::byte> ofThisThread() const {
    if (module == 0)
      return {};
    size_t start[2] = {module, 0};
    return {static_cast<std::byte *>(__tls_get_addr(start)), bytes};
  }
};

/// Of the module that `entry` is in, unless that is the program which the emulator itself is in: there, other variables
/// are thread-local too.
ModuleMemory staticMemoryOf(HostEntry *entry) {
  struct Search {
    uintptr_t entry, own;
    ModuleMemory found;
  } search = {reinterpret_cast<uintptr_t>(entry), reinterpret_cast<uintptr_t>(&staticMemoryOf), {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *opaque) {
        auto &search = *static_cast<Search *>(opaque);
        bool hasEntry = false, isOwn = false;
        ModuleMemory memory = {true, 0, 0};
        for (const auto &header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          const uintptr_t first = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD) {
            hasEntry |= search.entry - first < header.p_memsz;
            isOwn |= search.own - first < header.p_memsz;
          } else if (header.p_type == PT_TLS) {
            memory = {true, info->dlpi_tls_modid, header.p_memsz};
          }
        }
        if (hasEntry && !isOwn)
          search.found = memory;
        return hasEntry ? 1 : 0;
      },
      &search);
  return search.found;
}

struct Launch {
  HostEntry *entry;
  void **args;
  int64_t blocks;  // of a band
  int bands;
  int threads;
  int64_t sharedBytes;
  uint64_t seed;
  ModuleMemory staticMemory;
};

/// Dynamic shared memory of blocks. It ends where a page may not be touched, and begins behind one, but for a few bytes
/// on both sides whose value is known.
class SharedMemory {
public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  ~SharedMemory() {
    if (base)
      munmap(base, bytes);
  }

  bool reserve() {
    if (base)
      return true;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room = (static_cast<size_t>(Emulator::kMaxSharedBytes) + page - 1) / page * page;
    void *memory = mmap(nullptr, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    base = static_cast<std::byte *>(memory);
    bytes = room + 2 * page;
    end = base + page + room;
    return mprotect(base + page, room, PROT_READ | PROT_WRITE) == 0;
  }

  /// The bytes of a new block.
  std::span<std::byte> fill(int64_t count) {
    const size_t rounded = (static_cast<size_t>(count) + 15) / 16 * 16;  // keeps the start aligned
    used = {end - rounded, static_cast<size_t>(count)};
    // Far more than what a wrong index usually misses by.
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    before = {std::max(end - rounded - 1024, base + page), used.data()};
    after = {used.data() + used.size(), end};
    std::fill(before.begin(), before.end(), kMark);
    std::fill(after.begin(), after.end(), kMark);
    std::fill(used.begin(), used.end(), std::byte{0xff});
    return used;
  }
  /// Whether something was written next to the bytes of the block.
  bool isOverrun() const {
    auto isMark = [](std::byte byte) { return byte == kMark; };
    return !std::all_of(before.begin(), before.end(), isMark) || !std::all_of(after.begin(), after.end(), isMark);
  }
  /// Whether an address is where shared memory may be, or next to it.
  bool isNear(uintptr_t address) const { return address - reinterpret_cast<uintptr_t>(base) < bytes; }
  bool contains(const void *from, size_t count) const {
    const auto *first = static_cast<const std::byte *>(from);
    return first >= used.data() && first <= used.data() + used.size() &&
           count <= static_cast<size_t>(used.data() + used.size() - first);
  }
  std::span<std::byte> bytesOfBlock() const { return used; }

private:
  static constexpr std::byte kMark{0xa5};
  std::byte *base = nullptr, *end = nullptr;
  size_t bytes = 0;
  std::span<std::byte> used, before, after;
};

/// What lanes of a warp do together. Two calls are the same if all of it is equal.
struct Together {
  enum Kind : int { Barrier, Ballot, ShuffleIndex, ShuffleXor, ShuffleDown, ShuffleUp, Bf16, F64 };
  Kind kind;
  uint32_t lanes;
  int bytes = 0, width = 0;

  bool operator==(const Together &) const = default;
  std::string title() const {
    constexpr std::array<const char *, 8> kNames = {"syncWarp",    "ballot",    "shuffle",      "shuffleXor",
                                                    "shuffleDown", "shuffleUp", "multiplyBf16", "multiplyF64"};
    std::string text = kNames[static_cast<size_t>(kind)];
    if (width > 0)
      text += " of " + std::to_string(bytes) + " bytes in groups of " + counted(width, "lane");
    if (lanes != 0xffffffffu) {
      text += ", for the lanes";
      for (int lane = 0; lane < kWarp; ++lane)
        if (lanes >> lane & 1)
          text += " " + std::to_string(lane);
    }
    return text;
  }
};

/// What a lane brings to it, and takes away.
union Slot {
  struct {
    void *value;
    int operand;
  } shuffle;
  struct {
    bool predicate;
    uint32_t result;
  } ballot;
  struct {
    float *sums;
    const void *a, *b;
  } matrix;
  struct {
    double *sums;
    double a, b;
  } matrixOfDoubles;
};

/// A meeting of lanes that has begun.
struct Meeting {
  Together what;
  uint32_t arrived = 0;
  std::array<Slot *, kWarp> slots = {};
};

struct Copy {
  std::byte *to;
  const std::byte *from;
  int bytes, filled;
  int64_t group;
};

struct Thread {
  enum State : char { Ready, AtBlockBarrier, AtMeeting, Ended };
  Fibre fibre;
  State state = Ready;
  Together meeting = {Together::Barrier, 0};  // with State::AtMeeting
  std::vector<Copy> copies;                   // not made yet, in order
  int64_t groups = 0;                         // that were committed
};

struct Warp {
  uint32_t ready = 0;
  std::vector<Meeting> meetings;  // few: they have no lane in common
};

std::string threadsText(const std::vector<int> &threads) {
  std::string text;
  for (size_t i = 0; i < threads.size();) {
    size_t last = i;
    while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(threads[i]);
    if (last > i)
      text += (last > i + 1 ? " to " : ", ") + std::to_string(threads[last]);
    i = last + 1;
  }
  return (threads.size() == 1 ? "thread " : "threads ") + text;
}

/// Thrown through a kernel that cannot go on.
struct Abandoned {};

cuda::Machine &theMachine();

/// One after the other, the blocks that one thread of the host executes.
class BlockRunner {
public:
  Status run(const Launch &launch, int64_t block, Random random);

  // What threads call.
  void enter(const char *name) { kernel = name; }
  const Place &place() {
    where.thread = running;
    return where;
  }
  void *sharedMemory() { return shared.bytesOfBlock().data(); }
  void syncBlock();
  void meet(const Together &what, Slot &slot);
  void checkMatrixRow(const void *row);
  void copyAsync(const Copy &copy);
  void commitCopies() { ++threads[running].groups; }
  void waitCopies(int groups);
  /// Ends the thread, the block and the launch.
  [[noreturn]] void fail(const std::string &what);
  /// Why the block has failed.
  void note(const std::string &what);

  static void runThread();
#if HECTOR_CATCHES_FAULTS
  static void onFault(int signal, siginfo_t *info, void *context);
#endif

private:
  void prepare(const Launch &launch, int64_t block);
  void makeReady(int thread) {
    threads[thread].state = Thread::Ready;
    warps[thread / kWarp].ready |= 1u << thread % kWarp;
    readyWarps |= 1u << thread / kWarp;
  }
  void leave(Thread::State state);
  void make(const Copy &copy);
  Random random{0};
  void finish(Meeting &meeting);
  std::string blockText() const;
  std::string stuckText() const;
  static void endAfterFault();

  FibreStacks stacks;
  std::unique_ptr<Thread[]> threads = std::make_unique<Thread[]>(Emulator::kMaxThreads);
  std::array<Warp, Emulator::kMaxThreads / kWarp> warps;
  SharedMemory shared;
  std::span<std::byte> staticMemory;
  Fibre scheduler;

  const Launch *launch = nullptr;
  const char *kernel = "";
  Place where;
  int running = -1;  // the thread of the block that runs
  int atBarrier = 0, ended = 0;
  uint32_t readyWarps = 0;
  std::string failure;

#if HECTOR_CATCHES_FAULTS
  int faultSignal = 0;
  uintptr_t faultAddress = 0;
#endif
};

/// Whose threads run on this thread of the host.
thread_local BlockRunner *current = nullptr;

// --- scheduling -----------------------------------------------------------------------------------------------------

void BlockRunner::prepare(const Launch &what, int64_t block) {
  launch = &what;
  where = {0, what.threads, block % what.blocks, what.blocks, static_cast<int>(block / what.blocks)};
  shared.fill(what.sharedBytes);
  staticMemory = what.staticMemory.ofThisThread();
  std::fill(staticMemory.begin(), staticMemory.end(), std::byte{0xff});
  atBarrier = ended = 0;
  failure.clear();
  readyWarps = 0;
  for (Warp &warp : warps) {
    warp.ready = 0;
    warp.meetings.clear();
  }
  for (int i = 0; i < what.threads; ++i) {
    threads[i].fibre.prepare(stacks.bottom(i), runThread);
    threads[i].copies.clear();
    threads[i].groups = 0;
    makeReady(i);
  }
}

Status BlockRunner::run(const Launch &what, int64_t block, Random chosen) {
  random = chosen;
  if (!stacks.reserve(what.threads) || !shared.reserve())
    return Status::failed("no memory to emulate a block of " + counted(what.threads, "thread"));
  prepare(what, block);
  current = this;
  int warp = 0;
  while (failure.empty() && ended < what.threads) {
    if (readyWarps == 0) {
      failure = stuckText();
      break;
    }
    // A warp goes on as long as it can, as a rule: the others then see what it does early, and it what they do late.
    if (!(readyWarps >> warp & 1) || random.next() % 16 == 0)
      warp = random.bitOf(readyWarps);
    const int lane = random.bitOf(warps[warp].ready);
    warps[warp].ready &= ~(1u << lane);
    if (warps[warp].ready == 0)
      readyWarps &= ~(1u << warp);
    running = warp * kWarp + lane;
    threads[running].fibre.switchFrom(scheduler);
    running = -1;
  }
  current = nullptr;
  if (failure.empty() && shared.isOverrun())
    failure = blockText() + " wrote outside of its " + counted(what.sharedBytes, "byte") + " of dynamic shared memory";
  return failure.empty() ? Status::ok() : Status::failed(failure);
}

void BlockRunner::leave(Thread::State state) {
  Thread &thread = threads[running];
  if (state != Thread::Ready)
    thread.state = state;
  scheduler.switchFrom(thread.fibre, state == Thread::Ended);
}

void BlockRunner::runThread() {
  BlockRunner &runner = *current;
  runner.threads[runner.running].fibre.begin();
  try {
    runner.launch->entry(theMachine(), runner.launch->args);
  } catch (const Abandoned &) {
  } catch (const std::exception &error) {
    runner.note(std::string("threw an exception: ") + error.what());
  } catch (...) {
    runner.note("threw an exception");
  }
  ++runner.ended;
  runner.leave(Thread::Ended);
}

void BlockRunner::note(const std::string &what) {
  failure = blockText() + ", thread " + std::to_string(running) + " " + what;
}

void BlockRunner::fail(const std::string &what) {
  note(what);
  throw Abandoned{};
}

std::string BlockRunner::blockText() const {
  return "kernel " + inTicks(kernel) + ", block " + std::to_string(where.block) + " of " +
         std::to_string(where.numBlocks) + (launch->bands > 1 ? " of band " + std::to_string(where.band) : "");
}

std::string BlockRunner::stuckText() const {
  // What is waited for, in the order of the first thread that waits for it, and who does.
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (int i = 0; i < launch->threads; ++i) {
    const Thread &thread = threads[i];
    std::string what = thread.state == Thread::AtBlockBarrier ? "at syncBlock"
                       : thread.state == Thread::AtMeeting    ? "at " + thread.meeting.title()
                                                              : "has ended";
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto &other) { return other.first == what; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {what, {}});
    group->second.push_back(i);
  }
  std::string text = blockText() + ": its threads wait for each other, and none can go on";
  for (const auto &[what, members] : groups)
    text += "\n  " + what + ": " + threadsText(members);
  return text;
}

// --- barriers, shuffles, matrix instructions ------------------------------------------------------------------------

void BlockRunner::syncBlock() {
  if (++atBarrier < launch->threads) {
    leave(Thread::AtBlockBarrier);
    return;
  }
  atBarrier = 0;
  for (int i = 0; i < launch->threads; ++i)
    makeReady(i);
  leave(Thread::Ready);
}

void BlockRunner::meet(const Together &what, Slot &slot) {
  const int lane = running % kWarp;
  if (!(what.lanes >> lane & 1))
    fail("calls " + what.title() + ", but is lane " + std::to_string(lane));
  Warp &warp = warps[running / kWarp];
  auto meeting = std::find_if(warp.meetings.begin(), warp.meetings.end(),
                              [&](const Meeting &other) { return other.what == what; });
  if (meeting == warp.meetings.end())
    meeting = warp.meetings.insert(meeting, Meeting{what});
  meeting->arrived |= 1u << lane;
  meeting->slots[lane] = &slot;
  if (meeting->arrived != what.lanes) {
    threads[running].meeting = what;
    leave(Thread::AtMeeting);
    return;
  }
  Meeting complete = *meeting;
  warp.meetings.erase(meeting);
  finish(complete);
  for (int other = 0; other < kWarp; ++other)
    if (what.lanes >> other & 1)
      makeReady(running - lane + other);
  leave(Thread::Ready);
}

/// The sum of a tensor core: exact but for the end, where digits are dropped.
float truncated(double sum) {
  const float nearest = static_cast<float>(sum);
  if (!std::isfinite(sum) || std::abs(static_cast<double>(nearest)) <= std::abs(sum))
    return nearest;
  if (std::abs(sum) >= 0x1p128)  // beyond all floats
    return nearest;
  return std::nextafter(nearest, 0.0f);
}

/// sums += a·b of 16 rows, 8 columns and kDepth steps, where `a(r, k)` and `b(k, c)` are numbers.
template <int kDepth, class A, class B>
void multiplyTile(const std::array<Slot *, kWarp> &slots, const A &a, const B &b) {
  std::array<std::array<double, 8>, kDepth> right;
  for (int k = 0; k < kDepth; ++k)
    for (int c = 0; c < 8; ++c)
      right[k][c] = b(k, c);
  for (int r = 0; r < 16; ++r) {
    auto sumOf = [&](int c) -> float & { return slots[r % 8 * 4 + c / 2]->matrix.sums[r / 8 * 2 + c % 2]; };
    std::array<double, 8> sums;
    for (int c = 0; c < 8; ++c)
      sums[c] = static_cast<double>(sumOf(c));
    for (int k = 0; k < kDepth; ++k) {
      const double left = a(r, k);
      for (int c = 0; c < 8; ++c)
        sums[c] += left * right[k][c];
    }
    for (int c = 0; c < 8; ++c)
      sumOf(c) = truncated(sums[c]);
  }
}

double fromBf16(uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits << 16));
}

void BlockRunner::finish(Meeting &meeting) {
  const Together &what = meeting.what;
  auto &slots = meeting.slots;
  switch (what.kind) {
  case Together::Barrier:
    return;
  case Together::Ballot: {
    uint32_t votes = 0;
    for (int lane = 0; lane < kWarp; ++lane)
      if (slots[lane] && slots[lane]->ballot.predicate)
        votes |= 1u << lane;
    for (Slot *slot : slots)
      if (slot)
        slot->ballot.result = votes;
    return;
  }
  case Together::ShuffleIndex:
  case Together::ShuffleXor:
  case Together::ShuffleDown:
  case Together::ShuffleUp: {
    std::array<std::array<std::byte, 8>, kWarp> values;
    for (int lane = 0; lane < kWarp; ++lane)
      if (slots[lane])
        std::memcpy(values[lane].data(), slots[lane]->shuffle.value, static_cast<size_t>(what.bytes));
    for (int lane = 0; lane < kWarp; ++lane) {
      if (!slots[lane])
        continue;
      const int operand = slots[lane]->shuffle.operand, first = lane & ~(what.width - 1), end = first + what.width;
      int from = 0;
      if (what.kind == Together::ShuffleIndex)
        from = first + (operand & (what.width - 1));
      else if (what.kind == Together::ShuffleXor)
        from = lane ^ operand;
      else if (what.kind == Together::ShuffleDown)
        from = lane + operand < end ? lane + operand : lane;
      else
        from = lane - operand >= first ? lane - operand : lane;
      if (from < first || from >= end || !slots[from])
        fail("completes " + what.title() + ", in which lane " + std::to_string(lane) + " asks for the value of lane " +
             std::to_string(from) + ", which takes no part");
      std::memcpy(slots[lane]->shuffle.value, values[from].data(), static_cast<size_t>(what.bytes));
    }
    return;
  }
  case Together::Bf16:
    multiplyTile<16>(
        slots,
        [&](int r, int k) {
          const auto *a = static_cast<const uint32_t *>(slots[r % 8 * 4 + k % 8 / 2]->matrix.a);
          return fromBf16(a[r / 8 + k / 8 * 2] >> k % 2 * 16 & 0xffffu);
        },
        [&](int k, int c) {
          const auto *b = static_cast<const uint32_t *>(slots[c * 4 + k % 8 / 2]->matrix.b);
          return fromBf16(b[k / 8] >> k % 2 * 16 & 0xffffu);
        });
    return;
  case Together::F64:
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c) {
        double &sum = slots[r * 4 + c / 2]->matrixOfDoubles.sums[c % 2];
        for (int k = 0; k < 4; ++k)
          sum = std::fma(slots[r * 4 + k]->matrixOfDoubles.a, slots[c * 4 + k]->matrixOfDoubles.b, sum);
      }
    return;
  }
}

// --- asynchronous copies --------------------------------------------------------------------------------------------

void BlockRunner::copyAsync(const Copy &copy) {
  const size_t bytes = static_cast<size_t>(copy.bytes);
  auto isMisaligned = [&](const void *address) { return reinterpret_cast<uintptr_t>(address) % bytes != 0; };
  if (isMisaligned(copy.to) || isMisaligned(copy.from))
    fail("starts a copy of " + std::to_string(bytes) + " bytes from or to an address that is no multiple of it");
  if (copy.filled < 0 || copy.filled > copy.bytes)
    fail("starts a copy of " + std::to_string(bytes) + " bytes that fills " + std::to_string(copy.filled));
  const bool isStatic = !staticMemory.empty() && copy.to >= staticMemory.data() &&
                        copy.to + bytes <= staticMemory.data() + staticMemory.size();
  const bool mayBeStatic = !launch->staticMemory.isKnown && !shared.isNear(reinterpret_cast<uintptr_t>(copy.to));
  if (!shared.contains(copy.to, bytes) && !isStatic && !mayBeStatic)
    fail("starts a copy to an address that is not in the block's shared memory");
  // A copy may arrive at once, or when it is waited for.
  if (random.below(2) == 0)
    return make(copy);
  Thread &thread = threads[running];
  thread.copies.push_back(copy);
  thread.copies.back().group = thread.groups;
}

void BlockRunner::make(const Copy &copy) {
  if (copy.filled > 0)  // else `from` may be null
    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.filled));
  std::memset(copy.to + copy.filled, 0, static_cast<size_t>(copy.bytes - copy.filled));
}

void BlockRunner::checkMatrixRow(const void *row) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
    fail("loads a row of a matrix from an address that is no multiple of 16");
  if (!shared.contains(row, 16))
    fail("loads a row of a matrix that is not in the block's shared memory");
}

void BlockRunner::waitCopies(int groups) {
  Thread &thread = threads[running];
  auto first = thread.copies.begin(), last = first;
  for (; last != thread.copies.end() && last->group < thread.groups - groups; ++last)
    make(*last);
  thread.copies.erase(first, last);
}

// --- the machine ----------------------------------------------------------------------------------------------------

/// Passes on what threads ask for.
class EmulatedMachine final : public cuda::Machine {
public:
  void enter(const char *kernel) override { current->enter(kernel); }
  const Place &place() override { return current->place(); }
  void *sharedMemory() override { return current->sharedMemory(); }
  void syncBlock() override { current->syncBlock(); }
  void syncWarp(uint32_t lanes) override {
    Slot slot;
    current->meet({Together::Barrier, lanes}, slot);
  }
  void shuffle(void *value, int bytes, cuda::Shuffle kind, int operand, int width, uint32_t lanes) override {
    Slot slot;
    slot.shuffle = {value, operand};
    const int offset = static_cast<int>(kind) - static_cast<int>(cuda::Shuffle::Index);
    current->meet({static_cast<Together::Kind>(Together::ShuffleIndex + offset), lanes, bytes, width}, slot);
  }
  uint32_t ballot(bool predicate, uint32_t lanes) override {
    Slot slot;
    slot.ballot = {predicate, 0};
    current->meet({Together::Ballot, lanes}, slot);
    return slot.ballot.result;
  }
  void copyAsync(void *to, const void *from, int bytes, int filled) override {
    current->copyAsync({static_cast<std::byte *>(to), static_cast<const std::byte *>(from), bytes, filled, 0});
  }
  void checkMatrixRow(const void *row) override { current->checkMatrixRow(row); }
  void commitCopies() override { current->commitCopies(); }
  void waitCopies(int groups) override { current->waitCopies(groups); }
  void multiplyBf16(float *sums, const uint32_t *a, const uint32_t *b) override {
    Slot slot;
    slot.matrix = {sums, a, b};
    current->meet({Together::Bf16, 0xffffffffu}, slot);
  }
  void multiplyF64(double *sums, double a, double b) override {
    Slot slot;
    slot.matrixOfDoubles = {sums, a, b};
    current->meet({Together::F64, 0xffffffffu}, slot);
  }
};

cuda::Machine &theMachine() {
  static EmulatedMachine machine;
  return machine;
}

// --- faults ---------------------------------------------------------------------------------------------------------

#if HECTOR_CATCHES_FAULTS

constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

std::array<struct sigaction, kFaults.size()> handlersBefore;

void BlockRunner::onFault(int signal, siginfo_t *info, void *context) {
  BlockRunner *runner = current;
  if (runner && runner->running >= 0 && info->si_code > 0) {
    runner->faultSignal = signal;
    runner->faultAddress = reinterpret_cast<uintptr_t>(info->si_addr);
    // The thread goes on at the start of its stack, which may be what has overflowed.
    auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(&BlockRunner::endAfterFault));
    registers[REG_RSP] =
        static_cast<greg_t>(reinterpret_cast<uintptr_t>(runner->threads[runner->running].fibre.stackTop()) - 8);
    return;
  }
  // Not a kernel's: it happens again, and is handled as if there were no emulator.
  for (size_t i = 0; i < kFaults.size(); ++i)
    if (kFaults[i] == signal)
      sigaction(signal, &handlersBefore[i], nullptr);
}

void BlockRunner::endAfterFault() {
  BlockRunner &runner = *current;
  {
    const auto address = runner.faultAddress;
    const char *name = runner.faultSignal == SIGFPE   ? "an arithmetic fault"
                       : runner.faultSignal == SIGILL ? "an illegal instruction or a trap"
                                                      : "a memory fault";
    std::string text = std::string("ran into ") + name;
    if (runner.faultSignal == SIGSEGV || runner.faultSignal == SIGBUS) {
      const auto shared = runner.shared.bytesOfBlock();
      const auto stack = reinterpret_cast<uintptr_t>(runner.threads[runner.running].fibre.stackTop());
      if (runner.shared.isNear(address))
        text += " at byte " +
                std::to_string(static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(shared.data()))) + " of " +
                counted(static_cast<int64_t>(shared.size()), "byte") + " of dynamic shared memory";
      else if (stack - address > FibreStacks::kBytes && stack - address <= FibreStacks::kBytes + 4096)
        text += ": its local variables need more than the " + std::to_string(FibreStacks::kBytes / 1024) +
                " KiB of its stack";
      else
        text += " at address " + std::to_string(address);
    }
    runner.note(text);
  }
  ++runner.ended;
  runner.leave(Thread::Ended);
}

/// While it lives, faults of kernels are caught, in this process and on this thread.
class FaultHandlers {
public:
  FaultHandlers() {
    std::lock_guard lock(mutex);
    if (users++ > 0)
      return;
    struct sigaction action = {};
    action.sa_sigaction = &BlockRunner::onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kFaults.size(); ++i)
      sigaction(kFaults[i], &action, &handlersBefore[i]);
  }
  FaultHandlers(const FaultHandlers &) = delete;
  FaultHandlers &operator=(const FaultHandlers &) = delete;
  ~FaultHandlers() {
    std::lock_guard lock(mutex);
    if (--users > 0)
      return;
    for (size_t i = 0; i < kFaults.size(); ++i)
      sigaction(kFaults[i], &handlersBefore[i], nullptr);
  }

private:
  static inline std::mutex mutex;
  static inline int users = 0;
};

/// While it lives, handlers run on a stack of their own on this thread: that of the kernel may be full.
class HandlerStack {
public:
  HandlerStack() {
    stack_t stack = {};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, &before);
  }
  HandlerStack(const HandlerStack &) = delete;
  HandlerStack &operator=(const HandlerStack &) = delete;
  ~HandlerStack() { sigaltstack(&before, nullptr); }

private:
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 1024);
  stack_t before = {};
};

#else

struct FaultHandlers {
  FaultHandlers() {}  // for the warning about variables that are not used
};
struct HandlerStack {
  HandlerStack() {}
};

#endif

}  // namespace

// --- launches -------------------------------------------------------------------------------------------------------

Status Emulator::launch(HostEntry *entry, int64_t blocks, int threads, int64_t sharedBytes, void **args,
                        int bands) const {
  if (blocks < 0 || blocks > INT32_MAX)
    return Status::failed("cannot launch " + counted(blocks, "block") + "; a grid has 0 to " +
                          std::to_string(INT32_MAX));
  if (bands < 1 || bands > kMaxBands)
    return Status::failed("cannot launch " + counted(bands, "band") + " of blocks; a grid has 1 to " +
                          std::to_string(kMaxBands));
  if (threads < 1 || threads > kMaxThreads)
    return Status::failed("cannot launch blocks of " + counted(threads, "thread") + "; a block has 1 to " +
                          std::to_string(kMaxThreads));
  if (sharedBytes < 0 || sharedBytes > kMaxSharedBytes)
    return Status::failed("cannot launch blocks with " + counted(sharedBytes, "byte") +
                          " of dynamic shared memory; a block has 0 to " + std::to_string(kMaxSharedBytes));
  const Launch launch = {entry, args, blocks, bands, threads, sharedBytes, seed, staticMemoryOf(entry)};

  Random random(seed);
  const int64_t all = blocks * bands;
  std::vector<int64_t> order(static_cast<size_t>(all));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);

  static ScratchPool<BlockRunner> runners;
  const FaultHandlers handlers;
  std::mutex mutex;
  int64_t firstFailed = all;  // in the order of launching, so that more threads give the same report
  Status status = Status::ok();
  std::atomic<bool> hasFailed = false;
  parallelFor(all, 1, [&](int64_t begin, int64_t) {
    if (hasFailed)
      return;
    const HandlerStack handlerStack;
    auto runner = runners.borrow();
    const int64_t block = order[static_cast<size_t>(begin)];
    Status result = runner->run(launch, block, Random(seed ^ static_cast<uint64_t>(block) << 32));
    if (result.isOk())
      return;
    hasFailed = true;
    std::lock_guard lock(mutex);
    if (begin < firstFailed) {
      firstFailed = begin;
      status = std::move(result);
    }
  });
  return status;
}

}  // namespace hector
