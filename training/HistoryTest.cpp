#include "training/History.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

using namespace hector;
using namespace hector::training;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

EpochRecord recordOf(int64_t epoch, double loss) {
  EpochRecord record;
  record.epoch = epoch;
  record.loss = loss;
  return record;
}

std::string wrong(const std::string &line) {
  auto record = parseRecord(line);
  return record ? "nothing is wrong" : record.status().message();
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// A curve of `n` epochs with two metrics.
std::vector<EpochRecord> usual(int64_t n) {
  std::vector<EpochRecord> records;
  for (int64_t epoch = 1; epoch <= n; ++epoch) {
    records.push_back(recordOf(epoch, 1.4 / static_cast<double>(epoch)));
    records.back().metrics = {{"train.accuracy", 1 - 0.7 / static_cast<double>(epoch)},
                              {"valid.accuracy", 0.9 - 0.6 / static_cast<double>(epoch)},
                              {"valid.loss", 1.0}};
  }
  return records;
}

}  // namespace

TEST(HistoryTest, ARecordIsALineOfJson) {
  const EpochRecord record = {1, 1.386, 0.01, 0.012, {{"train.accuracy", 0.25}}};
  EXPECT_EQ(formatRecord(record),
            "{\"epoch\": 1, \"loss\": 1.386, \"rate\": 0.01, \"seconds\": 0.012, \"train.accuracy\": 0.25}");
}

TEST(HistoryTest, ReadsBackToTheSameBits) {
  std::mt19937_64 random(7);
  std::vector<double> numbers = {0.0,
                                 -0.0,
                                 5e-324,
                                 9007199254740994.0,
                                 -9007199254740994.0,
                                 123456789012345680000.0,
                                 1e300,
                                 1,
                                 18446744073709551615.0};
  while (numbers.size() < 1000)
    if (const double number = std::bit_cast<double>(random()); std::isfinite(number))
      numbers.push_back(number);
  for (double number : numbers) {
    EpochRecord record = {3, number, -number, number, {{"valid.mrr", number}}};
    auto back = parseRecord(formatRecord(record));
    ASSERT_TRUE(back) << back.status().message();
    EXPECT_EQ(std::bit_cast<uint64_t>(back->loss), std::bit_cast<uint64_t>(number)) << formatRecord(record);
    EXPECT_EQ(std::bit_cast<uint64_t>(back->rate), std::bit_cast<uint64_t>(-number)) << formatRecord(record);
    EXPECT_EQ(back->metrics, record.metrics);
  }
}

TEST(HistoryTest, WhatIsNoNumberIsNull) {
  EpochRecord record = recordOf(2, kNan);
  record.metrics["valid.loss"] = std::numeric_limits<double>::infinity();
  const std::string line = formatRecord(record);
  EXPECT_EQ(line, "{\"epoch\": 2, \"loss\": null, \"rate\": 0, \"seconds\": 0, \"valid.loss\": null}");
  auto back = parseRecord(line);
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_TRUE(std::isnan(back->loss));
  EXPECT_TRUE(std::isnan(back->metrics.at("valid.loss")));
}

TEST(HistoryTest, ReportsLinesThatAreNoRecords) {
  EXPECT_EQ(wrong("[1]"),
            "`[1]` is no record of an epoch; expected an object of JSON, such as {\"epoch\": 1, \"loss\": "
            "1.386, \"rate\": 0.01, \"seconds\": 0.012}");
  EXPECT_EQ(wrong("{\"epoch\": 1, \"rate\": 1, \"seconds\": 1}"),
            "a record of an epoch has no `loss`; expected epoch, loss, rate and seconds");
  EXPECT_EQ(wrong("{\"epoch\": 1.5, \"loss\": 1, \"rate\": 1, \"seconds\": 1}"),
            "`epoch` is `1.5`; expected a whole number");
  EXPECT_EQ(wrong("{\"epoch\": 1, \"loss\": \"low\", \"rate\": 1, \"seconds\": 1}"),
            "`loss` is `\"low\"`; expected a number or null");
  EXPECT_EQ(wrong("{\"epoch\": 1, \"loss\": 1, \"rate\": 1, \"seconds\": 1, \"a\": []}"),
            "`a` is `[]`; expected a number or null");
  EXPECT_NE(wrong("{\"epoch\": 1e999, \"loss\": 1, \"rate\": 1, \"seconds\": 1}"), "nothing is wrong");
}

