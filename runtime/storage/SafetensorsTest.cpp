#include "runtime/storage/Safetensors.h"

#include "runtime/base/FolderTest.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace hector;
namespace fs = std::filesystem;

namespace {

std::string withLength(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), sizeof(length)) + header + data;
}

Result<TensorFile> parse(const std::string &bytes) {
  auto buffer = std::make_shared<std::string>(bytes);
  return parseSafetensors(std::as_bytes(std::span(*buffer)), "f", buffer);
}

Result<TensorFile> parse(const std::string &header, size_t dataBytes) {
  return parse(withLength(header, std::string(dataBytes, '\0')));
}

std::string errorOf(const Result<TensorFile> &result) {
  return result ? "no error" : result.status().message();
}
std::string errorOf(const std::string &header, size_t dataBytes) {
  return errorOf(parse(header, dataBytes));
}

/// A header with one tensor `a`.
std::string tensorA(const std::string &dtype, const std::string &shape, const std::string &offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

class SafetensorsFile : public FolderTest {
protected:
  static void store(const std::string &file, const std::string &bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto &entry : fs::directory_iterator(folder))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  static TensorFile small(double value) {
    TensorFile file;
    file.tensors["a"] = Tensor::fromDoubles({1}, std::vector<double>{value}, DType::F64);
    return file;
  }
};

}  // namespace

// What is legal.

TEST(SafetensorsParse, FileWithoutTensors) {
  Result<TensorFile> file = parse("{}", 0);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_TRUE(file->tensors.empty());
  EXPECT_TRUE(file->metadata.empty());
}

TEST(SafetensorsParse, FieldsInAnyOrder) {
  Result<TensorFile> file = parse(R"({ "a" : { "data_offsets" : [ 0 , 6 ], "shape" : [3], "dtype" : "I16" } }   )", 6);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->find("a")->dtype, DType::I16);
  EXPECT_EQ(file->find("a")->shape, std::vector<int64_t>{3});
}

TEST(SafetensorsParse, RankZero) {
  Result<TensorFile> file = parse(tensorA(R"("F32")", "[]", "[0,4]"), 4);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->find("a")->numElements(), 1);
}

TEST(SafetensorsParse, EmptyTensorsAroundOthers) {
  Result<TensorFile> file = parse(R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                                  R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                  R"("c":{"dtype":"F32","shape":[5,0],"data_offsets":[2,2]}})",
                                  2);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->tensors.size(), 3u);
}

TEST(SafetensorsParse, MetadataIsText) {
  Result<TensorFile> file = parse(R"({"__metadata__":{"format":"pt","":"\u00e9"}})", 0);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"", "é"}}));
}

TEST(SafetensorsParse, FindGivesNullForUnknownNames) {
  Result<TensorFile> file = parse("{}", 0);
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(file->find("a"), nullptr);
}

TEST(SafetensorsParse, TensorsKeepTheirOwnerAlive) {
  auto buffer = std::make_shared<std::string>(withLength(tensorA(R"("U8")", "[1]", "[0,1]"), "\x07"));
  std::weak_ptr<std::string> watch = buffer;
  Tensor kept;
  {
    Result<TensorFile> file = parseSafetensors(std::as_bytes(std::span(*buffer)), "f", buffer);
    ASSERT_TRUE(file);
    kept = *file->find("a");
  }
  buffer.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(kept.intAt(0), 7);
  kept = Tensor();
  EXPECT_TRUE(watch.expired());
}

// What is refused, and in which words.

TEST(SafetensorsError, EmptyFile) {
  EXPECT_EQ(errorOf(parse("")),
            "f: byte 0: the file has 0 bytes; expected at least 8, the length of the header that follows");
}

TEST(SafetensorsError, HeaderLongerThanTheFile) {
  EXPECT_EQ(errorOf(parse(std::string("\x10\0\0\0\0\0\0\0{}", 10))),
            "f: byte 0: the header's length is 16, but 2 bytes follow; expected a safetensors file (is it one, and "
            "complete?)");
}

