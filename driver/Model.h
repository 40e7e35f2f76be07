/// A model read and parsed, and its attributes and sizes.
#pragma once

#include "language/Ast.h"
#include "language/Signature.h"
#include "language/Source.h"
#include "runtime/base/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace hector {

/// A parsed model. The syntax tree points into the source, and the signature into the tree.
struct Model {
  std::unique_ptr<language::Source> source;
  language::Module module;
  language::Signature signature;
};

/// Reads and parses a model file. `entry` names the function that is the model, where several declare inputs. What is
/// wrong with the text is reported with its places.
Result<Model> loadModel(const std::string &path, const std::string &entry = "");
/// The same on a text; `name` is what messages call it.
Result<Model> parseModel(std::string text, const std::string &name, const std::string &entry = "");

/// Values for attributes and sizes, as `NAME=VALUE` texts.
struct Settings {
  std::vector<std::string> attributes;
  std::vector<std::string> sizes;
};

/// Binds the settings, and defaults where there are none. Sizes may be left open: a case settles them (`bindCase`).
Result<language::Binding> bind(const Model &model, const Settings &settings = {});

}  // namespace hector
