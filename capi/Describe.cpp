#include "capi/Describe.h"

#include "capi/Tensors.h"

#include <nlohmann/json.hpp>

namespace hector::capi {

using Json = nlohmann::ordered_json;

/// Names in models are letters; what else a text may hold does not make this fail.
static std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string describe(const Model &model) {
  const language::Signature &signature = model.signature;
  Json inputs = Json::array(), attributes = Json::array(), sizes = Json::array();
  for (const language::InputDecl &input : signature.inputs)
    inputs.push_back({{"name", input.name},
                      {"home", std::string(language::spelling(input.home))},
                      {"shape", language::describeRowShape(input, {})}});
  for (const language::AttributeDecl &attribute : signature.attributes)
    attributes.push_back({{"name", attribute.name},
                          {"default", attribute.value ? Json(language::formatConstant(*attribute.value)) : Json()}});
  for (const language::SizeDecl &size : signature.sizes)
    sizes.push_back(size.name);
  return dump({{"name", signature.name}, {"inputs", inputs}, {"attributes", attributes}, {"sizes", sizes}});
}

std::string describe(const Graph &graph) {
  return dump({{"nodes", graph.numNodes()},
               {"edges", graph.numEdges()},
               {"node_types", graph.numNodeTypes()},
               {"edge_types", graph.numRelations()}});
}

static Json listOf(const std::vector<PortInfo> &ports) {
  Json list = Json::array();
  for (const PortInfo &port : ports)
    list.push_back(
        {{"name", port.name}, {"shape", port.shape}, {"dtype", spelling(port.dtype)}, {"kept", port.isKept}});
  return list;
}

std::string describe(const Layer &layer, int64_t peakBytes) {
  return dump({{"name", layer.plan().name},
               {"passes", layer.compiled->passes},
               {"peak_bytes", peakBytes},
               {"work_bytes", layer.onDevice ? layer.onDevice->workBytes() : 0},
               {"inputs", listOf(layer.inputs)},
               {"outputs", listOf(layer.outputs)},
               {"gradients", listOf(layer.gradients)}});
}

}  // namespace hector::capi
