#include "runtime/data/Pickle.h"

#include "runtime/base/Text.h"

#include <cstring>
#include <unordered_map>

namespace hector {

namespace {

using Kind = PickleValue::Kind;

class Machine {
public:
  Machine(std::string_view bytes, const std::string &name) : bytes(bytes), name(name) {}

  Result<Pickle> run() {
    for (;;) {
      if (at >= bytes.size())
        return fail("ends before the pickle does");
      const auto opcode = static_cast<unsigned char>(bytes[at++]);
      if (opcode == '.') {
        if (stack.empty())
          return fail("stops without a value");
        out.root = stack.back();
        return std::move(out);
      }
      if (!step(opcode))
        return fail(problem);
    }
  }

private:
  Status fail(const std::string &what) {
    return Status::invalid(name + ": byte " + std::to_string(at) + ": " + what +
                           "; expected a pickle of arrays, sparse matrices or dictionaries of lists");
  }
  bool bad(std::string what) {
    problem = std::move(what);
    return false;
  }

  PickleValue *make(Kind kind) {
    out.values.emplace_back().kind = kind;
    return &out.values.back();
  }
  bool push(PickleValue *value) {
    stack.push_back(value);
    return true;
  }
  bool pushInt(int64_t number) {
    PickleValue *value = make(Kind::Int);
    value->number = number;
    return push(value);
  }
  bool take(size_t count, std::string_view &text) {
    if (count > bytes.size() - at)
      return bad("the pickle is incomplete");
    text = bytes.substr(at, count);
    at += count;
    return true;
  }
  bool number(int size, uint64_t &value) {
    std::string_view text;
    if (!take(static_cast<size_t>(size), text))
      return false;
    value = 0;
    for (int i = 0; i < size; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(text[static_cast<size_t>(i)])) << (8 * i);
    return true;
  }
  bool line(std::string_view &text) {
    size_t newline = bytes.find('\n', at);
    if (newline == std::string_view::npos)
      return bad("the pickle is incomplete");
    text = bytes.substr(at, newline - at);
    at = newline + 1;
    return true;
  }
  bool pop(PickleValue *&value) {
    if (stack.empty() || (!marks.empty() && stack.size() <= marks.back()))
      return bad("a value is missing");
    value = stack.back();
    stack.pop_back();
    return true;
  }
  /// The values since the last mark.
  bool popMark(std::vector<const PickleValue *> &values) {
    if (marks.empty())
      return bad("a mark is missing");
    values.assign(stack.begin() + static_cast<std::ptrdiff_t>(marks.back()), stack.end());
    stack.resize(marks.back());
    marks.pop_back();
    return true;
  }
  bool top(Kind kind, PickleValue *&value) {
    if (stack.empty() || (!marks.empty() && stack.size() <= marks.back()))
      return bad("a value is missing");
    value = stack.back();
    // A defaultdict is an object that takes items as a dictionary does.
    if (value->kind != kind && !(kind == Kind::Dict && value->kind == Kind::Object))
      return bad("a value is of the wrong kind");
    return true;
  }
  bool text(int sizeBytes) {
    uint64_t size;
    std::string_view content;
    if (!number(sizeBytes, size) || !take(size, content))
      return false;
    PickleValue *value = make(Kind::Text);
    value->text = content;
    return push(value);
  }
  bool tuple(size_t size) {
    PickleValue *value = make(Kind::Tuple);
    value->items.resize(size);
    for (size_t i = size; i-- > 0;) {
      PickleValue *item;
      if (!pop(item))
        return false;
      value->items[i] = item;
    }
    return push(value);
  }
  bool memoPut(uint64_t key) {
    if (stack.empty())
      return bad("a value is missing");
    memo[key] = stack.back();
    return true;
  }
  bool memoGet(uint64_t key) {
    auto it = memo.find(key);
    if (it == memo.end())
      return bad("a value is used before it is made");
    return push(it->second);
  }
  /// Items of a dictionary go into the state of an object that stands for one.
  bool addItems(PickleValue *target, const std::vector<const PickleValue *> &items) {
    if (items.size() % 2 != 0)
      return bad("a dictionary's key has no value");
    if (target->kind == Kind::Object) {
      if (target->items.size() < 3) {
        target->items.resize(2);
        target->items.push_back(make(Kind::Dict));
      }
      target = const_cast<PickleValue *>(target->items[2]);
      if (target->kind != Kind::Dict)
        return bad("a value is of the wrong kind");
    }
    target->items.insert(target->items.end(), items.begin(), items.end());
    return true;
  }

