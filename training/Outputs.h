/// Files that a command is going to write, checked before the work whose results they keep.
#pragma once

#include "runtime/base/Status.h"

#include <span>
#include <string>

namespace hector::training {

struct OutputFile {
  std::string option;          // that names it: "--svg"
  std::string path;            // empty: there is none
  std::string continues = {};  // an input that it may replace: the run that is continued
};

/// Fails if an output would replace one of the files that are read, if two outputs are one file, or as `checkWritable`
/// does.
Status checkOutputs(std::span<const OutputFile> outputs, std::span<const std::string> inputs);

/// Fails if `replaceFile` would refuse the file for what shows now: it is a folder, it is read-only, its folder is
/// read-only or missing, or its name is too long.
Status checkWritable(const std::string &path);

/// Removes what `replaceFile` left beside `path` in processes that were killed: files with names of that kind which are
/// ours, have not changed for a minute and are not open in any process.
void removeLeftovers(const std::string &path);

}  // namespace hector::training
