#include "training/LinkTrain.h"

#include "runtime/base/Text.h"
#include "training/Network.h"
#include "training/Ranking.h"
#include "training/Shipped.h"
#include "training/TrainingRun.h"

#include <algorithm>
#include <cmath>

namespace hector::training {

Result<GraphFile> messageGraph(const GraphFile &file) {
  const Graph &graph = file.graph;
  const Tensor *split = file.tensors.find("edge.split");
  if (!split)
    return file;
  std::vector<int64_t> places(static_cast<size_t>(graph.numEdges()));  // in the graph, by number
  for (int64_t e = 0; e < graph.numEdges(); ++e)
    places[static_cast<size_t>(graph.edgeNumber(e))] = e;
  std::vector<int64_t> src, dst, type, numbers;
  for (size_t number = 0; number < places.size(); ++number)
    if (split->intAt(static_cast<int64_t>(number)) == 0) {
      src.push_back(graph.src()[places[number]]);
      dst.push_back(graph.dst()[places[number]]);
      type.push_back(graph.etype()[places[number]]);
      numbers.push_back(static_cast<int64_t>(number));
    }
  auto made = Graph::create(src, dst, type, graph.ntypePtr(), graph.numRelations());
  if (!made)
    return std::move(made).status();
  if (Status status = nameEnds(file.tensors, *made); !status.isOk())
    return status;
  GraphFile messages(static_cast<const GraphContents &>(file), std::move(*made));
  messages.edges = std::move(numbers);
  return messages;
}

namespace {

/// The triples of a knowledge graph by split, and the graph that messages run along.
struct Links {
  std::vector<Triple> train, valid, test;
  std::vector<Triple> all() const {
    std::vector<Triple> triples = train;
    triples.insert(triples.end(), valid.begin(), valid.end());
    triples.insert(triples.end(), test.begin(), test.end());
    return triples;
  }
  int64_t numRelations = 0;  // without inverses
};

Result<Links> readLinks(const GraphFile &file) {
  const Graph &graph = file.graph;
  const Tensor *split = file.tensors.find("edge.split");
  if (!split)
    return Status::invalid(
        "the graph does not say which edges train: it has no `edge.split`; import a folder with train, valid "
        "and test files");
  Links links;
  std::vector<int64_t> number(static_cast<size_t>(graph.numRelations()), -1);
  for (size_t r = 0; r < number.size(); ++r)
    if (r >= file.edgeTypes.size() || file.edgeTypes[r].inverseOf < 0)
      number[r] = links.numRelations++;
  for (int64_t e = 0; e < graph.numEdges(); ++e) {
    const int64_t relation = number[static_cast<size_t>(graph.etype()[e])];
    if (relation < 0)
      continue;
    const Triple triple = {graph.src()[e], relation, graph.dst()[e]};
    switch (split->intAt(graph.edgeNumber(e))) {
    case 0:
      links.train.push_back(triple);
      break;
    case 1:
      links.valid.push_back(triple);
      break;
    default:
      links.test.push_back(triple);
    }
  }
  if (links.train.empty())
    return Status::invalid("no edge is left to train with: `edge.split` has no 0");
  return links;
}

/// A hash of the split, in the order of the graph's edges.
std::string hashSplit(const GraphFile &file) {
  std::vector<int64_t> splits;
  for (int64_t e = 0; e < file.graph.numEdges(); ++e)
    splits.push_back(file.tensors.find("edge.split")->intAt(file.graph.edgeNumber(e)));
  return hashNumbers(splits);
}

class LinkTraining final : public TrainingRun {
public:
  using TrainingRun::TrainingRun;

private:
  Status prepare() override;
  Status prepareDecoder(int64_t width);
  Result<double> forward(int64_t epoch) override;
  Status update(int64_t epoch, double rateFactor) override;
  Status evaluate(EpochRecord &record) override;
  Status finish() override;
  Status fetch() override;
  Tables parameters() const override;
  Tensors state() const override;
  std::string metric() const override { return "valid.mrr"; }

