/// A small good case, and the ways in which case files are broken in the tests.
#pragma once

#include <filesystem>

namespace hector::test {

/// Writes `good.safetensors` and every broken relative of it into `folder`. Each is the good one with one thing wrong;
/// its name says which.
void writeCases(const std::filesystem::path &folder);

}  // namespace hector::test