TEST(HistoryTest, RecordsAreLines) {
  const std::vector<EpochRecord> records = usual(3);
  auto back = parseHistory(formatHistory(records));
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(*back, records);
}

TEST(HistoryTest, ReportsTheLine) {
  auto back = parseHistory(formatHistory(usual(2)) + "\n{\"epoch\": 3");
  ASSERT_FALSE(back);
  EXPECT_TRUE(back.status().message().starts_with("line 4: `{\"epoch\": 3` is no record")) << back.status().message();
}

TEST(HistoryTest, NoRecordsAreNoLines) {
  EXPECT_EQ(formatHistory({}), "");
  auto back = parseHistory("");
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->empty());
}

TEST(HistoryPictureTest, ShowsLossAndMetrics) {
  const std::string svg = drawHistory(usual(50), "accuracy", "R-GCN on aifb <1>");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_EQ(count(svg, "<polyline"), 3u);  // the loss and two metrics; valid.loss is not asked for
  EXPECT_NE(svg.find(">train.accuracy</text>"), std::string::npos);
  EXPECT_NE(svg.find(">epoch</text>"), std::string::npos);
  EXPECT_NE(svg.find("R-GCN on aifb &lt;1&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(HistoryPictureTest, LossesOfManyDecadesHaveALogScale) {
  EXPECT_EQ(drawHistory(usual(50), "accuracy", "t").find("log scale"), std::string::npos);
  EXPECT_NE(drawHistory(usual(200), "accuracy", "t").find("loss (log scale)"), std::string::npos);
}

TEST(HistoryPictureTest, NoRecordsGiveAnEmptyPicture) {
  const std::string svg = drawHistory({}, "accuracy", "t");
  EXPECT_NE(svg.find("no epochs yet"), std::string::npos);
  EXPECT_EQ(count(svg, "<polyline"), 0u);
}

TEST(HistoryPictureTest, OneRecordIsADot) {
  const std::string svg = drawHistory(usual(1), "accuracy", "t");
  EXPECT_EQ(count(svg, "<polyline"), 0u);
  EXPECT_EQ(count(svg, "<circle"), 6u);  // three in the legend
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(HistoryPictureTest, LossesThatAreNoNumbersAreGaps) {
  std::vector<EpochRecord> records = usual(20);
  records[9].loss = kNan;
  const std::string svg = drawHistory(records, "accuracy", "t");
  EXPECT_EQ(count(svg, "<polyline"), 4u);
  EXPECT_NE(svg.find("the loss is not a number"), std::string::npos);
}

TEST(HistoryPictureTest, AllLossesMayBeNoNumbers) {
  std::vector<EpochRecord> records = usual(5);
  for (EpochRecord &record : records)
    record.loss = kNan;
  const std::string svg = drawHistory(records, "accuracy", "t");
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(HistoryPictureTest, ManyEpochsGiveASmallFileWithItsPeaks) {
  std::vector<EpochRecord> records = usual(100'000);
  for (EpochRecord &record : records)
    record.loss = 1;
  const std::string flat = drawHistory(records, "accuracy", "t");
  records[54'321].loss = 7;
  const std::string peak = drawHistory(records, "accuracy", "t");
  EXPECT_LT(peak.size(), 60'000u);
  EXPECT_NE(peak, flat);
  records[54'321].loss = 6;
  EXPECT_NE(peak, drawHistory(records, "accuracy", "t"));
}

TEST(HistoryPictureTest, OddNumbersAreDrawn) {
  const double most = std::numeric_limits<double>::max();
  const int64_t last = std::numeric_limits<int64_t>::max();
  for (const std::vector<EpochRecord> &records :
       std::vector<std::vector<EpochRecord>>{{recordOf(1, 0), recordOf(2, 0)},
                                             {recordOf(1, -most), recordOf(2, most)},
                                             {recordOf(1, 5e-324), recordOf(2, most)},
                                             {recordOf(1, 1), recordOf(2, 1 + 1e-15)},
                                             {recordOf(last - 1, 1), recordOf(last, 2)},
                                             {recordOf(3, -1), recordOf(1, -5)},
                                             {recordOf(4, 2), recordOf(4, 3)}}) {
    const std::string svg = drawHistory(records, "accuracy", "t");
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
    EXPECT_EQ(svg.find(">-0<"), std::string::npos) << svg;
  }
}
