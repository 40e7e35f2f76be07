#include "driver/KernelBatch.h"

#include "driver/TestPlan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hector {
namespace {

exec::Plan good(int number) {
  return planOf("extern \"C\" int good" + std::to_string(number) + "() { return 1; }\n");
}

using Numbers = std::vector<size_t>;

TEST(KernelBatch, NamesTheProgramsThatCannotBeCompiled) {
  KernelBatch batch;
  for (int i = 0; i < 7; ++i)
    batch.add(i == 3 || i == 5 ? planOf("this is no C++;\n") : good(i));
  const std::vector<KernelBatch::Failure> failures = batch.compile({"-O0"});
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].numbers, (Numbers{3}));
  EXPECT_EQ(failures[1].numbers, (Numbers{5}));
  EXPECT_NE(failures[0].status.message().find("error: "), std::string::npos) << failures[0].status.message();
}

TEST(KernelBatch, NamesProgramsThatCannotBeCompiledTogether) {
  KernelBatch batch;
  for (int i : {0, 1, 2, 2})
    batch.add(good(i));
  const std::vector<KernelBatch::Failure> failures = batch.compile({"-O0"});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].numbers, (Numbers{2, 3}));
}

}  // namespace
}  // namespace hector
