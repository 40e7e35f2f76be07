/// What handles of the C interface are, as JSON.
#pragma once

#include "capi/Handles.h"

#include <string>

namespace hector::capi {

std::string describe(const Model &model);
std::string describe(const Graph &graph);
std::string describe(const Layer &layer, int64_t peakBytes);

}  // namespace hector::capi
