#include "runtime/exec/PlanText.h"

#include "runtime/base/Text.h"
#include "runtime/exec/Memory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace hector::exec {

namespace {

// Names, in the order of the enumerations; those of domains, orders and phases are flow's.
constexpr std::array<const char *, cpu::NumDomains> kDomains = {"one",      "ntype",    "etype", "node",
                                                                "src_pair", "dst_pair", "edge"};
constexpr std::array<const char *, 6> kStorages = {"f64", "f32", "bf16", "f16", "bool", "index"};
constexpr std::array<const char *, 4> kOrders = {"none", "by_type", "by_dst", "by_src"};
constexpr std::array<const char *, 4> kPhases = {"graph", "weights", "forward", "backward"};
constexpr std::array<const char *, 3> kSlots = {"sorted", "full", "rows"};
constexpr std::array<const char *, 2> kSides = {"src", "dst"};
constexpr std::array<const char *, 2> kPrecisions = {"highest", "high"};
constexpr std::array<const char *, 4> kSchedules = {"units", "pieces", "tiles", "chunks"};

template <class E, size_t N> const char *nameIn(const std::array<const char *, N> &names, E value) {
  return names[static_cast<size_t>(value)];
}

template <size_t N> std::string listOf(const std::array<const char *, N> &names) {
  std::string list;
  for (const char *name : names)
    list += (list.empty() ? "" : name == names.back() ? " or " : ", ") + std::string(name);
  return list;
}

/// Characters that need no quotes.
bool isPlain(char c) {
  return c > ' ' && c < 127 && c != '"' && c != '#' && c != '=' && c != '\\';
}

std::string formatNumber(double number) {
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += " " + asWord(word);
  return text;
}

}  // namespace

// --- lines ----------------------------------------------------------------------------------------------------------

std::string asWord(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), isPlain))
    return std::string(word);
  std::string text = "\"";
  for (char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      text += std::string("\\") + c;
    else if (byte < ' ' || byte == 127)
      text += "\\x" + hexByte(byte);
    else
      text += c;
  }
  return text + "\"";
}

TextLine::TextLine(std::string_view line) {
  size_t at = 0;
  // The rest of a quoted word, behind its first quote.
  auto readQuoted = [&] {
    std::string word;
    while (at < line.size() && line[at] != '"') {
      if (line[at] != '\\') {
        word += line[at++];
        continue;
      }
      unsigned value = 0;
      if (at + 1 < line.size() && (line[at + 1] == '"' || line[at + 1] == '\\')) {
        word += line[at + 1];
        at += 2;
      } else if (at + 4 <= line.size() && line[at + 1] == 'x' &&
                 std::from_chars(line.data() + at + 2, line.data() + at + 4, value, 16).ptr == line.data() + at + 4) {
        word += static_cast<char>(value);
        at += 4;
      } else {
        fail("has a `\\` in quotes with neither `\"`, `\\` nor `x` and two hexadecimal digits behind it");
        break;
      }
    }
    if (at < line.size())
      ++at;
    else
      fail("has a quote without an end");
    return word;
  };
  auto readWord = [&] {
    if (at < line.size() && line[at] == '"') {
      ++at;
      return readQuoted();
    }
    const size_t begin = at;
    while (at < line.size() && isPlain(line[at]))
      ++at;
    return std::string(line.substr(begin, at - begin));
  };
  while (wrong.empty()) {
    while (at < line.size() && line[at] == ' ')
      ++at;
    if (at == line.size() || line[at] == '#')
      return;
    const size_t begin = at;
    std::string word = readWord();
    if (at < line.size() && line[at] == '=' && line[begin] != '"' && !first.empty()) {
      ++at;
      if (!fields.emplace(word, readWord()).second)
        fail("has the field " + inTicks(word) + " twice");
    } else if (first.empty()) {
      first = std::move(word);
    } else {
      words.push_back(std::move(word));
    }
    if (at < line.size() && line[at] != ' ' && line[at] != '#')
      fail("has " + inTicks(line.substr(at, 1)) + " where a blank is expected");
  }
}

