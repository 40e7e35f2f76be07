#include "runtime/data/Input.h"

#include "runtime/data/Table.h"
#include "runtime/data/TestFiles.h"

using namespace hector;
using namespace hector::test;

namespace {

std::string contents(const std::string &name, std::string bytes) {
  Result<std::vector<InputFile>> files = openMemory(name, std::move(bytes));
  if (!files)
    return errorOf(files);
  Result<std::string> text = readWhole(files->at(0));
  return text ? *text : errorOf(text);
}

std::vector<std::string> blocks(const std::string &name, std::string bytes, size_t blockBytes,
                                size_t maxLine = BlockReader::kMaxLine) {
  InputFile file = memoryFile(name, std::move(bytes));
  BlockReader reader(file, blockBytes, maxLine);
  std::vector<std::string> texts;
  for (;;) {
    Result<Block> block = reader.next();
    if (!block)
      return {errorOf(block)};
    if (block->text.empty())
      return texts;
    texts.emplace_back(block->text);
  }
}

const std::string kText = "one\ntwo\nthree\n";

}  // namespace

TEST(InputTest, PlainGzipAndZipGiveTheSameBytes) {
  EXPECT_EQ(contents("a.txt", kText), kText);
  EXPECT_EQ(contents("a.txt.gz", gzipped(kText)), kText);
  EXPECT_EQ(contents("a.zip", zipped({{"a.txt", kText}})), kText);
  EXPECT_EQ(contents("a.zip", zipped({{"a.txt", kText}}, /*packed=*/false)), kText);
}

TEST(InputTest, StoredMembersHaveAChecksumToo) {
  std::string archive = zipped({{"a.txt", kText}}, /*packed=*/false);
  archive[archive.find("two")] = 'T';
  EXPECT_EQ(errorOf(openMemory("a.zip", std::move(archive))),
            "a.zip: the zip archive is damaged or incomplete: member `a.txt` has not the checksum that the directory "
            "says");
}

TEST(InputTest, GzipIsKnownByItsBytes) {
  EXPECT_EQ(contents("a.txt", gzipped(kText)), kText);
}

TEST(InputTest, ConcatenatedGzipIsOneStream) {
  EXPECT_EQ(contents("a.gz", gzipped("one\n") + gzipped("") + gzipped("two\n")), "one\ntwo\n");
}

TEST(InputTest, ZerosAfterGzipAreNoData) {
  EXPECT_EQ(contents("a.gz", gzipped(kText) + std::string(512, '\0')), kText);
}

TEST(InputTest, ByteOrderMarkIsDropped) {
  EXPECT_EQ(contents("a.txt", "\xef\xbb\xbf" + kText), kText);
  EXPECT_EQ(blocks("a.txt", "\xef\xbb\xbf" + kText, 100), std::vector{kText});
  EXPECT_EQ(blocks("a.gz", gzipped("\xef\xbb\xbf" + kText), 100), std::vector{kText});
}

TEST(InputTest, ZipMembersAreFilesOfTheirOwn) {
  Result<std::vector<InputFile>> files = openMemory("a.zip", zipped({{"b/y.nt", "2"}, {"b/x.nt.gz", "1"}, {"b/", ""}}));
  ASSERT_TRUE(files) << errorOf(files);
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ(files->at(0).name, "a.zip/b/x.nt.gz");
  EXPECT_EQ(files->at(0).inner, "b/x.nt");
  EXPECT_EQ(files->at(0).base(), "x.nt");
}

TEST(InputTest, FoldersGiveTheirFilesInOrderWithoutDescriptions) {
  Folder folder;
  folder.write("b.txt", "b");
  folder.write("a/c.txt.gz", gzipped("c"));
  folder.write("README.md", "no");
  folder.write(".hidden/x", "no");
  Result<std::vector<InputFile>> files = openInputs({folder.path});
  ASSERT_TRUE(files) << errorOf(files);
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ(files->at(0).inner, "a/c.txt");
  EXPECT_EQ(files->at(1).inner, "b.txt");
}

