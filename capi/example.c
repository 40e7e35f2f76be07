/* Sums rows along the edges of a graph with Hector, from C. */
#include "hector.h"

#include <stdio.h>

static const char *const kModel = "def gather(g, x: Node[d]):\n"
                                  "    for n in g.nodes():\n"
                                  "        n[\"out\"] = sum(e.src.x for e in n.incoming_edges())\n"
                                  "    return n[\"out\"]\n";

static hector_tensor floats(float *data, const int64_t *shape) {
  hector_tensor tensor = {.data = data, .device_type = 1, .ndim = 2, .dtype_code = 2, .dtype_bits = 32, .dtype_lanes = 1};
  tensor.shape = shape;
  return tensor;
}

static hector_tensor ids(int64_t *data, const int64_t *shape) {
  hector_tensor tensor = {.data = data, .device_type = 1, .ndim = 1, .dtype_code = 0, .dtype_bits = 64, .dtype_lanes = 1};
  tensor.shape = shape;
  return tensor;
}

int main(void) {
  /* Edges 0 -> 2 and 1 -> 2, and two numbers for each of three nodes. */
  int64_t sources[] = {0, 1}, destinations[] = {2, 2};
  float x[] = {1, 2, 6, 6, 0, 0}, out[6];
  const int64_t edges[] = {2}, rows[] = {3, 2};
  hector_tensor src = ids(sources, edges), dst = ids(destinations, edges);
  hector_tensor input = floats(x, rows), output = floats(out, rows);

  hector_model *model = NULL;
  hector_graph *graph = NULL;
  hector_layer *layer = NULL;
  hector_run *run = NULL;
  int failed = hector_model_parse(kModel, "gather.hec", NULL, &model) != HECTOR_OK ||
               hector_graph_create(&src, &dst, NULL, NULL, -1, -1, &graph) != HECTOR_OK ||
               hector_layer_compile(model, graph, NULL, &input, 1, &layer) != HECTOR_OK ||
               hector_run_create(layer, &run) != HECTOR_OK ||
               hector_run_forward(run, &input, 1, &output, 1, NULL) != HECTOR_OK;
  if (failed)
    fprintf(stderr, "%s\n", hector_error_message());
  else
    printf("out of node 2: %g %g\n", out[4], out[5]);
  hector_run_free(run);
  hector_layer_free(layer);
  hector_graph_free(graph);
  hector_model_free(model);
  return failed;
}
