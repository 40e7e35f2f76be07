#include "driver/Model.h"

#include <gtest/gtest.h>

namespace hector {
namespace {

TEST(Model, MistakesInATextAreReportedWithTheirPlaces) {
  auto model = parseModel("def f(g, x: Node[d]):\n    return y[\n", "layer");
  ASSERT_FALSE(model);
  EXPECT_TRUE(model.status().isLocated());
  EXPECT_TRUE(model.status().message().starts_with("layer:2:")) << model.status().message();
  EXPECT_NE(model.status().message().find(": error: "), std::string::npos) << model.status().message();
}

TEST(Model, AMissingFileHasNoPlaceAndNoPrefix) {
  auto model = loadModel("there-is-no-such.hec");
  ASSERT_FALSE(model);
  EXPECT_FALSE(model.status().isLocated());
  EXPECT_EQ(model.status().message(), "cannot read model `there-is-no-such.hec`: No such file or directory");
}

constexpr const char *kTwo = "def first(g, x: Node[d]):\n    for n in g.nodes():\n        n[\"a\"] = n.x\n"
                             "    return n[\"a\"]\n"
                             "def second(g, y: Node[k], scale: float = 2.0):\n    for n in g.nodes():\n"
                             "        n[\"b\"] = n.y * scale\n    return n[\"b\"]\n";

TEST(Model, EntryChoosesTheFunction) {
  auto model = parseModel(kTwo, "two", "second");
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_EQ(model->signature.name, "second");
}

TEST(Model, SettingsBindAndSizesMayStayOpen) {
  auto model = parseModel(kTwo, "two", "second");
  ASSERT_TRUE(model) << model.status().message();
  auto open = bind(*model);
  ASSERT_TRUE(open) << open.status().message();
  EXPECT_EQ(std::get<double>(open->attributes.at("scale")), 2.0);
  EXPECT_TRUE(open->sizes.empty());
  auto bound = bind(*model, {.attributes = {"scale=3.5"}, .sizes = {"k=7"}});
  ASSERT_TRUE(bound) << bound.status().message();
  EXPECT_EQ(std::get<double>(bound->attributes.at("scale")), 3.5);
  EXPECT_EQ(bound->sizes.at("k"), 7);
}

TEST(Model, ASettingThatFitsNothingIsRefusedWithoutAPrefix) {
  auto model = parseModel(kTwo, "two", "second");
  ASSERT_TRUE(model) << model.status().message();
  auto binding = bind(*model, {.attributes = {"sclae=3"}, .sizes = {}});
  ASSERT_FALSE(binding);
  EXPECT_FALSE(binding.status().isLocated());
  EXPECT_EQ(binding.status().message().find("error: "), std::string::npos) << binding.status().message();
  EXPECT_NE(binding.status().message().find("did you mean `scale`"), std::string::npos) << binding.status().message();
}

}  // namespace
}  // namespace hector