TEST(InputTest, BlocksEndWithLines) {
  for (const std::string &bytes : {kText, gzipped(kText)}) {
    EXPECT_EQ(blocks("a", bytes, 5), (std::vector<std::string>{"one\n", "two\n", "three\n"}));
    EXPECT_EQ(blocks("a", bytes, 9), (std::vector<std::string>{"one\ntwo\n", "three\n"}));
  }
}

TEST(InputTest, LinesLongerThanABlockStayWhole) {
  const std::string lines[] = {std::string(1000, 'x') + "\n", std::string(300, 'y') + "\n"};
  for (const std::string &bytes : {lines[0] + lines[1], gzipped(lines[0] + lines[1])}) {
    std::string all;
    for (const std::string &block : blocks("a", bytes, 7)) {
      EXPECT_TRUE(block.ends_with('\n'));
      all += block;
    }
    EXPECT_EQ(all, lines[0] + lines[1]);
  }
}

TEST(InputTest, MappedFilesLargerThanTheCacheStepReadWhole) {
  // Pages that were read are given back on the way; what comes after must still be right.
  Folder folder;
  std::string text;
  for (int i = 0; text.size() < (size_t{200} << 20); ++i)
    text += std::to_string(i) + std::string(100, 'z') + "\n";
  Result<std::vector<InputFile>> files = openInputs({folder.write("a.txt", text)});
  ASSERT_TRUE(files) << errorOf(files);
  BlockReader reader(files->at(0), size_t{1} << 20);
  std::vector<Block> kept;
  size_t at = 0;
  for (;;) {
    Result<Block> block = reader.next();
    ASSERT_TRUE(block) << errorOf(block);
    if (block->text.empty())
      break;
    ASSERT_EQ(block->text, std::string_view(text).substr(at, block->text.size()));
    at += block->text.size();
    kept.push_back(*block);
  }
  EXPECT_EQ(at, text.size());
  EXPECT_EQ(kept.front().text, std::string_view(text).substr(0, kept.front().text.size()));
}

TEST(InputTest, EmptyFilesAreKnown) {
  EXPECT_TRUE(isEmpty(memoryFile("a", "")));
  EXPECT_TRUE(isEmpty(memoryFile("a.gz", gzipped(""))));
  EXPECT_FALSE(isEmpty(memoryFile("a", "\n")));
  EXPECT_FALSE(isEmpty(memoryFile("a.gz", gzipped("x").substr(0, 12))));
}

TEST(InputTest, LinesOfTheLargestSizeAreRead) {
  const std::vector<std::string> lines = {"one\n", std::string(1000, 'x') + "\n"};
  for (const std::string &bytes : {lines[0] + lines[1], gzipped(lines[0] + lines[1])})
    for (size_t blockBytes : {7, 600, 999, 1000, 1001})
      EXPECT_EQ(blocks("a", bytes, blockBytes, 1000), lines);
}

// What is refused, and in which words.

TEST(InputError, LinesThatAreTooLong) {
  const std::string longer(1001, 'x');
  const std::string message = "a:3: the line is longer than 1000 bytes, the most supported; is the file damaged?";
  for (const std::string &text : {"one\ntwo\n" + longer + "\n", "one\ntwo\n" + longer})
    for (const std::string &bytes : {text, gzipped(text)})
      for (size_t blockBytes : {7, 600, 999})
        EXPECT_EQ(blocks("a", bytes, blockBytes, 1000).back(), message);
}

TEST(InputError, TooLongALineStopsEveryReaderOfTables) {
  const InputFile file = memoryFile("a.gz", gzipped("1 2\n" + std::string(BlockReader::kMaxLine + 1, 'x')));
  const std::string message = "a.gz:2: the line is longer than 256.0 MiB, the most supported; is the file damaged?";
  EXPECT_EQ(errorOf(readSmallTable(file, ' ')), message);
  RowReader rows;
  rows.columns = 2;
  rows.threads = 2;
  rows.takeTexts = [](std::span<const HashedText>) { return Status::ok(); };
  RowReader::Stats stats;
  EXPECT_EQ(errorOf(rows.read(file, {}, stats)), message);
}

