/*
 * Hector's C interface: compiles a layer of a relational graph neural network and runs it, forward and backward.
 *
 *   hector_model *model;    the text of a layer, parsed
 *   hector_graph *graph;    nodes, edges and their types
 *   hector_layer *layer;    the model compiled for a graph and for the sizes of its inputs
 *   hector_run *run;        the memory of one forward pass, which a backward pass reads
 *
 *   hector_model_parse(text, "rgcn.hec", NULL, &model);
 *   hector_graph_create(&src, &dst, &etype, NULL, -1, -1, &graph);
 *   hector_layer_compile(model, graph, &options, inputs, num_inputs, &layer);
 *   hector_run_create(layer, &run);
 *   hector_run_forward(run, inputs, num_inputs, outputs, num_outputs, NULL);
 *
 * Failures. A function that can fail returns a status, and `hector_error_message` has the message. A call with wrong
 * arguments (HECTOR_INVALID, HECTOR_MODEL) changes nothing and can be made again. If a pass fails later, say for want
 * of memory, its results are undefined; run the forward pass again. No exception leaves the library, and it does not
 * end the process, unless memory runs out within the compiler.
 *
 * Ownership. Each handle is freed by its own function, in any order: a layer keeps what it needs of its model and its
 * graph, and a run what it needs of its layer. NULL may be freed. Texts belong to their handle unless it says
 * otherwise.
 *
 * Threads. Models, graphs and layers may be used by any number of threads at once. A run is used by one at a time; make
 * one for each forward pass that waits for its backward pass. Messages belong to the thread whose call failed.
 */
#ifndef HECTOR_H
#define HECTOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HECTOR_API __attribute__((visibility("default")))
#else
#define HECTOR_API
#endif

/* Changes when a program that was compiled with an older header could not use the library any more. */
#define HECTOR_ABI_VERSION 1

HECTOR_API int hector_abi_version(void);
/* The version of Hector, such as "0.1.0". */
HECTOR_API const char *hector_version(void);

/*
 * Has layers on the CPU that are compiled for so many threads run on those of another library, instead of on threads of
 * Hector. `parallel` calls body(data) on `count` threads, the caller among them, and returns when all of these calls
 * have; flags is 0. `GOMP_parallel`, which runs the parallel regions of OpenMP, is such a function. Programs that
 * compute with OpenMP in between are faster then, as threads that wait for work do not take time from those that have
 * some. Set to NULL, nobody else's threads are used, as at first and after fork().
 */
HECTOR_API void hector_use_threads(void (*parallel)(void (*body)(void *), void *data, unsigned count, unsigned flags),
                                   int threads);

/* --- failures ------------------------------------------------------------------------------------------------------
 */

typedef enum hector_status {
  HECTOR_OK = 0,
  HECTOR_INVALID = 1,  /* an argument is wrong: a shape, a name, an id */
  HECTOR_MODEL = 2,    /* the text of the model is wrong; the message shows the place and what to write */
  HECTOR_MACHINE = 3,  /* the machine does not suffice: memory, disk, no compiler */
  HECTOR_INTERNAL = 4, /* a bug of Hector */
} hector_status;

/* The message of the last call of this thread that failed. Valid until the next one fails; "" if there was none. */
HECTOR_API const char *hector_error_message(void);

/* --- tensors -------------------------------------------------------------------------------------------------------
 */

/*
 * A view of an array that the caller owns. It has the layout of DLTensor (DLPack 0.6 to 1.x), so that the address of
 * one may be cast. Arrays are in row-major order without gaps, in memory of the CPU (`device_type` 1) or of a GPU
 * (2, with its number in `device_id`), wherever the layer runs; on a GPU they start at a multiple of 16 bytes.
 */
typedef struct hector_tensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t dtype_code;   /* 0 signed integer, 1 unsigned integer, 2 float, 4 bfloat, 6 bool */
  uint8_t dtype_bits;   /* of a number */
  uint16_t dtype_lanes; /* 1 */
  const int64_t *shape;
  const int64_t *strides; /* in numbers; NULL: no gaps */
  uint64_t byte_offset;   /* from `data` to the first number */
} hector_tensor;

