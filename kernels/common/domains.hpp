/// The domains of tables, as generated code numbers them, and what their numbers leave room for.
#pragma once

namespace hector::common {

enum Domain : int { One, NodeType, EdgeType, Node, SrcPair, DstPair, Edge, NumDomains };

/// Kernels of a GPU count edges on behind the last one, up to the end of what a warp takes at once. Ids leave room for
/// so many.
inline constexpr int kEdgesBehind = 1024;

}  // namespace hector::common