TEST(SafetensorsError, HeaderLengthOfAllOnes) {
  EXPECT_EQ(errorOf(parse(std::string(8, '\xff') + "{}")),
            "f: byte 0: the header's length is 18446744073709551615, but 2 bytes follow; expected a safetensors file "
            "(is it one, and complete?)");
}

TEST(SafetensorsError, HeaderAboveTheLimit) {
  EXPECT_EQ(errorOf(std::string(100'000'001, ' '), 0),
            "f: byte 0: the header's length is 100000001; expected at most 100000000");
}

TEST(SafetensorsError, EmptyHeader) {
  EXPECT_EQ(errorOf("", 0), "f: byte 8: the header is empty; expected `{`");
}

TEST(SafetensorsError, HeaderThatIsNoObject) {
  EXPECT_EQ(errorOf("[]", 0), "f: byte 8: the header starts with `[`; expected `{`");
}

TEST(SafetensorsError, ByteOrderMark) {
  EXPECT_EQ(errorOf("\xef\xbb\xbf{}", 0), "f: byte 8: the header starts with `\\xef`; expected `{`");
}

TEST(SafetensorsError, ZeroByteAfterTheObject) {
  EXPECT_EQ(errorOf(std::string("{}\0\0", 4), 0),
            "f: byte 10: the header contains a zero byte; expected JSON, padded with spaces");
}

TEST(SafetensorsError, BrokenJsonNamesTheByte) {
  EXPECT_EQ(errorOf(R"({"a")", 0), "f: byte 12: the header is not valid JSON: syntax error while parsing object "
                                   "separator - unexpected end of input; expected ':'");
}

TEST(SafetensorsError, TextAfterTheObject) {
  EXPECT_EQ(errorOf("{} x", 0), "f: byte 11: the header is not valid JSON: syntax error while parsing value - invalid "
                                "literal; expected end of input");
}

TEST(SafetensorsError, InvalidUtf8NamesTheByteAndKeepsTheMessageClean) {
  EXPECT_EQ(errorOf("{\"a\xc3(\":1}", 0), "f: byte 12: the header is not valid JSON: syntax error while parsing object "
                                          "key - invalid string: ill-formed UTF-8 byte; expected string literal");
}

TEST(SafetensorsError, LoneSurrogate) {
  EXPECT_TRUE(errorOf(R"({"\ud800":{}})", 0).starts_with("f: byte ")) << errorOf(R"({"\ud800":{}})", 0);
}

TEST(SafetensorsError, NumberBeyondDouble) {
  EXPECT_EQ(errorOf(tensorA(R"("F32")", "[1e999]", "[0,0]"), 0),
            "f: byte 37: tensor `a`, shape: found 1e999; expected whole numbers from 0 to 9223372036854775807");
}

TEST(SafetensorsError, TensorNamedTwice) {
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                    R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                    0),
            "f: byte 61: tensor `a` is described twice, first at byte 9; expected each name once");
}

TEST(SafetensorsError, FieldGivenTwice) {
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"U8", "dtype":"U8"}})", 0),
            "f: byte 28: tensor `a` has two fields `dtype`; expected one");
}

TEST(SafetensorsError, MetadataGivenTwice) {
  EXPECT_EQ(errorOf(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "f: byte 27: `__metadata__` is given twice; expected it once");
}

TEST(SafetensorsError, MetadataNameGivenTwice) {
  EXPECT_EQ(errorOf(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
            "f: byte 33: metadata `k` is given twice; expected each name once");
}

TEST(SafetensorsError, MetadataThatIsNoText) {
  EXPECT_EQ(errorOf(R"({"__metadata__":{"k":12}})", 0), "f: byte 29: metadata `k`: found 12; expected text");
}

TEST(SafetensorsError, MetadataThatIsNoObject) {
  EXPECT_EQ(errorOf(R"({"__metadata__":null})", 0),
            "f: byte 24: `__metadata__`: found null; expected an object of texts");
}

TEST(SafetensorsError, UnknownField) {
  EXPECT_EQ(errorOf(R"({"a":{"type":"U8"}})", 0),
            "f: byte 14: tensor `a` has a field `type`; expected dtype, shape and data_offsets only");
}

TEST(SafetensorsError, MissingField) {
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0),
            "f: byte 9: tensor `a` has no shape; expected dtype, shape and data_offsets");
}