/* --- models --------------------------------------------------------------------------------------------------------
 */

typedef struct hector_model hector_model;

/*
 * Parses the text of a model. Messages call it `name`. `entry` is the function that is the model; it may be NULL where
 * only one declares inputs.
 */
HECTOR_API hector_status hector_model_parse(const char *text, const char *name, const char *entry,
                                            hector_model **model);
/*
 * What the model declares, as JSON:
 * {"name", "inputs": [{"name", "home", "shape"}], "attributes": [{"name", "default"}], "sizes": [...]}. `home` is
 * "Node", "Edge", "EdgeType", "NodeType" or "Shared". `shape` has the extents of a row as texts, such as "heads * d".
 */
HECTOR_API const char *hector_model_describe(const hector_model *model);
HECTOR_API void hector_model_free(hector_model *model);
/* Drops the code that the model keeps. Layers go on working; those to come compile again, or find code on disk. */
HECTOR_API void hector_model_forget(const hector_model *model);

/* --- graphs --------------------------------------------------------------------------------------------------------
 */

typedef struct hector_graph hector_graph;

/*
 * A graph whose edge i goes from node src[i] to dst[i] and has type etype[i]. Ids are integers of 32 or 64 bits. They
 * are copied. The nodes of type k are ntype_ptr[k] to ntype_ptr[k + 1] - 1; without `ntype_ptr` there is one type with
 * `num_nodes` nodes. `etype` may be NULL too. Numbers below 0 are worked out: as many as the largest id asks for.
 */
HECTOR_API hector_status hector_graph_create(const hector_tensor *src, const hector_tensor *dst,
                                             const hector_tensor *etype, const hector_tensor *ntype_ptr,
                                             int64_t num_edge_types, int64_t num_nodes, hector_graph **graph);
/* The graph of a file that `hector data` wrote, or of a case. */
HECTOR_API hector_status hector_graph_load(const char *path, hector_graph **graph);
/* {"nodes", "edges", "node_types", "edge_types"}, as JSON. */
HECTOR_API const char *hector_graph_describe(const hector_graph *graph);
HECTOR_API void hector_graph_free(hector_graph *graph);

/* --- layers --------------------------------------------------------------------------------------------------------
 */

typedef struct hector_layer hector_layer;

/* How to compile. Set it to {0} and `struct_size` to its size; what is 0 or NULL has its default. */
typedef struct hector_options {
  size_t struct_size;            /* sizeof(hector_options) */
  const char *const *attributes; /* "heads=4" */
  size_t num_attributes;
  const char *const *sizes; /* "d_out=64", for sizes that no input has */
  size_t num_sizes;
  int with_gradients;           /* not 0: backward passes are possible */
  const char *const *gradients; /* the inputs whose gradients they give; none: of all inputs */
  size_t num_gradients;
  const char *dtype;    /* "f32" (the default), "f64", "bf16" or "f16" */
  const char *passes;   /* "default", "none" or a list */
  int threads;          /* 0: as many as there are processors */
  int64_t memory_limit; /* in bytes; 0: what the machine has */
  /* Where the layer runs, as DLPack says it. */
  int32_t device_type;   /* 1 or 0: the CPU; 2: a GPU of NVIDIA */
  int32_t device_id;     /* the number of the GPU */
  const char *precision; /* of products in f32 on a GPU: "highest" (the default), "high" or "medium" */
} hector_options;

/*
 * Compiles a model for a graph. The inputs, in the order in which the model declares them, give the sizes; their
 * numbers are not read, and `data` may be NULL. Without inputs (`num_inputs` is 0) the options give all sizes. The
 * model keeps the code: where a graph like this one has been, nothing is compiled.
 */
HECTOR_API hector_status hector_layer_compile(const hector_model *model, const hector_graph *graph,
                                              const hector_options *options, const hector_tensor *inputs,
                                              size_t num_inputs, hector_layer **layer);
/*
 * {"name", "passes", "peak_bytes", "work_bytes", "inputs", "outputs", "gradients"}, as JSON. The last three are lists
 * of {"name", "shape", "dtype", "kept"}; `gradients` has those that a backward pass gives, under the names of their
 * inputs. `kept` is true for outputs that a backward pass reads. `peak_bytes` are all that the layer takes beside
 * inputs and outputs, `work_bytes` what a run on a GPU can be lent of it (`hector_run_place`).
 */