void TextLine::fail(const std::string &message) {
  if (wrong.empty())
    wrong = message;
}

std::string TextLine::word(std::string_view what) {
  if (next < words.size())
    return words[next++];
  fail("lacks " + std::string(what));
  return "";
}

int64_t TextLine::toNumber(const std::string &text, std::string_view what, int64_t least, int64_t most) {
  if (!wrong.empty())
    return least;
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most)
    return number;
  fail("has " + inTicks(text) + " for " + std::string(what) + "; expected a whole number from " +
       std::to_string(least) + " to " + std::to_string(most));
  return least;
}

int64_t TextLine::number(std::string_view what, int64_t least, int64_t most) {
  return toNumber(word(what), what, least, most);
}

std::optional<std::string> TextLine::field(const std::string &name) {
  auto found = fields.find(name);
  if (found == fields.end())
    return std::nullopt;
  std::string value = std::move(found->second);
  fields.erase(found);
  return value;
}

std::string TextLine::neededField(const std::string &name) {
  std::optional<std::string> value = field(name);
  if (!value)
    fail("lacks the field " + inTicks(name));
  return value.value_or("");
}

int64_t TextLine::neededNumber(const std::string &name, int64_t most) {
  return toNumber(neededField(name), inTicks(name), 0, most);
}

int64_t TextLine::numberOr(const std::string &name, int64_t otherwise, int64_t most) {
  std::optional<std::string> value = field(name);
  return value ? toNumber(*value, inTicks(name), 0, most) : otherwise;
}

std::string TextLine::finish() {
  if (next < words.size())
    fail("has the word " + inTicks(words[next]) + " too many");
  if (!fields.empty())
    fail("has the field " + inTicks(fields.begin()->first) + ", which this version of Hector does not know");
  return wrong;
}

// --- writing --------------------------------------------------------------------------------------------------------

namespace {

/// "  # steps 2 to 5": where a table is written first and used last.
std::string lifetime(const MemoryPlan::Table &table) {
  if (table.firstWrite < 0)
    return "";
  if (table.isKept)
    return "  # from step " + std::to_string(table.firstWrite) + " on";
  return table.firstWrite == table.lastUse
             ? "  # step " + std::to_string(table.firstWrite)
             : "  # steps " + std::to_string(table.firstWrite) + " to " + std::to_string(table.lastUse);
}

void writeOrigin(std::string &text, const Plan &plan, const PlanOrigin &origin) {
  text += "plan " + asWord(plan.name) + "\n";
  text += "backend " + asWord(origin.backend) + "\n";
  text += "model " + asWord(origin.modelPath) + " entry=" + asWord(origin.entry) + "\n";
  text += "numbers " + asWord(origin.numbers) + "\n";
  text += "passes " + asWord(origin.passes) + "\n";
  if (origin.backend == kCuda)
    text += "precision " + asWord(origin.precision) + "\n";
  if (origin.gradients)
    text += "gradients" + (origin.gradients->empty() ? " all" : " of" + joined(*origin.gradients)) + "\n";
  auto settings = [&](const char *keyword, const std::vector<std::string> &values) {
    for (const std::string &value : values) {
      const size_t equals = value.find('=');
      text +=
          std::string(keyword) + " " + asWord(value.substr(0, equals)) + " " + asWord(value.substr(equals + 1)) + "\n";
    }
  };
  settings("set", origin.attributes);
  settings("size", origin.sizes);
}

void writeGraphNeeds(std::string &text, const Plan &plan) {
  text += std::string("ids ") + (plan.wideIds ? "64" : "32") + "\n";
  if (!plan.relationEnds.empty()) {
    text += "relation_ends";
    for (Side side : plan.relationEnds)
      text += std::string(" ") + nameIn(kSides, side);
    text += "  # each relation joins one node type at these ends\n";
  }
  // What follows from the launches.
  constexpr size_t kColumns = 100;
  std::string line;
  for (const Form &form : formsOf(plan)) {
    const std::string name = formName(form);
    if (!line.empty() && line.size() + 2 + name.size() > kColumns) {
      text += line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "# forms: " : ", ") + name;
  }
  text += line.empty() ? "" : line + "\n";
}

/// The columns of tables that stand below each other.
class TableColumns {
public:
  explicit TableColumns(const std::vector<TableSpec> &tables) {
    for (const TableSpec &table : tables) {
      nameWidth = std::max(nameWidth, asWord(table.name).size());
      rowWidth = std::max(rowWidth, rowOf(table).size());
      domainWidth = std::max(domainWidth, domainOf(table).size());
    }
  }