  bool step(unsigned char opcode) {
    uint64_t n;
    std::string_view view;
    PickleValue *a, *b;
    std::vector<const PickleValue *> many;
    switch (opcode) {
    case 0x80:  // protocol
      return number(1, n) && (n <= 3 || bad("the pickle's protocol is " + std::to_string(n) + ", above 3"));
    case '(':
      marks.push_back(stack.size());
      return true;
    case 'N':
      return push(make(Kind::None));
    case 0x88:
    case 0x89:
      a = make(Kind::Bool);
      a->number = opcode == 0x88;
      return push(a);
    case 'J':
      return number(4, n) && pushInt(static_cast<int32_t>(n));
    case 'K':
      return number(1, n) && pushInt(static_cast<int64_t>(n));
    case 'M':
      return number(2, n) && pushInt(static_cast<int64_t>(n));
    case 0x8a: {  // a long of up to 8 bytes
      if (!number(1, n) || n > 8)
        return bad("a number is too large");
      const int size = static_cast<int>(n);
      if (!number(size, n))
        return false;
      if (size > 0 && size < 8 && (n >> (8 * size - 1) & 1))
        n |= ~uint64_t{0} << (8 * size);
      return pushInt(static_cast<int64_t>(n));
    }
    case 'G': {  // big-endian double
      if (!take(8, view))
        return false;
      uint64_t bits = 0;
      for (char c : view)
        bits = bits << 8 | static_cast<unsigned char>(c);
      a = make(Kind::Float);
      std::memcpy(&a->real, &bits, 8);
      return push(a);
    }
    case 'U':
    case 'C':
      return text(1);
    case 'T':
    case 'B':
    case 'X':
      return text(4);
    case ')':
      return tuple(0);
    case 0x85:
    case 0x86:
    case 0x87:
      return tuple(opcode - 0x84u);
    case 't':
      if (!popMark(many))
        return false;
      a = make(Kind::Tuple);
      a->items = std::move(many);
      return push(a);
    case ']':
      return push(make(Kind::List));
    case '}':
      return push(make(Kind::Dict));
    case 'a':
      if (!pop(a) || !top(Kind::List, b))
        return false;
      b->items.push_back(a);
      return true;
    case 'e':
      if (!popMark(many) || !top(Kind::List, b))
        return false;
      b->items.insert(b->items.end(), many.begin(), many.end());
      return true;
    case 's': {
      PickleValue *key;
      return pop(a) && pop(key) && top(Kind::Dict, b) && addItems(b, {key, a});
    }
    case 'u':
      return popMark(many) && top(Kind::Dict, b) && addItems(b, many);
    case 'c': {
      std::string_view module, symbol;
      if (!line(module) || !line(symbol))
        return false;
      a = make(Kind::Global);
      a->text = std::string(module) + "." + std::string(symbol);
      return push(a);
    }
    case 'R':
    case 0x81: {
      PickleValue *arguments;
      if (!pop(arguments) || !pop(b))
        return false;
      if (b->kind != Kind::Global)
        return bad("something that has no name is called");
      a = make(Kind::Object);
      a->items = {b, arguments};
      return push(a);
    }
    case 'b':
      if (!pop(a) || !top(Kind::Object, b))
        return false;
      b->items.resize(2);
      b->items.push_back(a);
      return true;
    case 'q':
      return number(1, n) && memoPut(n);
    case 'r':
      return number(4, n) && memoPut(n);
    case 'h':
      return number(1, n) && memoGet(n);
    case 'j':
      return number(4, n) && memoGet(n);
    default:
      return bad("the pickle has the instruction 0x" + hexByte(opcode) + ", which is not supported");
    }
  }

