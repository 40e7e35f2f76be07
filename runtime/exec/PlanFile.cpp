#include "runtime/exec/PlanFile.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Text.h"
#include "runtime/storage/File.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace hector::exec {

namespace {

/// The number changes whenever an older reader would misunderstand a file, or run it wrongly.
constexpr std::string_view kMagic = "hector plan ";
constexpr std::string_view kFirstLine = "hector plan 2\n";
constexpr std::string_view kLastKeyword = "checked ";
constexpr size_t kHashSize = 32;

constexpr const char *kPlan = "plan";
constexpr const char *kBuild = "build";
constexpr const char *kModel = "model";
constexpr const char *kSource = "source";
constexpr const char *kCode = "code.cpu";
constexpr std::string_view kCubin = "code.cuda.sm_";  // and the number of the architecture

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// --- the section `build` --------------------------------------------------------------------------------------------

std::string buildText(const CodeOrigin &made, bool isForCpu) {
  auto list = [](const std::vector<std::string> &words) {
    std::string text;
    for (const std::string &word : words)
      text += " " + asWord(word);
    return text + "\n";
  };
  std::string text = "version " + asWord(made.version) + "\nheaders " + asWord(made.headers) + "\ncompiler " +
                     asWord(made.compiler) + "\nflags" + list(made.flags);
  const Processor &processor = made.processor;
  if (isForCpu)
    text += "processor " + asWord(processor.architecture) + " name=" + asWord(processor.name) +
            " model=" + asWord(processor.model) + " stepping=" + asWord(processor.stepping) + "\nfeatures" +
            list(processor.features);
  return text;
}

Result<CodeOrigin> parseBuildText(std::string_view text, bool isForCpu) {
  CodeOrigin made;
  std::vector<std::string> missing = {"version", "headers", "compiler", "flags"};
  if (isForCpu)
    missing.insert(missing.end(), {"processor", "features"});
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    TextLine line(text.substr(at, end - at));
    ++number;
    at = end + 1;
    if (line.isEmpty())
      continue;
    const std::string keyword = line.keyword();
    std::vector<std::string> *list = keyword == "flags"      ? &made.flags
                                     : keyword == "features" ? &made.processor.features
                                                             : nullptr;
    std::string *word = keyword == "version"    ? &made.version
                        : keyword == "headers"  ? &made.headers
                        : keyword == "compiler" ? &made.compiler
                                                : nullptr;
    if (std::erase(missing, keyword) == 0)
      line.fail("has the keyword " + inTicks(keyword) +
                ", which is there twice or which this version of Hector does not know");
    while (list && line.hasWord())
      list->push_back(line.word(""));
    if (word)
      *word = line.word("a value");
    if (keyword == "processor") {
      made.processor.architecture = line.word("an architecture");
      made.processor.name = line.neededField("name");
      made.processor.model = line.neededField("model");
      made.processor.stepping = line.neededField("stepping");
    }
    if (std::string fault = line.finish(); !fault.empty())
      return Status::invalid("line " + std::to_string(number) + " " + fault);
  }
  if (!missing.empty())
    return Status::invalid("there is no line " + inTicks(missing.front()));
  return made;
}

// --- sections -------------------------------------------------------------------------------------------------------

/// Finds the sections of a file and checks their hashes.
class FileReader {
public:
  FileReader(std::span<const std::byte> bytes, const std::string &file) : bytes(bytes), file(file) {}

  Status read() {
    const std::string_view text = textOf(bytes);
    if (!text.starts_with(kFirstLine))
      return wrongStart(text);
    const size_t last = text.find("\n" + std::string(kLastKeyword));
    const size_t end = last + 1 + kLastKeyword.size() + kHashSize;
    if (last == std::string_view::npos || end >= text.size())
      return damaged(text.size(), "the file ends before its list of sections does");
    if (text[end] != '\n' || hashOf(bytes.first(last + 1)) != text.substr(end - kHashSize, kHashSize))
      return damaged(0, "its list of sections, up to byte " + std::to_string(end) +
                            ", does not have the hash that it should have");
    return readSections(text.substr(kFirstLine.size(), last + 1 - kFirstLine.size()), end + 1);
  }

  /// A section that every plan has, or every plan for a CPU.
  Result<std::span<const std::byte>> section(const std::string &name) const {
    auto found = sections.find(name);
    if (found == sections.end())
      return Status::invalid(file + ": there is no section " + inTicks(name) + ", which every plan " +
                             (name == kCode ? "for a CPU " : "") + "has");
    return found->second;
  }

  /// The sections with code for GPUs, by rising architecture. Names with something else than a number are of others.
  std::vector<Cubin> cubins() const {
    std::vector<Cubin> found;
    for (const auto &[name, bytes] : sections) {
      if (!name.starts_with(kCubin))
        continue;
      const std::string number = name.substr(kCubin.size());
      int architecture = 0;
      auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), architecture);
      if (error == std::errc() && std::to_string(architecture) == number && architecture > 0)
        found.push_back({architecture, bytes});
    }
    std::sort(found.begin(), found.end(),
              [](const Cubin &a, const Cubin &b) { return a.architecture < b.architecture; });
    return found;
  }

  /// A failure in a section, with its place.
  Status inSection(const std::string &name, const Status &status) const {
    return damaged(static_cast<size_t>(sections.at(name).data() - bytes.data()),
                   "section " + inTicks(name) + ": " + status.message());
  }