  /// "att domain=edge row=8 type=f32 order=by_dst".
  std::string line(const TableSpec &table) const {
    std::string text = padded(asWord(table.name), nameWidth) + " " + padded(domainOf(table), domainWidth) + " " +
                       padded(rowOf(table), rowWidth) + " type=" + nameIn(kStorages, table.storage);
    if (table.order != Order::None)
      text += std::string(" order=") + nameIn(kOrders, table.order);
    return text;
  }

private:
  static std::string rowOf(const TableSpec &table) {
    std::string shape;
    for (int64_t extent : table.shape)
      shape += (shape.empty() ? "row=" : "x") + std::to_string(extent);
    return shape;
  }
  static std::string domainOf(const TableSpec &table) {
    return std::string("domain=") + nameIn(kDomains, table.domain);
  }

  size_t nameWidth = 0, rowWidth = 0, domainWidth = 0;
};

void writeTables(std::string &text, const Plan &plan) {
  const std::vector<MemoryPlan::Table> lifetimes = findLifetimes(plan);
  const TableColumns columns(plan.tables);
  const size_t numberWidth = std::to_string(plan.tables.size()).size();
  for (size_t i = 0; i < plan.tables.size(); ++i)
    text += "table " + padded(std::to_string(i), numberWidth) + " " + columns.line(plan.tables[i]) +
            lifetime(lifetimes[i]) + "\n";
  text += "\n";
  for (const Port &port : plan.inputs)
    text += "input " + asWord(port.name) + " " + std::to_string(port.table) + "\n";
  for (const Port &port : plan.outputs)
    text += "output " + asWord(port.name) + " " + std::to_string(port.table) + "\n";
}

/// Fields that have their defaults are left out.
void writeDevice(std::string &text, const DeviceLaunch &device) {
  const DeviceLaunch defaults;
  text += std::string("  device ") + nameIn(kSchedules, device.schedule) + " lanes=" + std::to_string(device.lanes) +
          " threads=" + std::to_string(device.threads);
  auto number = [&](const char *name, int64_t value, int64_t otherwise) {
    if (value != otherwise)
      text += std::string(" ") + name + "=" + std::to_string(value);
  };
  number("blocks", device.blocks, defaults.blocks);
  number("bands", device.bands, defaults.bands);
  number("shared_bytes", device.sharedBytes, defaults.sharedBytes);
  number("tile_rows", device.tileRows, defaults.tileRows);
  if (device.rows != defaults.rows)
    text += std::string(" rows=") + nameIn(kDomains, device.rows);
  number("part_bytes", device.partBytes, defaults.partBytes);
  text += "\n";
  const TableColumns columns(device.buffers);
  for (const TableSpec &buffer : device.buffers)
    text += "  buffer " + columns.line(buffer) + "\n";
}

void writeLaunch(std::string &text, const Plan &plan, const Step &step) {
  const Launch &launch = step.launch;
  text += std::string("launch ") + nameIn(kPhases, step.phase) + " " + asWord(launch.label) + "\n";
  text += "  kernel " + asWord(launch.kernel) + "\n";
  text += std::string("  units ") + nameIn(kDomains, launch.domain) +
          (launch.balance ? " balance=" + formName(*launch.balance) : "") + " cost=" + formatNumber(launch.unitCost) +
          "\n";
  auto list = [&](const char *keyword, const std::vector<int> &tables) {
    if (tables.empty())
      return;
    std::string names;
    text += std::string("  ") + keyword;
    for (int table : tables) {
      text += " " + std::to_string(table);
      names += " " + asWord(plan.tables[table].name);
    }
    text += "  #" + names + "\n";
  };
  list("reads", launch.inputs);
  list("writes", launch.outputs);
  if (!launch.forms.empty()) {
    text += "  forms";
    for (const Form &form : launch.forms)
      text += " " + formName(form);
    text += "\n";
  }
  for (const TotalSpec &total : launch.totals)
    text += "  total " + asWord(total.join) + " target=" + nameIn(kDomains, total.target) +
            " slots=" + nameIn(kSlots, total.slots) + " row_bytes=" + std::to_string(total.rowBytes) +
            " output=" + std::to_string(total.output) + "\n";
  const ScratchSpec &scratch = launch.scratch;
  if (scratch != ScratchSpec())
    text += "  scratch bytes=" + std::to_string(scratch.bytes) + " row_bytes=" + std::to_string(scratch.bytesPerRow) +
            " rows=" + nameIn(kDomains, scratch.domain) + "\n";
  if (launch.device)
    writeDevice(text, *launch.device);
}

}  // namespace