  std::string_view bytes;
  const std::string &name;
  size_t at = 0;
  std::vector<PickleValue *> stack;
  std::vector<size_t> marks;
  std::unordered_map<uint64_t, PickleValue *> memo;
  std::string problem;
  Pickle out;
};

bool isObject(const PickleValue *value, std::string_view global) {
  return value && value->kind == Kind::Object && value->items.size() == 3 && value->items[0]->text.ends_with(global);
}

}  // namespace

const PickleValue *PickleValue::get(std::string_view key) const {
  if (kind == Kind::Dict)
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i]->kind == Kind::Text && items[i]->text == key)
        return items[i + 1];
  return nullptr;
}

Result<Pickle> parsePickle(std::string_view bytes, const std::string &name) {
  return Machine(bytes, name).run();
}

Result<PickleArray> pickleArray(const PickleValue &value, const std::string &name) {
  auto fail = [&](const std::string &what) { return Status::invalid(name + ": " + what); };
  // _reconstruct(…) with the state (version, shape, dtype, isFortran, bytes).
  if (!isObject(&value, "multiarray._reconstruct"))
    return fail("a value is not an array; expected a numpy array");
  const PickleValue &state = *value.items[2];
  if (state.kind != Kind::Tuple || state.items.size() != 5 || state.items[1]->kind != Kind::Tuple ||
      !isObject(state.items[2], "numpy.dtype") || state.items[4]->kind != Kind::Text)
    return fail("an array's state is not what numpy writes");
  const PickleValue &dtype = *state.items[2];
  const PickleValue &arguments = *dtype.items[1];
  if (arguments.kind != Kind::Tuple || arguments.items.empty() || dtype.items[2]->kind != Kind::Tuple ||
      dtype.items[2]->items.size() < 2)
    return fail("an array's element type is not what numpy writes");
  const std::string &code = arguments.items[0]->text;
  const std::string &byteOrder = dtype.items[2]->items[1]->text;
  if (byteOrder != "<" && byteOrder != "|")
    return fail("an array is not little-endian");
  PickleArray array;
  uint64_t count = 1;
  for (const PickleValue *size : state.items[1]->items) {
    if (size->kind != Kind::Int || size->number < 0 || size->number > (int64_t{1} << 40) ||
        (size->number > 0 && count > (uint64_t{1} << 40) / static_cast<uint64_t>(size->number)))
      return fail("an array's shape is not what numpy writes");
    count *= static_cast<uint64_t>(size->number);
    array.shape.push_back(size->number);
  }
  if (array.shape.size() > 1 && state.items[3]->number != 0)
    return fail("an array is in Fortran order, which is not supported");
  const std::string &bytes = state.items[4]->text;
  auto read = [&]<class T>(T) {
    if (bytes.size() != count * sizeof(T))
      return false;
    array.values.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      array.values[i] = static_cast<double>(element);
    }
    return true;
  };
  bool sound = code == "i4"   ? read(int32_t{})
               : code == "i8" ? read(int64_t{})
               : code == "f4" ? read(float{})
               : code == "f8" ? read(double{})
               : code == "u1" ? read(uint8_t{})
               : code == "i1" ? read(int8_t{})
               : code == "b1" ? read(uint8_t{})
                              : false;
  if (!sound)
    return fail("an array of " + inTicks(code) + " with " + std::to_string(count) + " elements has " +
                std::to_string(bytes.size()) +
                " bytes; expected i4, i8, f4, f8, i1, u1 or b1 and as many as they need");
  return array;
}

}  // namespace hector