  /// Binds the decoder to the sample of a step.
  Status bindSample(int64_t epoch);
  Sample sampleOf(int64_t epoch) const;
  Result<RankScore> rank(const std::vector<Triple> &triples, const Tables &tables);

  Links links;
  std::optional<KnownTriples> known;
  std::optional<GraphFile> messages;
  std::optional<Graph> sampled;
  std::optional<Network> encoder;
  std::optional<Learner> decoder;
  Tensor truth, weight, decay, one;
};

Status LinkTraining::prepare() {
  auto read = readLinks(graph);
  if (!read)
    return std::move(read).status();
  links = std::move(*read);
  known.emplace(links.all());
  if (config.patience > 0 && links.valid.empty())
    return Status::invalid("`patience` needs triples to validate with, but `edge.split` has no 1");
  auto trained = messageGraph(graph);
  if (!trained)
    return std::move(trained).status();
  messages.emplace(std::move(*trained));
  GraphFacts facts = factsOf(graph);
  facts.hashes.splits = hashSplit(graph);
  if (Status status = noteFacts(std::move(facts)); !status.isOk())
    return status;

  auto stack = Stack::make(config, *messages, 0, kept());
  if (!stack)
    return std::move(stack).status();
  const int64_t width = stack->width();
  if (Status status =
          makeNetwork(std::move(*stack), messages->graph, learningPlan(), encoder,
                      {"decoder: DistMult, " + std::to_string(links.numRelations) + " relations in both directions"},
                      2 * links.numRelations * width);
      !status.isOk())
    return status;
  if (Status status = prepareDecoder(width); !status.isOk())
    return status;
  result.planBytes += decoder->peakBytes();
  return Status::ok();
}

Sample LinkTraining::sampleOf(int64_t epoch) const {
  const int64_t batch = std::min<int64_t>(config.link.batch, static_cast<int64_t>(links.train.size()));
  return drawSample(links.train, graph.graph.numNodes(), links.numRelations, batch, config.link.negatives, config.seed,
                    static_cast<uint64_t>(epoch));
}

Status LinkTraining::bindSample(int64_t epoch) {
  Sample sample = sampleOf(epoch);
  const int64_t ends[] = {0, graph.graph.numNodes()};
  auto made = Graph::create(sample.candidate, sample.known, sample.type, ends, 2 * links.numRelations);
  if (!made)
    return std::move(made).status();
  sampled.emplace(std::move(*made));
  const auto numTrue = static_cast<float>(std::count(sample.truth.begin(), sample.truth.end(), 1.0F));
  truth = tensorOf({sampled->numEdges()}, std::move(sample.truth));
  weight = tensorOf({}, {1.0F / numTrue});
  return Status::ok();
}

Status LinkTraining::prepareDecoder(int64_t width) {
  // Planned for the first sample, wherever the run continues.
  if (Status status = bindSample(0); !status.isOk())
    return status;
  auto start = startOf({"relation", {2 * links.numRelations, width}, language::Home::EdgeType, Start::Spread});
  if (!start)
    return std::move(start).status();
  decay = tensorOf({}, {static_cast<float>(config.link.decay)});
  one = tensorOf({}, {1.0F});
  auto scores =
      importText(std::string(findText(shippedPrograms(), "distmult")), "distmult", {{"d", width}}, makeContext());
  if (!scores)
    return std::move(scores).status();
  const ProgramPart part = {"decoder", &*scores, {{"r", "relation"}, {"h", "entity"}}};
  const PartResult loss = {"decoder.loss", "loss"};
  Learning learning;
  learning.gradients = {"entity", "relation"};
  learning.parameters = {"relation"};
  learning.optimiser = kindOf(config.optimiser.kind);
  auto program = Program::compose("decoder", {&part, 1}, {&loss, 1}, learning);
  if (!program)
    return std::move(program).status();
  Tables tables;
  tables.emplace("relation", std::move(*start));
  CompileSettings how = settings(result.checkpoint.decoderPlan, encoder->peakBytes());
  how.isBoundAnew = true;
  auto learns = Learner::make(std::move(*program), *sampled, std::move(tables), result.checkpoint.state, {},
                              config.optimiser, how);
  if (!learns)
    return std::move(learns).status();
  decoder.emplace(std::move(*learns));
  result.checkpoint.decoderPlan = decoder->passes();
  return Status::ok();
}

Result<double> LinkTraining::forward(int64_t epoch) {
  if (Status status = encoder->forward(config.seed, epoch); !status.isOk())
    return status;
  auto entities = encoder->view("out");
  if (!entities)
    return std::move(entities).status();
  if (Status status = bindSample(epoch); !status.isOk())
    return status;
  if (Status status = decoder->bind(*sampled); !status.isOk())
    return status;
  Tensor rows;
  rows.shape = {entities->rows, entities->spec->rowSize()};
  rows.bytes = static_cast<const std::byte *>(entities->data);  // stays until the encoder's next step
  for (const auto &[name, tensor] : {std::pair<std::string, const Tensor *>("entity", &rows),
                                     {"decoder.truth", &truth},
                                     {"decoder.weight", &weight},
                                     {"decoder.decay", &decay},
                                     {"grad.loss", &one}})
    if (Status status = decoder->setInput(name, *tensor); !status.isOk())
      return status;
  if (Status status = decoder->forward(config.seed, epoch); !status.isOk())
    return status;
  return decoder->number("loss");
}

Status LinkTraining::update(int64_t epoch, double rateFactor) {
  if (Status status = decoder->backward(epoch, rateFactor); !status.isOk())
    return status;
  auto gradient = decoder->view("grad.entity");
  if (!gradient)
    return std::move(gradient).status();
  Tensor rows;
  rows.shape = {gradient->rows, gradient->spec->rowSize()};
  rows.bytes = static_cast<const std::byte *>(gradient->data);
  if (Status status = encoder->setInput("grad.out", rows); !status.isOk())
    return status;
  if (Status status = encoder->backward(epoch, rateFactor); !status.isOk())
    return status;
  if (Status status = decoder->accept(); !status.isOk())
    return status;
  return encoder->accept();
}

Result<RankScore> LinkTraining::rank(const std::vector<Triple> &triples, const Tables &tables) {
  if (Status status = encoder->predict(tables); !status.isOk())
    return status;
  auto out = encoder->prediction();
  if (!out)
    return std::move(out).status();
  const int64_t width = out->spec->rowSize();
  const auto half = static_cast<size_t>(links.numRelations * width);
  const std::span<const float> relations(tables.at("relation").data(), 2 * half);
  return rankTriples(triples, *known, {static_cast<const float *>(out->data), static_cast<size_t>(out->rows * width)},
                     relations.first(half), relations.last(half), width);
}

Status LinkTraining::evaluate(EpochRecord &record) {
  if (links.valid.empty())
    return Status::ok();
  auto score = rank(links.valid, parameters());
  if (!score)
    return std::move(score).status();
  record.metrics["valid.mrr"] = score->mrr;
  record.metrics["valid.hits10"] = score->hits10;
  return Status::ok();
}

Status LinkTraining::finish() {
  for (const auto &[name, triples] : {std::pair("valid", &links.valid), {"test", &links.test}}) {
    if (triples->empty())
      continue;
    auto score = rank(*triples, chosen());
    if (!score)
      return std::move(score).status();
    const std::string split = name;
    result.metrics[split + ".mrr"] = score->mrr;
    result.metrics[split + ".hits1"] = score->hits1;
    result.metrics[split + ".hits3"] = score->hits3;
    result.metrics[split + ".hits10"] = score->hits10;
  }
  return Status::ok();
}

Status LinkTraining::fetch() {
  if (Status status = encoder->fetch(); !status.isOk())
    return status;
  return decoder->fetch();
}

Tables LinkTraining::parameters() const {
  Tables all = encoder->parameters();
  all.insert(decoder->parameters().begin(), decoder->parameters().end());
  return all;
}

Tensors LinkTraining::state() const {
  Tensors all = encoder->state();
  all.merge(decoder->state());
  return all;
}

}  // namespace

Result<TrainResult> trainLinks(const GraphFile &graph, const TrainOptions &options, const TrainEvents &events) {
  return LinkTraining(graph, options, events).run();
}

}  // namespace hector::training
