/// The domains of tables, as generated code numbers them.
#pragma once

namespace hector::common {

enum Domain : int { One, NodeType, EdgeType, Node, SrcPair, DstPair, Edge, NumDomains };

}  // namespace hector::common