TEST(SafetensorsError, TensorThatIsNoObject) {
  EXPECT_EQ(errorOf(R"({"a": [1]})", 0),
            "f: byte 14: tensor `a`: found a list; expected an object with dtype, shape and data_offsets");
}

TEST(SafetensorsError, UnknownDType) {
  EXPECT_EQ(errorOf(tensorA(R"("F8_E4M3")", "[1]", "[0,1]"), 1),
            "f: byte 22: tensor `a` has dtype `F8_E4M3`; expected one of BOOL, U8, I8, U16, I16, F16, BF16, U32, I32, "
            "F32, U64, I64, F64");
}

TEST(SafetensorsError, DTypeThatIsNoText) {
  EXPECT_EQ(errorOf(tensorA("true", "[1]", "[0,1]"), 1),
            "f: byte 22: tensor `a`, dtype: found true; expected one of BOOL, U8, I8, U16, I16, F16, BF16, U32, I32, "
            "F32, U64, I64, F64");
}

TEST(SafetensorsError, NegativeSize) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[2, -3]", "[0,1]"), 1),
            "f: byte 39: tensor `a`, shape: found -3; expected whole numbers from 0 to 9223372036854775807");
}

TEST(SafetensorsError, FractionalSize) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[1.0]", "[0,1]"), 1),
            "f: byte 36: tensor `a`, shape: found 1.0; expected whole numbers from 0 to 9223372036854775807");
}

TEST(SafetensorsError, SizeBeyond63Bits) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[9223372036854775808]", "[0,1]"), 1),
            "f: byte 36: tensor `a`, shape: found 9223372036854775808; expected whole numbers from 0 to "
            "9223372036854775807");
}

TEST(SafetensorsError, SizeBeyond64Bits) {
  EXPECT_EQ(
      errorOf(tensorA(R"("U8")", "[99999999999999999999999999999999999999999999]", "[0,1]"), 1),
      "f: byte 36: tensor `a`, shape: found 9999999999999999999999999999999999999999…; expected whole numbers from "
      "0 to 9223372036854775807");
}

TEST(SafetensorsError, ShapeThatIsNoList) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "7", "[0,7]"), 7),
            "f: byte 35: tensor `a`, shape: found 7; expected a list of whole numbers");
}

TEST(SafetensorsError, NestedShape) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[[7]]", "[0,7]"), 7),
            "f: byte 36: tensor `a`, shape: found a list; expected whole numbers from 0 to 9223372036854775807");
}

TEST(SafetensorsError, DeepNesting) {
  EXPECT_EQ(errorOf("{\"a\":" + std::string(1'000'000, '['), 0),
            "f: byte 13: tensor `a`: found a list; expected an object with dtype, shape and data_offsets");
}

TEST(SafetensorsError, TooManyDimensions) {
  std::string shape = "[1";
  for (int i = 0; i < 64; ++i)
    shape += ",1";
  EXPECT_EQ(errorOf(tensorA(R"("U8")", shape + "]", "[0,1]"), 1),
            "f: byte 164: tensor `a` has more than 64 dimensions; at most 64 are supported");
}

TEST(SafetensorsError, ShapeWhoseProductOverflows) {
  EXPECT_EQ(errorOf(tensorA(R"("F64")", "[4294967296, 4294967296]", "[0,0]"), 0),
            "f: byte 28: tensor `a` of type F64 has shape [4294967296, 4294967296]; expected fewer than 2^63 bytes");
}

TEST(SafetensorsError, EmptyShapeWhoseOtherSizesOverflow) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[0,4294967296,4294967296]", "[0,0]"), 0),
            "f: byte 27: tensor `a` of type U8 has shape [0, 4294967296, 4294967296]; expected fewer than 2^63 bytes");
}