HECTOR_API const char *hector_layer_describe(const hector_layer *layer);
HECTOR_API void hector_layer_free(hector_layer *layer);

/*
 * The same program as text, without compiling it to code: "flow" (as it was written), "flow-opt" (after its passes),
 * "groups", "summary", "kern", "cpp" or "cuda" (with a plan for an H200). The text is freed by `hector_text_free`.
 */
HECTOR_API hector_status hector_layer_text(const hector_model *model, const hector_graph *graph,
                                           const hector_options *options, const hector_tensor *inputs,
                                           size_t num_inputs, const char *form, char **text);
HECTOR_API void hector_text_free(char *text);

/* --- runs ----------------------------------------------------------------------------------------------------------
 */

typedef struct hector_run hector_run;

/*
 * Takes the memory that forward and backward passes work in, beside inputs and outputs. On a GPU the first forward
 * pass takes it, where none is lent. A pass copies inputs that it cannot read where they are, and makes zeros for
 * gradients that are not given.
 */
HECTOR_API hector_status hector_run_create(const hector_layer *layer, hector_run **run);
HECTOR_API void hector_run_free(hector_run *run);

/*
 * Where the passes of a run on a GPU do their work, if not in a stream and in memory of their own. Set it to {0} and
 * `struct_size` to its size.
 */
typedef struct hector_placement {
  size_t struct_size; /* sizeof(hector_placement) */
  void *stream;       /* a CUstream of the GPU; NULL: the default stream */
  /*
   * `work_bytes` of the layer (`hector_layer_describe`) in the memory of the GPU, at an address that 256 divides. Each
   * forward pass takes it anew, so it may serve others between a backward pass and the next forward pass, and after a
   * forward pass without a backward pass. NULL: the run has memory of its own.
   */
  void *memory;
  /*
   * Seed and step of dropout, two numbers of 64 bits in the memory of the GPU, which the stream reads in each forward
   * pass; they stand for those of `hector_randomness`. NULL: dropout does what the forward pass says.
   */
  const void *random;
} hector_placement;

/*
 * From now on passes are only started, in a stream of the caller: they take place after the work that is in the stream
 * already and before all that follows, and the call returns before they have. They may be captured (CUDA graphs), once
 * the run was made and where memory is lent; what was captured needs the layer. Without this, passes on a GPU have a
 * stream of their own, and a call waits for its pass, but for no other stream: inputs have to be complete. Fails for
 * layers on the CPU.
 */
HECTOR_API hector_status hector_run_place(hector_run *run, const hector_placement *placement);

/* Of dropout in training. */
typedef struct hector_randomness {
  uint64_t seed;
  uint64_t step;
} hector_randomness;

/*
 * Computes the outputs. Inputs and outputs are in the order of `hector_layer_describe`. Nothing is copied where a
 * tensor has the type of the layer: inputs are read and outputs written where they are. So a backward pass needs the
 * inputs and the kept outputs of its forward pass unchanged. On a GPU tensors have the types of the layer, and what
 * differs in the order of rows is copied there.
 *
 * An input that has axes but no `shape` (NULL) is the one of the last pass, which has not changed since. `randomness`
 * is NULL where dropout is to do nothing.
 */
HECTOR_API hector_status hector_run_forward(hector_run *run, const hector_tensor *inputs, size_t num_inputs,
                                            const hector_tensor *outputs, size_t num_outputs,
                                            const hector_randomness *randomness);
/*
 * Computes the gradients of inputs from those of outputs, one for each output; one whose `data` is NULL is 0. A forward
 * pass allows one backward pass. The first pass in which a gradient is 0 takes memory for its zeros, so it cannot be
 * captured.
 */
HECTOR_API hector_status hector_run_backward(hector_run *run, const hector_tensor *output_gradients, size_t num_outputs,
                                             const hector_tensor *gradients, size_t num_gradients);

#ifdef __cplusplus
}
#endif

#endif