TEST(InputError, ArchivesWithoutData) {
  Folder folder;
  EXPECT_EQ(errorOf(openMemory("a.zip", zipped({}))), "a.zip: the zip archive holds no data; expected files to import");
  const std::string path = folder.write("data/b.zip", zipped({{"README", "x"}, {"c/", ""}}));
  EXPECT_EQ(errorOf(openInputs({path})), path + ": the zip archive holds no data; expected files to import");
  EXPECT_EQ(errorOf(openInputs({folder.path})), folder.path + ": the folder holds no data; expected files to import");
}

TEST(InputError, TruncatedGzip) {
  std::string bytes = gzipped(std::string(100'000, 'a') + kText);
  bytes.resize(bytes.size() - 9);
  std::string message = contents("a.gz", bytes);
  EXPECT_EQ(message, "a.gz: ends in the middle of its packed data, after byte " + std::to_string(bytes.size()) +
                         " (100014 bytes unpacked); the file is incomplete: fetch it again");
}

TEST(InputError, TextAfterGzip) {
  std::string bytes = gzipped(kText);
  EXPECT_EQ(contents("a.gz", bytes + "more"), "a.gz: byte " + std::to_string(bytes.size()) +
                                                  ": the gzip data ends, but other bytes follow; expected the end or "
                                                  "another gzip member");
}

TEST(InputError, DamagedGzip) {
  std::string bytes = gzipped(kText);
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] + 1);  // in the checksum
  EXPECT_EQ(contents("a.gz", bytes), "a.gz: byte " + std::to_string(bytes.size() - 4) +
                                         ": the packed data is damaged (incorrect data check); fetch the file again");
}

TEST(InputError, DamagedZipMember) {
  std::string bytes = zipped({{"a.txt", kText}}, /*packed=*/true);
  bytes[14] = static_cast<char>(bytes[14] + 1);  // a local checksum, which is not used
  EXPECT_EQ(contents("a.zip", bytes), kText);
  size_t directory = bytes.find("PK\x01\x02");
  bytes[directory + 16] = static_cast<char>(bytes[directory + 16] + 1);
  EXPECT_EQ(contents("a.zip", bytes), "a.zip/a.txt: unpacks to 14 bytes whose checksum or size is not what the archive "
                                      "says (14 bytes); fetch the archive again");
}

TEST(InputError, IncompleteZip) {
  std::string bytes = zipped({{"a.txt", kText}});
  EXPECT_EQ(contents("a.zip", bytes.substr(0, bytes.size() - 30)),
            "a.zip: the zip archive is damaged or incomplete: its directory, which stands at the end, is missing");
}

TEST(InputError, ZipEntryThatPointsOutside) {
  std::string bytes = zipped({{"a.txt", kText}});
  size_t directory = bytes.find("PK\x01\x02");
  bytes.replace(directory + 42, 4, littleEndian(1 << 30, 4));
  EXPECT_EQ(contents("a.zip", bytes),
            "a.zip: the zip archive is damaged or incomplete: member `a.txt` is not where the directory says");
}

TEST(InputError, Utf16) {
  EXPECT_EQ(blocks("a.nt", std::string("\xff\xfe<\0", 4), 100),
            std::vector<std::string>{"a.nt: is UTF-16 (it starts with a UTF-16 byte-order mark); expected UTF-8: "
                                     "convert it with `iconv -f UTF-16 -t UTF-8`"});
}

TEST(InputError, MissingFileAndEmptyFolder) {
  Folder folder;
  EXPECT_EQ(errorOf(openInputs({folder.at("none")})),
            folder.at("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(errorOf(openInputs({folder.path})), folder.path + ": the folder holds no data; expected files to import");
}