TEST(SafetensorsError, ShapeWhoseBytesOverflow) {
  EXPECT_EQ(errorOf(tensorA(R"("F64")", "[1152921504606846976]", "[0,0]"), 0),
            "f: byte 28: tensor `a` of type F64 has shape [1152921504606846976]; expected fewer than 2^63 bytes");
}

TEST(SafetensorsError, OneOffset) {
  EXPECT_EQ(
      errorOf(tensorA(R"("U8")", "[1]", "[0]"), 1),
      "f: byte 39: the data_offsets of tensor `a` hold 1 numbers; expected 2, the first byte and the one after the "
      "last");
}

TEST(SafetensorsError, ThreeOffsets) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[1]", "[0,1,2]"), 1),
            "f: byte 59: the data_offsets of tensor `a` hold more than 2 numbers; expected the first byte and the one "
            "after the last");
}

TEST(SafetensorsError, NegativeOffset) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[1]", "[-1,0]"), 1),
            "f: byte 55: tensor `a`, data_offsets: found -1; expected whole numbers from 0 to 18446744073709551615");
}

TEST(SafetensorsError, OffsetsInReverse) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[1]", "[1,0]"), 1),
            "f: byte 39: tensor `a` has data_offsets [1, 0]; expected the first not above the second");
}

TEST(SafetensorsError, OffsetsBeyondTheFile) {
  EXPECT_EQ(errorOf(tensorA(R"("F32")", "[100]", "[0,400]"), 120),
            "f: byte 42: tensor `a` has data_offsets [0, 400], but 120 bytes follow the header; expected offsets up to "
            "120 (is the file cut short?)");
}

TEST(SafetensorsError, OffsetsThatDisagreeWithTheShape) {
  EXPECT_EQ(errorOf(tensorA(R"("F32")", "[2,3]", "[0,20]"), 20),
            "f: byte 42: tensor `a` has data_offsets [0, 20], which is 20 bytes; expected 24 for F32 [2, 3]");
}

TEST(SafetensorsError, OverlappingTensorsAreBothNamed) {
  EXPECT_EQ(
      errorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
              R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
              6),
      "f: byte 115: tensor `b` starts at offset 2, but tensor `a` ends at 4; expected tensors that do not overlap");
}

TEST(SafetensorsError, EmptyTensorInsideAnother) {
  EXPECT_EQ(
      errorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
              R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
              4),
      "f: byte 115: tensor `b` starts at offset 2, but tensor `a` ends at 4; expected tensors that do not overlap");
}

TEST(SafetensorsError, HoleBetweenTensors) {
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                    R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                    9),
            "f: byte 117: no tensor holds the bytes from offset 4 to 5, where tensor `b` starts; expected tensors "
            "without holes between them");
}

TEST(SafetensorsError, BytesAfterTheLastTensor) {
  EXPECT_EQ(errorOf(tensorA(R"("U8")", "[1]", "[0,1]"), 3),
            "f: byte 62: the tensors end at offset 1, but 3 bytes follow the header; expected no bytes after the last "
            "tensor");
}

TEST(SafetensorsError, OddNamesAreShownPrintably) {
  EXPECT_EQ(errorOf(R"({"a\nb":1})", 0),
            "f: byte 16: tensor `a\\x0ab`: found 1; expected an object with dtype, shape and data_offsets");
}

TEST(SafetensorsError, LongNamesAreShortened) {
  EXPECT_EQ(errorOf("{\"" + std::string(100, 'n') + "\":1}", 0),
            "f: byte 112: tensor `" + std::string(80, 'n') +
                "…`: found 1; expected an object with dtype, shape and data_offsets");
}

TEST(SafetensorsError, EveryTruncationIsRefused) {
  std::string whole = withLength(tensorA(R"("U8")", "[2]", "[0,2]"), "ab");
  ASSERT_TRUE(parse(whole));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size))) << size;
}

// Files.