std::string planText(const Plan &plan, const PlanOrigin &origin) {
  std::string text;
  writeOrigin(text, plan, origin);
  text += "\n";
  writeGraphNeeds(text, plan);
  text += "\n";
  writeTables(text, plan);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    text += "\n# step " + std::to_string(i) + "\n";
    writeLaunch(text, plan, plan.steps[i]);
  }
  return text;
}

// --- reading --------------------------------------------------------------------------------------------------------

namespace {

/// Reads line by line. A launch lasts until the next one.
class PlanReader {
public:
  /// Takes one line; returns what is wrong with it.
  std::string read(TextLine &line) {
    const std::string keyword = line.keyword();
    if (keyword == "launch")
      seenInLaunch.clear();
    static const std::set<std::string_view> kMany = {"set",    "size",   "table", "input",
                                                     "output", "launch", "total", "buffer"};
    if (!kMany.contains(keyword) && !(isPartOfLaunch(keyword) ? seenInLaunch : seen).insert(keyword).second)
      line.fail("is the second of its kind");
    if (!readOrigin(keyword, line) && !readTable(keyword, line) && !readLaunch(keyword, line))
      line.fail("has the keyword " + inTicks(keyword) + ", which this version of Hector does not know");
    return line.finish();
  }

  bool has(const std::string &keyword) const { return seen.contains(keyword); }

  /// What is missing at the end.
  std::string missing() const {
    for (const char *keyword : {"plan", "backend", "model", "numbers", "passes", "ids"})
      if (!seen.contains(keyword))
        return keyword;
    return "";
  }

  ParsedPlan parsed;

private:
  static bool isPartOfLaunch(const std::string &keyword) {
    static const std::set<std::string_view> kParts = {"kernel", "units",   "reads",  "writes", "forms",
                                                      "total",  "scratch", "device", "buffer"};
    return kParts.contains(keyword);
  }

  template <class E, size_t N>
  static E choose(TextLine &line, const std::string &text, const std::array<const char *, N> &names) {
    auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end())
      return static_cast<E>(found - names.begin());
    line.fail("has " + inTicks(text) + " where " + listOf(names) + " is expected");
    return E{};
  }

  static Form form(TextLine &line, const std::string &name) {
    std::optional<Form> found = formFromName(name);
    if (!found)
      line.fail("has " + inTicks(name) + ", which is no form of a graph");
    return found.value_or(Form());
  }

  static int tableNumber(TextLine &line) {
    return static_cast<int>(line.number("a table", 0, std::numeric_limits<int>::max()));
  }

