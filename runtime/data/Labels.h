/// Label files: tables with a column of node names and a column of labels, one file a split or one for all.
#pragma once

#include "runtime/data/Assemble.h"
#include "runtime/data/Input.h"

#include <cstdint>
#include <functional>

namespace hector {

struct LabelFile {
  InputFile file;
  Split split = Split::None;
};

struct LabelOptions {
  std::string nodeColumn;    // empty: the column that holds names of nodes
  std::string labelColumn;   // empty: the one whose name starts with "label" or "class", or the only other one
  bool skipUnknown = false;  // leave out labels of nodes that the graph does not have
};

/// Adds the labels to `raw`. `find` gives a node's number, or UINT32_MAX. Labels that are whole numbers (`7`, also as
/// `7.0`, but not `007`) keep them; if any is not, all are numbered in the order of their names. A node may occur in
/// several files with the same label, but in one split only. Headers that were left out are added to `notes`. Returns
/// how many unknown nodes were skipped.
Result<int64_t> readLabels(const std::vector<LabelFile> &files, const LabelOptions &options,
                           const std::function<uint32_t(std::string_view)> &find, RawGraph &raw,
                           std::vector<std::string> &notes);

/// The split that a word of a file's name gives, without regard to case: `trainingSet.tsv`, `wn18.Valid.txt`,
/// `test2id.txt`. None if no word does (`testimonials.txt`) or if words disagree (`train-test.txt`).
Split splitOfName(std::string_view base);

}  // namespace hector