TEST_F(SafetensorsFile, EveryTypeSurvives) {
  TensorFile file;
  for (int i = 0; i <= static_cast<int>(DType::F64); ++i) {
    auto type = static_cast<DType>(i);
    file.tensors[std::string(name(type))] = Tensor::fromDoubles({3, 2}, std::vector<double>{0, 1, 1, 0, 1, 0}, type);
  }
  ASSERT_TRUE(writeSafetensors(path("t"), file).isOk());
  Result<TensorFile> back = readSafetensors(path("t"));
  ASSERT_TRUE(back) << errorOf(back);
  ASSERT_EQ(back->tensors.size(), file.tensors.size());
  for (const auto &[key, tensor] : file.tensors) {
    const Tensor *read = back->find(key);
    ASSERT_NE(read, nullptr) << key;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_EQ(std::memcmp(read->bytes, tensor.bytes, tensor.numBytes()), 0) << key;
  }
}

TEST_F(SafetensorsFile, EmptyAndRankZeroTensorsSurvive) {
  TensorFile file;
  file.tensors["empty"] = Tensor::fromDoubles({4, 0}, {}, DType::F64);
  file.tensors["scalar"] = Tensor::fromDoubles({}, std::vector<double>{7}, DType::F32);
  ASSERT_TRUE(writeSafetensors(path("t"), file).isOk());
  Result<TensorFile> back = readSafetensors(path("t"));
  ASSERT_TRUE(back) << errorOf(back);
  EXPECT_EQ(back->find("empty")->shape, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(back->find("scalar")->toDoubles(), std::vector<double>{7});
}

TEST_F(SafetensorsFile, TensorsAreAlignedToTheirElements) {
  TensorFile file;
  file.tensors["a"] = Tensor::fromDoubles({3}, std::vector<double>{1, 2, 3}, DType::U8);
  file.tensors["b"] = Tensor::fromDoubles({3}, std::vector<double>{1, 2, 3}, DType::F16);
  file.tensors["c"] = Tensor::fromDoubles({3}, std::vector<double>{1, 2, 3}, DType::F32);
  file.tensors["d"] = Tensor::fromDoubles({3}, std::vector<double>{1, 2, 3}, DType::F64);
  ASSERT_TRUE(writeSafetensors(path("t"), file).isOk());
  Result<TensorFile> back = readSafetensors(path("t"));
  ASSERT_TRUE(back) << errorOf(back);
  for (const auto &[key, tensor] : back->tensors)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes) % byteSize(tensor.dtype), 0u) << key;
}

TEST_F(SafetensorsFile, BytesAreAsTheFormatSays) {
  TensorFile file;
  file.metadata["k"] = "v";
  file.tensors["a"] = Tensor::fromDoubles({2}, std::vector<double>{1, 2}, DType::U8);
  file.tensors["b"] = Tensor::fromInt64({1}, std::vector<int64_t>{3}, DType::I32);
  ASSERT_TRUE(writeSafetensors(path("t"), file).isOk());
  std::string header = R"({"__metadata__":{"k":"v"},"b":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(contents(path("t")), withLength(header, std::string("\x03\0\0\0\x01\x02", 6)));
}

TEST_F(SafetensorsFile, NamesAndMetadataWithAnyUtf8Survive) {
  TensorFile file;
  for (const std::string &key :
       {std::string("quote\"back\\slash"), std::string("line\nbreak"), std::string("\0\x1f", 2), std::string("größe→𝔾"),
        std::string("\x7f"), std::string()}) {
    file.tensors[key] = Tensor::fromDoubles({1}, std::vector<double>{1}, DType::F32);
    file.metadata[key] = key;
  }
  ASSERT_TRUE(writeSafetensors(path("t"), file).isOk());
  Result<TensorFile> back = readSafetensors(path("t"));
  ASSERT_TRUE(back) << errorOf(back);
  EXPECT_EQ(back->metadata, file.metadata);
  for (const auto &[key, tensor] : file.tensors)
    EXPECT_NE(back->find(key), nullptr);
}