  bool readOrigin(const std::string &keyword, TextLine &line) {
    PlanOrigin &origin = parsed.origin;
    if (keyword == "plan") {
      parsed.plan.name = line.word("a name");
    } else if (keyword == "backend") {
      origin.backend = line.word("a name");
    } else if (keyword == "model") {
      origin.modelPath = line.word("a path");
      origin.entry = line.neededField("entry");
    } else if (keyword == "numbers") {
      origin.numbers = line.word("a type");
    } else if (keyword == "passes") {
      origin.passes = line.word("a list");
    } else if (keyword == "precision") {
      origin.precision = kPrecisions[choose<size_t>(line, line.word("a name"), kPrecisions)];
    } else if (keyword == "gradients") {
      origin.gradients.emplace();
      if (choose<int>(line, line.word("`all` or `of`"), std::array<const char *, 2>{"all", "of"}) == 1)
        do
          origin.gradients->push_back(line.word("the name of an input"));
        while (line.hasWord());
    } else if (keyword == "set" || keyword == "size") {
      const std::string name = line.word("a name"), value = line.word("a value");
      (keyword == "set" ? origin.attributes : origin.sizes).push_back(name + "=" + value);
    } else if (keyword == "ids") {
      parsed.plan.wideIds =
          choose<int>(line, line.word("a number of bits"), std::array<const char *, 2>{"32", "64"}) == 1;
    } else if (keyword == "relation_ends") {
      do
        parsed.plan.relationEnds.push_back(choose<Side>(line, line.word("an end"), kSides));
      while (line.hasWord());
    } else {
      return false;
    }
    return true;
  }

  bool readTable(const std::string &keyword, TextLine &line) {
    Plan &plan = parsed.plan;
    if (keyword == "input" || keyword == "output") {
      Port port;
      port.name = line.word("a name");
      port.table = tableNumber(line);
      (keyword == "input" ? plan.inputs : plan.outputs).push_back(std::move(port));
      return true;
    }
    if (keyword != "table")
      return false;
    const auto count = static_cast<int64_t>(plan.tables.size());
    if (line.number("the number of the table") != count)
      line.fail("should be that of table " + std::to_string(count));
    plan.tables.push_back(tableOf(line));
    return true;
  }

  static TableSpec tableOf(TextLine &line) {
    TableSpec table;
    table.name = line.word("a name");
    table.domain = choose<Domain>(line, line.neededField("domain"), kDomains);
    table.storage = choose<Storage>(line, line.neededField("type"), kStorages);
    if (std::optional<std::string> order = line.field("order"))
      table.order = choose<Order>(line, *order, kOrders);
    if (std::optional<std::string> row = line.field("row"))
      table.shape = shapeOf(line, *row);
    return table;
  }

  /// The extents of "8x64".
  static std::vector<int64_t> shapeOf(TextLine &line, const std::string &text) {
    std::vector<int64_t> shape;
    const char *at = text.data(), *end = at + text.size();
    while (true) {
      int64_t extent = 0;
      auto [rest, error] = std::from_chars(at, end, extent);
      if (error != std::errc() || extent < 1 || (rest != end && *rest != 'x')) {
        line.fail("has " + inTicks(text) + " for the shape of a row; expected extents such as 8x64");
        return {};
      }
      shape.push_back(extent);
      if (rest == end)
        return shape;
      at = rest + 1;
    }
  }

