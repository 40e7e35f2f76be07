#include "driver/Model.h"

#include "language/Parser.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hector {

/// The whole of a file, refused beyond what a model could be.
static Result<std::string> readText(const std::string &path) {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  constexpr size_t kLooksLikeText = 16;  // a zero byte further on is shown in its place by the parser
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return Status::invalid("cannot read model `" + path + "`: " + std::strerror(errno));
  std::string text;
  char buffer[65536];
  size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, file)) > 0 && text.size() <= kMaxBytes)
    text.append(buffer, count);
  bool failed = std::ferror(file) != 0;
  int reason = errno;
  std::fclose(file);
  if (failed)
    return Status::invalid("cannot read model `" + path + "`: " + std::strerror(reason));
  if (text.starts_with("hector plan "))
    return Status::invalid("`" + path + "` is a plan, which is compiled already; run it with `hector run`");
  if (text.find('\0') < kLooksLikeText)
    return Status::invalid("`" + path + "` is no model: it holds binary data; expected a text such as " +
                           "models/rgcn.hec");
  if (text.size() > kMaxBytes)
    return Status::invalid("model `" + path + "` is larger than 64 MiB");
  return text;
}

Result<Model> loadModel(const std::string &path, const std::string &entry) {
  auto text = readText(path);
  if (!text)
    return text.status();
  return parseModel(std::move(*text), path, entry);
}

Result<Model> parseModel(std::string text, const std::string &name, const std::string &entry) {
  Model model;
  model.source = std::make_unique<language::Source>(name, std::move(text));
  language::Diagnostics diagnostics;
  model.module = language::parse(*model.source, diagnostics);
  if (!diagnostics.empty())
    return Status::located(diagnostics.render());
  auto signature = language::readSignature(model.module, *model.source, entry, diagnostics);
  if (!signature)
    return Status::located(diagnostics.render());
  model.signature = std::move(*signature);
  return model;
}

Result<language::Binding> bind(const Model &model, const Settings &settings) {
  language::Binding binding;
  if (auto wrong = language::bindAttributes(model.signature, settings.attributes, binding))
    return Status::invalid(*wrong);
  if (auto wrong = language::bindSizes(model.signature, settings.sizes, binding))
    return Status::invalid(*wrong);
  return binding;
}

}  // namespace hector
