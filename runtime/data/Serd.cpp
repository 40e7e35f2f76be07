#include "runtime/data/Serd.h"

#include "runtime/base/Memory.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <dlfcn.h>

namespace hector {

namespace {

// The part of serd 0.30's interface (serd/serd.h) that is used here.
struct SerdNode {
  const uint8_t *buf;
  size_t numBytes;
  size_t numChars;
  uint32_t flags;
  int type;
};
struct SerdError {
  int status;
  const uint8_t *filename;
  unsigned line;
  unsigned column;
  const char *format;
  va_list *args;
};
enum { kSuccess = 0, kErrorUnknown = 2 };
enum { kTurtle = 1, kNTriples = 2 };
enum { kLiteral = 1, kUri = 2, kCurie = 3, kBlank = 4 };

using BaseSink = int (*)(void *, const SerdNode *);
using PrefixSink = int (*)(void *, const SerdNode *, const SerdNode *);
using StatementSink = int (*)(void *, uint32_t, const SerdNode *, const SerdNode *, const SerdNode *, const SerdNode *,
                              const SerdNode *, const SerdNode *);
using EndSink = int (*)(void *, const SerdNode *);
using ErrorSink = int (*)(void *, const SerdError *);
using Source = size_t (*)(void *, size_t, size_t, void *);
using StreamError = int (*)(void *);

struct Library {
  void *(*readerNew)(int, void *, void (*)(void *), BaseSink, PrefixSink, StatementSink, EndSink) = nullptr;
  void (*readerFree)(void *) = nullptr;
  void (*setStrict)(void *, bool) = nullptr;
  void (*setErrorSink)(void *, ErrorSink, void *) = nullptr;
  int (*readSource)(void *, Source, StreamError, void *, const uint8_t *, size_t) = nullptr;
  void *(*envNew)(const SerdNode *) = nullptr;
  void (*envFree)(void *) = nullptr;
  int (*setBase)(void *, const SerdNode *) = nullptr;
  int (*setPrefix)(void *, const SerdNode *, const SerdNode *) = nullptr;
  SerdNode (*expand)(const void *, const SerdNode *) = nullptr;
  void (*nodeFree)(SerdNode *) = nullptr;
  bool complete = false;
};

const Library &library() {
  static const Library loaded = [] {
    Library lib;
    void *handle = dlopen("libserd-0.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return lib;
    lib.complete = true;
    auto get = [&](const char *name, auto &function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      lib.complete &= function != nullptr;
    };
    get("serd_reader_new", lib.readerNew);
    get("serd_reader_free", lib.readerFree);
    get("serd_reader_set_strict", lib.setStrict);
    get("serd_reader_set_error_sink", lib.setErrorSink);
    get("serd_reader_read_source", lib.readSource);
    get("serd_env_new", lib.envNew);
    get("serd_env_free", lib.envFree);
    get("serd_env_set_base_uri", lib.setBase);
    get("serd_env_set_prefix", lib.setPrefix);
    get("serd_env_expand_node", lib.expand);
    get("serd_node_free", lib.nodeFree);
    return lib;
  }();
  return loaded;
}

std::string_view view(const SerdNode *node) {
  return {reinterpret_cast<const char *>(node->buf), node->numBytes};
}

class Reading {
public:
  Reading(const InputFile &file, const Watch &watch, ReadStats &stats,
          const std::function<Status(std::span<const HashedText>)> &take)
      : file(file), watch(watch), stats(stats), take(take), stream(openStream(file)) {}

  Status run(SerdFormat format) {
    const Library &lib = library();
    env = lib.envNew(nullptr);
    void *reader = lib.readerNew(format == SerdFormat::Turtle ? kTurtle : kNTriples, this, nullptr, onBase, onPrefix,
                                 onStatement, nullptr);
    lib.setStrict(reader, true);
    lib.setErrorSink(reader, onError, this);
    int status = lib.readSource(
        reader, onRead, [](void *) { return 0; }, this, reinterpret_cast<const uint8_t *>(file.name.c_str()), kPage);
    lib.readerFree(reader);
    lib.envFree(env);
    if (failure)
      return *failure;
    if (status != kSuccess)
      return Status::invalid(message.empty() ? file.name + ": cannot be read as Turtle" : message);
    return flush();
  }

private:
  static constexpr size_t kPage = 1 << 16;

  static Reading &self(void *handle) { return *static_cast<Reading *>(handle); }

  static size_t onRead(void *buffer, size_t size, size_t count, void *handle) {
    Reading &r = self(handle);
    std::span<char> page(static_cast<char *>(buffer), size * count);
    Result<size_t> got = r.stream->read(page);
    if (!got) {
      r.failure = got.status();
      return 0;
    }
    // serd holds all of a term, however long.
    r.sinceTriple += *got;
    if (r.sinceTriple > BlockReader::kMaxLine + kPage) {
      r.failure = Status::invalid(r.file.name + ":" + std::to_string(r.line) + ": no triple ends within " +
                                  formatBytes(static_cast<int64_t>(BlockReader::kMaxLine)) +
                                  ", the most supported; is a closing `\"` or `>` missing?");
      return 0;
    }
    r.line += std::count(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(*got), '\n');
    return *got;
  }
  static int onBase(void *handle, const SerdNode *uri) { return library().setBase(self(handle).env, uri); }
  static int onPrefix(void *handle, const SerdNode *name, const SerdNode *uri) {
    return library().setPrefix(self(handle).env, name, uri);
  }
  static int onError(void *handle, const SerdError *error) {
    Reading &r = self(handle);
    if (!r.message.empty())
      return kSuccess;  // what follows comes from the first
    char text[512];
    std::vsnprintf(text, sizeof(text), error->format, *error->args);
    std::string_view trimmed = text;
    while (!trimmed.empty() && (trimmed.back() == '\n' || trimmed.back() == ' '))
      trimmed.remove_suffix(1);
    r.message = r.file.name + ":" + std::to_string(error->line) + ":" + std::to_string(error->column) + ": " +
                std::string(trimmed);
    return kSuccess;
  }
  static int onStatement(void *handle, uint32_t, const SerdNode *, const SerdNode *subject, const SerdNode *predicate,
                         const SerdNode *object, const SerdNode *datatype, const SerdNode *language) {
    Reading &r = self(handle);
    r.sinceTriple = 0;
    r.add(r.term(subject, nullptr, nullptr));
    r.add(r.term(predicate, nullptr, nullptr));
    r.add(r.term(object, datatype, language));
    ++r.stats.triples;
    constexpr size_t kBatch = 3 * 4096;
    if (r.failure)
      return kErrorUnknown;
    if (r.texts.size() < kBatch)
      return kSuccess;
    if (r.watch.progress)
      r.watch.progress(r.file.name, r.stream->position(), r.file.bytes.size(), r.stats.triples);
    Status status = r.watch.stopped() ? stoppedStatus() : r.flush();
    if (status.isOk())
      return kSuccess;
    r.failure = std::move(status);
    return kErrorUnknown;
  }

  void add(std::string text) {
    terms.push_back(std::move(text));
    texts.emplace_back(std::string_view(terms.back()));
  }

  std::string iri(const SerdNode *node) {
    SerdNode whole = library().expand(env, node);
    if (!whole.buf) {
      if (!failure)
        failure = Status::invalid(file.name + ": the prefix of `" + std::string(view(node)) + "` is not declared");
      return "";
    }
    std::string text = "<" + std::string(view(&whole)) + ">";
    library().nodeFree(&whole);
    return text;
  }

  std::string term(const SerdNode *node, const SerdNode *datatype, const SerdNode *language) {
    if (node->type == kBlank)
      return "_:" + std::string(view(node));
    if (node->type != kLiteral)
      return iri(node);
    std::string text = "\"";
    for (char c : view(node)) {
      if (c == '"' || c == '\\')
        text += '\\';
      if (c == '\n' || c == '\r')
        text += c == '\n' ? "\\n" : "\\r";
      else
        text += c;
    }
    text += '"';
    if (language && language->buf && language->numBytes > 0)
      text += "@" + std::string(view(language));
    else if (datatype && datatype->buf && datatype->numBytes > 0)
      if (std::string type = iri(datatype); type != "<http://www.w3.org/2001/XMLSchema#string>")
        text += "^^" + type;
    return text;
  }

  Status flush() {
    Status status = take(texts);
    texts.clear();
    terms.clear();
    return status;
  }

  const InputFile &file;
  const Watch &watch;
  ReadStats &stats;
  const std::function<Status(std::span<const HashedText>)> &take;
  std::unique_ptr<ByteStream> stream;
  void *env = nullptr;
  size_t sinceTriple = 0;  // bytes read since the last triple
  int64_t line = 1;        // at the end of what was read
  std::deque<std::string> terms;
  std::vector<HashedText> texts;
  std::string message;
  std::optional<Status> failure;
};

}  // namespace

bool haveSerd() {
  return library().complete;
}

Status readBySerd(const InputFile &file, SerdFormat format, const Watch &watch, ReadStats &stats,
                  const std::function<Status(std::span<const HashedText>)> &take) {
  if (!haveSerd())
    return Status::invalid(file.name + ": Turtle is read by the library serd, which is not installed; install it "
                                       "(`apt-get install libserd-0-0`) or convert the file to N-Triples");
  return Reading(file, watch, stats, take).run(format);
}

}  // namespace hector