private:
  Status damaged(size_t at, const std::string &message) const {
    return Status::invalid(file + ": byte " + std::to_string(at) + ": the plan is damaged: " + message +
                           "; copy it again, or compile the model again");
  }

  Status wrongStart(std::string_view text) const {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), kFirstLine.size() + 8));
    if (kFirstLine.starts_with(text))
      return damaged(text.size(), "the file ends within its first line");
    if (text.starts_with(kMagic))
      return Status::invalid(file + ": byte " + std::to_string(kMagic.size()) + ": this is a plan of format " +
                             inTicks(line.substr(kMagic.size())) +
                             ", and this version of Hector reads format 2; compile the model again");
    return Status::invalid(file + ": byte 0: this is no plan: it starts with " + inTicks(line) + "; expected " +
                           inTicks(kFirstLine.substr(0, kFirstLine.size() - 1)));
  }

  Status readSections(std::string_view lines, size_t begin) {
    size_t at = kFirstLine.size(), sectionAt = begin;
    while (!lines.empty()) {
      const size_t end = lines.find('\n');  // there is one: `lines` ends with it
      TextLine line(lines.substr(0, end));
      const std::string name = line.word("a name");
      const auto size = static_cast<size_t>(line.number("a number of bytes"));
      const std::string hash = line.word("a hash");
      if (line.keyword() != "section")
        line.fail("is no section");
      if (std::string fault = line.finish(); !fault.empty())
        return damaged(at, "this line " + fault);
      if (size > bytes.size() - sectionAt)
        return damaged(bytes.size(), "the file ends here, and section " + inTicks(name) + " takes " +
                                         counted(static_cast<int64_t>(size), "byte") + " from byte " +
                                         std::to_string(sectionAt) + " on");
      const std::span<const std::byte> section = bytes.subspan(sectionAt, size);
      if (hashOf(section) != hash)
        return damaged(sectionAt, "section " + inTicks(name) + ", up to byte " + std::to_string(sectionAt + size) +
                                      ", does not have the hash that it should have");
      if (!sections.emplace(name, section).second)
        return damaged(at, "section " + inTicks(name) + " is there twice");
      sectionAt += size;
      at += end + 1;
      lines.remove_prefix(end + 1);
    }
    if (sectionAt != bytes.size())
      return damaged(sectionAt, "the last section ends here, and the file at byte " + std::to_string(bytes.size()));
    return Status::ok();
  }

  std::span<const std::byte> bytes;
  const std::string &file;
  std::map<std::string, std::span<const std::byte>> sections;
};

}  // namespace

std::string planFileHead(std::span<const PlanSection> sections) {
  std::string head(kFirstLine);
  for (const PlanSection &section : sections)
    head += "section " + asWord(section.name) + " " + std::to_string(section.bytes.size()) + " " +
            hashOf(section.bytes) + "\n";
  return head + std::string(kLastKeyword) + hashOf(bytesOf(head)) + "\n";
}

Result<SavedPlan> parsePlanFile(std::span<const std::byte> bytes, const std::string &name,
                                std::shared_ptr<const void> owner) {
  FileReader reader(bytes, name);
  if (Status status = reader.read(); !status.isOk())
    return status;
  auto planSection = reader.section(kPlan);
  if (!planSection)
    return planSection.status();
  auto parsed = parsePlanText(textOf(*planSection));
  if (!parsed)
    return reader.inSection(kPlan, parsed.status());
  const bool isForCpu = parsed->origin.backend == kCpu;
  if (!isForCpu && parsed->origin.backend != kCuda)
    return Status::invalid(name + ": this plan was made for the backend " + inTicks(parsed->origin.backend) +
                           ", and this version of Hector has `cpu` and `cuda`; compile the model again");
  SavedPlan saved;
  auto build = reader.section(kBuild), model = reader.section(kModel), source = reader.section(kSource);
  for (const auto *section : {&build, &model, &source})
    if (!*section)
      return section->status();
  if (isForCpu) {
    auto code = reader.section(kCode);
    if (!code)
      return code.status();
    saved.code = *code;
  } else {
    saved.cubins = reader.cubins();
  }
  auto made = parseBuildText(textOf(*build), isForCpu);
  if (!made)
    return reader.inSection(kBuild, made.status());
  parsed->plan.source = textOf(*source);
  saved.plan = std::make_shared<const Plan>(std::move(parsed->plan));
  saved.origin = std::move(parsed->origin);
  saved.origin.modelText = textOf(*model);
  saved.made = std::move(*made);
  saved.owner = std::move(owner);
  return saved;
}

bool isPlanFile(const std::string &path) {
  // Of a pipe nothing may be taken away.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return false;
  std::string start(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) && start == kMagic;
}

Result<SavedPlan> readPlanFile(const std::string &path) {
  auto file = mapFile(path);
  if (!file)
    return std::move(file).status();
  return parsePlanFile(file->bytes, path, file->owner);
}

Status writePlanFile(const std::string &path, const SavedPlan &saved) {
  const bool isForCpu = saved.origin.backend == kCpu;
  const std::string plan = planText(*saved.plan, saved.origin), build = buildText(saved.made, isForCpu);
  std::vector<PlanSection> sections = {{kPlan, bytesOf(plan)},
                                       {kBuild, bytesOf(build)},
                                       {kModel, bytesOf(saved.origin.modelText)},
                                       {kSource, bytesOf(saved.plan->source)}};
  if (isForCpu)
    sections.push_back({kCode, saved.code});
  for (const Cubin &cubin : saved.cubins)
    sections.push_back({std::string(kCubin) + std::to_string(cubin.architecture), cubin.code});
  const std::string head = planFileHead(sections);
  std::vector<std::span<const std::byte>> pieces = {bytesOf(head)};
  for (const PlanSection &section : sections)
    pieces.push_back(section.bytes);
  return replaceFile(path, pieces);
}

}  // namespace hector::exec
