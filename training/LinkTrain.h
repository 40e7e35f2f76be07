/// Training of link prediction: vectors of entities and relations by which DistMult scores triples.
///
/// Entities are what the stack gives for each node; relations have vectors of their own, one for each direction.
/// Messages run along the edges of the training split alone. A step scores a batch of true triples against replaced
/// ones: an encoder on the graph and a decoder on the graph of the sample, each a compiled plan.
#pragma once

#include "training/Train.h"

namespace hector::training {

/// The graph that messages run along: the edges of the training split; all edges if there is no `edge.split`.
Result<GraphFile> messageGraph(const GraphFile &file);

/// Trains, as `trainClasses` does. The graph has an `edge.split`; relations that invert others are messages and no
/// triples of their own. Metrics are `valid.mrr`, `test.mrr`, `test.hits1` and so on, with known triples left out of
/// the ranks.
Result<TrainResult> trainLinks(const GraphFile &graph, const TrainOptions &options, const TrainEvents &events = {});

}  // namespace hector::training
