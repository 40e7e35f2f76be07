#include "runtime/base/Processor.h"

#include <gtest/gtest.h>

using namespace hector;

namespace {

constexpr const char *kIntel = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                               "model name\t: Xeon\nstepping\t: 8\ncpu MHz\t\t: 2699.9\nflags\t\t: fpu avx2 avx512f\n"
                               "\nprocessor\t: 1\nmodel name\t: other\n";

Processor intel() {
  return readProcessor(kIntel, "x86_64");
}

TEST(ProcessorTest, ReadsTheFirstOne) {
  const Processor processor = intel();
  EXPECT_EQ(processor.name, "Xeon");
  EXPECT_EQ(processor.model, "GenuineIntel 6 143");
  EXPECT_EQ(processor.stepping, "8");
  EXPECT_EQ(processor.features, (std::vector<std::string>{"avx2", "avx512f", "fpu"}));
}

TEST(ProcessorTest, ReadsThatOfArm) {
  const Processor processor = readProcessor("processor\t: 0\nBogoMIPS\t: 243\nFeatures\t: fp asimd\n"
                                            "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n",
                                            "aarch64");
  EXPECT_EQ(processor.model, "0x41 0x3 0xd0c");
  EXPECT_EQ(processor.features, (std::vector<std::string>{"asimd", "fp"}));
}

TEST(ProcessorTest, CodeFitsItsOwnAndThoseWithMore) {
  EXPECT_EQ(whyUnfit(thisProcessor(), thisProcessor()), "");
  Processor more = intel();
  more.features.insert(more.features.begin(), "amx");
  more.stepping = "9";
  EXPECT_EQ(whyUnfit(intel(), more), "");
  EXPECT_EQ(whyUnfit(more, intel()), "it is for a processor with amx, which this one lacks");
}

TEST(ProcessorTest, CodeDoesNotFitOtherModels) {
  Processor other = intel();
  other.name = "EPYC";
  other.model = "AuthenticAMD 25 1";
  EXPECT_EQ(whyUnfit(intel(), other),
            "it is for Xeon (GenuineIntel 6 143), and this processor is EPYC (AuthenticAMD 25 1)");
  other = intel();
  other.architecture = "aarch64";
  EXPECT_EQ(whyUnfit(intel(), other), "it is for x86_64, and this machine is aarch64");
  other = intel();
  other.model.clear();
  EXPECT_EQ(whyUnfit(intel(), other),
            "it is for Xeon (GenuineIntel 6 143), and this system does not say what processor it has");
}

TEST(ProcessorTest, IdentitiesDifferWhereProcessorsDo) {
  Processor other = intel();
  EXPECT_EQ(identityOf(intel()), identityOf(other));
  other.features.pop_back();
  EXPECT_NE(identityOf(intel()), identityOf(other));
}

}  // namespace
