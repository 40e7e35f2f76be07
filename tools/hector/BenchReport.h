/// What `hector bench` shows: a table, kernels, JSON and a picture.
#pragma once

#include "driver/Bench.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hector {

/// A cell's result, and the memory that a process of its own took for it.
struct BenchRow {
  BenchResult result;
  std::optional<int64_t> memoryBytes;
  std::string memoryFailure;

  bool isFine() const { return result.failure.empty() && result.isRight && memoryFailure.empty(); }
};

/// A benchmark and what was measured of it.
struct BenchReport {
  const BenchFile *file = nullptr;
  bool hasMemory = false;
  std::string device;  // the GPU that it ran on; empty: the CPU
  std::vector<BenchRow> rows;
};

/// The table of a benchmark, line by line: rows are shown when they are there.
class BenchTable {
public:
  BenchTable(const BenchFile &file, bool hasMemory);
  std::string header() const;
  std::string row(const BenchRow &row) const;

private:
  /// The texts that name a cell.
  std::vector<std::string> labels(const BenchCell &cell) const;

  const BenchFile &file;
  bool hasMemory;
  std::vector<std::string> axes;  // of the sweep
  std::vector<size_t> widths;     // of the labels
};

/// The kernels of a cell: times, and what the cost model expects.
std::string formatProfile(const BenchFile &file, const BenchResult &result);

std::string formatBenchJson(const std::vector<BenchReport> &reports, const std::string &version);
std::string drawBench(const std::vector<BenchReport> &reports);

}  // namespace hector