  bool readLaunch(const std::string &keyword, TextLine &line) {
    std::vector<Step> &steps = parsed.plan.steps;
    if (keyword == "launch") {
      Step step;
      step.phase = choose<Phase>(line, line.word("a phase"), kPhases);
      step.launch.label = line.word("a label");
      steps.push_back(std::move(step));
      return true;
    }
    if (!isPartOfLaunch(keyword))
      return false;
    if (steps.empty()) {
      line.fail("belongs to a launch, and there is none yet");
      return true;
    }
    Launch &launch = steps.back().launch;
    if (keyword == "kernel") {
      launch.kernel = line.word("a symbol");
    } else if (keyword == "units") {
      launch.domain = choose<Domain>(line, line.word("a domain"), kDomains);
      if (std::optional<std::string> balance = line.field("balance"))
        launch.balance = form(line, *balance);
      const std::string cost = line.neededField("cost");
      auto [end, error] = std::from_chars(cost.data(), cost.data() + cost.size(), launch.unitCost);
      if (error != std::errc() || end != cost.data() + cost.size())
        line.fail("has " + inTicks(cost) + " for `cost`; expected a number");
    } else if (keyword == "reads" || keyword == "writes") {
      while (line.hasWord())
        (keyword == "reads" ? launch.inputs : launch.outputs).push_back(tableNumber(line));
    } else if (keyword == "forms") {
      while (line.hasWord())
        launch.forms.push_back(form(line, line.word("a form")));
    } else if (keyword == "total") {
      TotalSpec total;
      total.join = line.word("a symbol");
      total.target = choose<Domain>(line, line.neededField("target"), kDomains);
      total.slots = choose<TotalSpec::Slots>(line, line.neededField("slots"), kSlots);
      total.rowBytes = line.neededNumber("row_bytes");
      total.output = static_cast<int>(line.neededNumber("output", std::numeric_limits<int>::max()));
      launch.totals.push_back(std::move(total));
    } else if (keyword == "scratch") {
      launch.scratch.bytes = line.neededNumber("bytes");
      launch.scratch.bytesPerRow = line.neededNumber("row_bytes");
      launch.scratch.domain = choose<Domain>(line, line.neededField("rows"), kDomains);
    } else if (keyword == "device") {
      launch.device = deviceOf(line);
    } else if (!launch.device) {
      line.fail("belongs to a line `device`, and the launch has none yet");
    } else {
      launch.device->buffers.push_back(tableOf(line));
    }
    return true;
  }

  static DeviceLaunch deviceOf(TextLine &line) {
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    DeviceLaunch device;
    device.schedule = choose<Schedule>(line, line.word("a schedule"), kSchedules);
    device.lanes = static_cast<int>(line.neededNumber("lanes", kMost));
    device.threads = static_cast<int>(line.neededNumber("threads", kMost));
    device.blocks = static_cast<int>(line.numberOr("blocks", device.blocks, kMost));
    device.bands = static_cast<int>(line.numberOr("bands", device.bands, kMost));
    device.sharedBytes = line.numberOr("shared_bytes", device.sharedBytes);
    device.tileRows = line.numberOr("tile_rows", device.tileRows);
    if (std::optional<std::string> rows = line.field("rows"))
      device.rows = choose<Domain>(line, *rows, kDomains);
    device.partBytes = line.numberOr("part_bytes", device.partBytes);
    return device;
  }

  std::set<std::string> seen, seenInLaunch;
};

}  // namespace

Result<ParsedPlan> parsePlanText(std::string_view text) {
  PlanReader reader;
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    TextLine line(text.substr(at, end - at));
    ++number;
    at = end + 1;
    if (line.isEmpty())
      continue;
    if (std::string fault = reader.read(line); !fault.empty())
      return Status::invalid("line " + std::to_string(number) + " " + fault);
  }
  if (std::string keyword = reader.missing(); !keyword.empty())
    return Status::invalid("there is no line " + inTicks(keyword));
  const auto &[plan, origin] = reader.parsed;
  if (Status status = checkPlan(plan); !status.isOk())
    return status;
  if (!plan.steps.empty() && isForDevices(plan) != (origin.backend == kCuda))
    return Status::invalid("the plan of " + inTicks(plan.name) + " is damaged: its backend is " +
                           inTicks(origin.backend) + ", but its launches are for " +
                           (isForDevices(plan) ? "a GPU" : "a CPU"));
  if (reader.has("precision") != (origin.backend == kCuda))
    return Status::invalid("the plan of " + inTicks(plan.name) + " is damaged: its backend is " +
                           inTicks(origin.backend) + ", and it has " + (origin.backend == kCuda ? "no" : "a") +
                           " line `precision`, which those for a GPU have");
  return std::move(reader.parsed);
}

}  // namespace hector::exec