TEST_F(SafetensorsFile, LargeTensorsAmongSmallOnesSurvive) {
  TensorFile file;
  std::vector<double> many(100'000);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<double>(i);
  file.tensors["large"] = Tensor::fromDoubles({100'000}, many, DType::F64);
  for (int i = 0; i < 50; ++i)
    file.tensors["small" + std::to_string(i)] = Tensor::fromDoubles({2'000}, std::span(many).first(2'000), DType::F32);
  ASSERT_TRUE(writeSafetensors(path("t"), file).isOk());
  Result<TensorFile> back = readSafetensors(path("t"));
  ASSERT_TRUE(back) << errorOf(back);
  EXPECT_EQ(back->find("large")->toDoubles(), many);
  EXPECT_EQ(back->find("small49")->toDoubles().back(), 1999);
}

TEST_F(SafetensorsFile, ReadingSurvivesReplacementOfTheFile) {
  ASSERT_TRUE(writeSafetensors(path("t"), small(1)).isOk());
  Result<TensorFile> old = readSafetensors(path("t"));
  ASSERT_TRUE(old) << errorOf(old);
  ASSERT_TRUE(writeSafetensors(path("t"), small(2)).isOk());
  EXPECT_EQ(old->find("a")->toDoubles(), std::vector<double>{1});
  EXPECT_EQ(readSafetensors(path("t"))->find("a")->toDoubles(), std::vector<double>{2});
}

TEST_F(SafetensorsFile, OldContentsStayWhereTheDiskRefusesTheNew) {
  ASSERT_TRUE(writeSafetensors(path("t"), small(1)).isOk());
  std::string before = contents(path("t"));
  TensorFile large;
  large.tensors["a"] = Tensor::fromDoubles({10'000}, std::vector<double>(10'000), DType::F64);

  struct rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = {4096, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  Status status = writeSafetensors(path("t"), large);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, oldHandler);

  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), path("t") + ": cannot be written: File too large; 80072 bytes are needed");
  EXPECT_EQ(status.blame(), Blame::Machine);
  EXPECT_EQ(contents(path("t")), before);
  EXPECT_EQ(names(), std::vector<std::string>{"t"});
}

TEST_F(SafetensorsFile, OldContentsStayWhereATensorCannotBeNamed) {
  ASSERT_TRUE(writeSafetensors(path("t"), small(1)).isOk());
  std::string before = contents(path("t"));
  TensorFile bad = small(2);
  bad.tensors["b\xff"] = bad.tensors["a"];
  Status status = writeSafetensors(path("t"), bad);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), path("t") + ": cannot be written: tensor name `b\\xff` has the byte 0xff at position 1, "
                                          "which is not UTF-8; expected UTF-8 text");
  EXPECT_EQ(contents(path("t")), before);
}

TEST_F(SafetensorsFile, InvalidUtf8IsRefusedInEveryForm) {
  for (std::string text : {"\x80", "\xc0\x80", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    TensorFile file;
    file.metadata["k"] = text;
    EXPECT_FALSE(writeSafetensors(path("t"), file).isOk());
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(SafetensorsFile, TensorCannotBeNamedAsTheMetadata) {
  TensorFile file;
  file.tensors["__metadata__"] = Tensor::fromDoubles({}, std::vector<double>{1}, DType::F32);
  Status status = writeSafetensors(path("t"), file);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), path("t") + ": cannot be written: a tensor is named `__metadata__`, which the format "
                                          "reserves; expected another name");
}

TEST_F(SafetensorsFile, WritingIntoAMissingFolder) {
  Status status = writeSafetensors(path("no/t"), small(1));
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(),
            path("no/t") + ": cannot be written: the folder `" + path("no") + "` does not exist; create it first");
  EXPECT_EQ(status.blame(), Blame::User);
}

TEST_F(SafetensorsFile, ReadingAMissingFile) {
  Result<TensorFile> file = readSafetensors(path("none"));
  EXPECT_EQ(errorOf(file), path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(file.status().blame(), Blame::User);
}

TEST_F(SafetensorsFile, ReadingAnEmptyFile) {
  store(path("t"), "");
  EXPECT_EQ(errorOf(readSafetensors(path("t"))),
            path("t") + ": byte 0: the file has 0 bytes; expected at least 8, the length of the header that follows");
}
