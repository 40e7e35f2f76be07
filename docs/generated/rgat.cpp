// Kernels of rgat.
#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/dropout.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/cpu/products.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/cpu/storage.hpp"

namespace hector_kernels {

namespace cpu = hector::cpu;
using Id = int32_t;

// gemm etype, rgat.hec:3, 7
//   linear = product(w_s, transposed W)
HECTOR_KERNEL void hector_gemm_etype(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *scratch) {
  const float *w_s = cpu::table<const float>(frame, 0);  // etype, 64xf32
  const float *W = cpu::table<const float>(frame, 1);  // etype, 64x64xf32
  float *linear = cpu::table<float>(frame, 2);  // etype, 64xf32
  cpu::Scratch fixed(scratch);
  for (int64_t first = begin; first < end; ++first) {
    const int64_t last = first + 1;
    const int64_t etype = first;
    cpu::Scratch space = fixed;
    const float *w_s_rows = w_s + first * 64;
    float *product_rows = linear + first * 64;
    const float *W_matrix = W + etype * 4096;
    cpu::multiplyTransposed<float>(w_s_rows, 64, W_matrix, 64, product_rows, 64, last - first, 64, 64);
  }
}

// gemm src_pair, rgat.hec:3, 5, 7
//   s = product(x, W)
//   dot = dot(x, linear)
HECTOR_KERNEL void hector_s(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *scratch) {
  const float *x = cpu::table<const float>(frame, 0);  // node, 64xf32
  const float *W = cpu::table<const float>(frame, 1);  // etype, 64x64xf32
  const float *linear = cpu::table<const float>(frame, 2);  // etype, 64xf32
  float *s = cpu::table<float>(frame, 3);  // src_pair, 64xf32
  float *dot = cpu::table<float>(frame, 4);  // src_pair, f32
  const Id *types_src_pair = cpu::form<Id>(frame, 0);
  const Id *pair_node_src = cpu::form<Id>(frame, 1);
  cpu::Scratch fixed(scratch);
  const int64_t last_src_pair = frame.rows[cpu::SrcPair] - 1;
  for (cpu::Segments<Id> part(types_src_pair, frame.rows[cpu::EdgeType], begin, end); part.next();) {
    const int64_t etype = part.type;
    const float *W_matrix = W + etype * 4096;
    for (int64_t first = part.first; first < part.last; first += 4) {
      const int64_t last = cpu::smallest(first + 4, part.last);
      cpu::Scratch space = fixed;
      float *x_rows = space.take<float>(256);
      for (int64_t src_pair = first; src_pair < last; ++src_pair) {
        cpu::fetch<256>(x + int64_t{pair_node_src[cpu::smallest(src_pair + 32, last_src_pair)]} * 64);
        const float *x_src_pair = x + int64_t{pair_node_src[src_pair]} * 64;
        float *x_row = x_rows + (src_pair - first) * 64;
        for (int64_t k = 0; k < 64; ++k)
          x_row[k] = x_src_pair[k];
      }
      float *s_rows = s + first * 64;
      cpu::multiply<float>(x_rows, 64, W_matrix, 64, s_rows, 64, last - first, 64, 64);
      const float *linear_etype = linear + etype * 64;
      for (int64_t src_pair = first; src_pair < last; ++src_pair) {
        cpu::fetch<256>(x + int64_t{pair_node_src[cpu::smallest(src_pair + 32, last_src_pair)]} * 64);
        const float *x_src_pair = x + int64_t{pair_node_src[src_pair]} * 64;
        const float mul = cpu::sum<float>(64, [&](int64_t r) { return x_src_pair[r] * linear_etype[r]; });
        const float *s_row = s_rows + (src_pair - first) * 64;
        dot[src_pair] = mul;
      }
    }
  }
}

// by_dst edge, rgat.hec:3, 5, 7, 8, 10
//   add = dot + dot(x, linear)
//   att = exp(leaky_relu(add) - max(leaky_relu(add)))
//   total = sum(att)
//   att_2 = att / total
//   out = sum(att_2 * s)
HECTOR_KERNEL void hector_out_att_total(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *scratch) {
  const float *x = cpu::table<const float>(frame, 0);  // node, 64xf32
  const float *linear = cpu::table<const float>(frame, 1);  // etype, 64xf32
  const float *dot = cpu::table<const float>(frame, 2);  // src_pair, f32
  const float *s = cpu::table<const float>(frame, 3);  // src_pair, 64xf32
  float *add = cpu::table<float>(frame, 4);  // edge, f32
  float *att = cpu::table<float>(frame, 5);  // edge, f32
  float *total = cpu::table<float>(frame, 6);  // node, f32
  float *att_2 = cpu::table<float>(frame, 7);  // edge, f32
  float *out = cpu::table<float>(frame, 8);  // node, 64xf32
  const Id *edges_dst = cpu::form<Id>(frame, 0);
  const Id *places_dst = cpu::form<Id>(frame, 1);
  const Id *place_type_dst = cpu::form<Id>(frame, 2);
  const Id *place_edges_dst = cpu::form<Id>(frame, 3);
  const Id *edge_src_pair_dst = cpu::form<Id>(frame, 4);
  cpu::Scratch fixed(scratch);
  const int64_t last_dst_pair = frame.rows[cpu::DstPair] - 1;
  const int64_t last_edge = frame.rows[cpu::Edge] - 1;
  for (int64_t node = begin; node < end; ++node) {
    cpu::Scratch space = fixed;
    const float *x_node = x + node * 64;
    float top = -cpu::infinity<float>();
    int64_t top_count = 0;
    float *att_rows = space.take<float>(int64_t{edges_dst[node + 1] - edges_dst[node]});
    for (int64_t dst_pair = places_dst[node]; dst_pair < places_dst[node + 1]; ++dst_pair) {
      cpu::fetch<256>(linear + int64_t{place_type_dst[cpu::smallest(dst_pair + 32, last_dst_pair)]} * 64);
      const float *linear_dst_pair = linear + int64_t{place_type_dst[dst_pair]} * 64;
      const float mul = cpu::sum<float>(64, [&](int64_t r) { return x_node[r] * linear_dst_pair[r]; });
      for (int64_t edge = place_edges_dst[dst_pair]; edge < place_edges_dst[dst_pair + 1]; ++edge) {
        cpu::fetch<4>(dot + int64_t{edge_src_pair_dst[cpu::smallest(edge + 32, last_edge)]});
        const float dot_edge = dot[edge_src_pair_dst[edge]];
        const float add_edge = dot_edge + mul;
        const float att_edge = cpu::leakyRelu(add_edge, 0.2f);
        top = cpu::larger(top, att_edge);
        ++top_count;
        add[edge] = add_edge;
        att_rows[edge - edges_dst[node]] = att_edge;
      }
    }
    if (top_count == 0)
      top = 0.0f;
    float total_node = 0.0f;
    float *att_rows_node = space.take<float>(int64_t{edges_dst[node + 1] - edges_dst[node]});
    for (int64_t from = edges_dst[node]; from < edges_dst[node + 1]; from += cpu::kBlockEdges) {
      const int64_t to = cpu::smallest(from + cpu::kBlockEdges, edges_dst[node + 1]);
      alignas(64) float total_node_sums[cpu::kSums<float>];
      cpu::fill<float>(total_node_sums, 0.0f, cpu::kSums<float>);
      for (int64_t first = from; first < to; first += cpu::kSums<float>)
        for (int64_t i = 0; i < cpu::kSums<float>; ++i) {
          const int64_t edge = first + i;
          const float att_row = att_rows[edge - edges_dst[node]];
          const float att_edge = cpu::exp(att_row - top);
          total_node_sums[i] += cpu::choose(edge < to, att_edge, 0.0f);
          if (edge < to) att[edge] = att_edge;
          att_rows_node[edge - edges_dst[node]] = att_edge;
        }
      total_node += cpu::joinSums(total_node_sums, [](float a, float b) { return a + b; });
    }
    total[node] = total_node;
    alignas(64) float out_node[64];
    cpu::fill<float>(out_node, 0.0f, 64);
    alignas(64) float out_node_blocks[64];
    bool out_node_has_blocks = false;
    for (int64_t edge = edges_dst[node]; edge < edges_dst[node + 1]; ++edge) {
      const float att_row = att_rows_node[edge - edges_dst[node]];
      const float att_edge = att_row / total_node;
      cpu::fetch<256>(s + int64_t{edge_src_pair_dst[cpu::smallest(edge + 32, last_edge)]} * 64);
      const float *s_edge = s + int64_t{edge_src_pair_dst[edge]} * 64;
      for (int64_t k = 0; k < 64; ++k)
        out_node[k] += att_edge * s_edge[k];
      att_2[edge] = att_edge;
      if (cpu::endsBlock(edge))
        cpu::moveSum(out_node, out_node_blocks, 64, out_node_has_blocks);
    }
    if (out_node_has_blocks)
      for (int64_t k = 0; k < 64; ++k)
        out_node[k] += out_node_blocks[k];
    float *out_to = out + node * 64;
    for (int64_t k = 0; k < 64; ++k)
      out_to[k] = out_node[k];
  }
}

// by_dst edge, rgat.hec:5, 7, 8, 10
//   grad_att = select(0 < add, chain(... - ..., att), chain(..., att) * 0.2)
//   sum = sum(grad_att)
HECTOR_KERNEL void hector_grad_att(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  const float *grad_out = cpu::table<const float>(frame, 0);  // node, 64xf32
  const float *s = cpu::table<const float>(frame, 1);  // src_pair, 64xf32
  const float *total = cpu::table<const float>(frame, 2);  // node, f32
  const float *out = cpu::table<const float>(frame, 3);  // node, 64xf32
  const float *att = cpu::table<const float>(frame, 4);  // edge, f32
  const float *add = cpu::table<const float>(frame, 5);  // edge, f32
  float *grad_att = cpu::table<float>(frame, 6);  // edge, f32
  float *sum = cpu::table<float>(frame, 7);  // dst_pair, f32
  const Id *places_dst = cpu::form<Id>(frame, 0);
  const Id *place_edges_dst = cpu::form<Id>(frame, 1);
  const Id *edge_src_pair_dst = cpu::form<Id>(frame, 2);
  const int64_t last_edge = frame.rows[cpu::Edge] - 1;
  for (int64_t node = begin; node < end; ++node) {
    const float *grad_out_node = grad_out + node * 64;
    const float total_node = total[node];
    const float grad_att_node = 1.0f / total_node;
    const float *out_node = out + node * 64;
    const float grad_att_node_2 = cpu::sum<float>(64,
        [&](int64_t r) { return cpu::chain(grad_out_node[r], out_node[r]); });
    const float grad_att_node_3 = cpu::chain(grad_att_node_2, grad_att_node);
    for (int64_t dst_pair = places_dst[node]; dst_pair < places_dst[node + 1]; ++dst_pair) {
      float sum_dst_pair = 0.0f;
      float sum_dst_pair_blocks;
      bool sum_dst_pair_has_blocks = false;
      for (int64_t edge = place_edges_dst[dst_pair]; edge < place_edges_dst[dst_pair + 1]; ++edge) {
        cpu::fetch<256>(s + int64_t{edge_src_pair_dst[cpu::smallest(edge + 32, last_edge)]} * 64);
        const float *s_edge = s + int64_t{edge_src_pair_dst[edge]} * 64;
        const float chain = cpu::sum<float>(64, [&](int64_t r) { return cpu::chain(grad_out_node[r], s_edge[r]); });
        const float att_edge = att[edge];
        const float grad_att_edge = cpu::chain(cpu::chain(chain, grad_att_node) - grad_att_node_3, att_edge);
        const float add_edge = add[edge];
        const float grad_att_edge_2 = cpu::choose(0.0f < add_edge, grad_att_edge, grad_att_edge * 0.2f);
        sum_dst_pair += grad_att_edge_2;
        grad_att[edge] = grad_att_edge_2;
        if (cpu::endsBlock(edge))
          cpu::moveSum(sum_dst_pair, sum_dst_pair_blocks, sum_dst_pair_has_blocks);
      }
      if (sum_dst_pair_has_blocks)
        sum_dst_pair += sum_dst_pair_blocks;
      sum[dst_pair] = sum_dst_pair;
    }
  }
}

// by_src edge, rgat.hec:7
//   sum = sum(grad_att)
HECTOR_KERNEL void hector_by_src_edge(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  const float *grad_att = cpu::table<const float>(frame, 0);  // edge, f32
  float *sum = cpu::table<float>(frame, 1);  // src_pair, f32
  const Id *place_edges_src = cpu::form<Id>(frame, 0);
  const Id *edge_row_dst_src = cpu::form<Id>(frame, 1);
  const int64_t last_edge = frame.rows[cpu::Edge] - 1;
  for (int64_t src_pair = begin; src_pair < end; ++src_pair) {
    float sum_src_pair = 0.0f;
    float sum_src_pair_blocks;
    bool sum_src_pair_has_blocks = false;
    for (int64_t edge = place_edges_src[src_pair]; edge < place_edges_src[src_pair + 1]; ++edge) {
      cpu::fetch<4>(grad_att + int64_t{edge_row_dst_src[cpu::smallest(edge + 32, last_edge)]});
      const float grad_att_edge = grad_att[edge_row_dst_src[edge]];
      sum_src_pair += grad_att_edge;
      if (cpu::endsBlock(edge))
        cpu::moveSum(sum_src_pair, sum_src_pair_blocks, sum_src_pair_has_blocks);
    }
    if (sum_src_pair_has_blocks)
      sum_src_pair += sum_src_pair_blocks;
    sum[src_pair] = sum_src_pair;
  }
}

// flat dst_pair, rgat.hec:3, 7
//   sum_2 = sum(chain(sum, x)) per etype
HECTOR_KERNEL void hector_flat_dst_pair(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *) {
  const float *sum = cpu::table<const float>(frame, 0);  // dst_pair, f32
  const float *x = cpu::table<const float>(frame, 1);  // node, 64xf32
  const Id *types_dst_pair = cpu::form<Id>(frame, 0);
  const Id *pair_place_dst = cpu::form<Id>(frame, 1);
  const Id *pair_node_dst = cpu::form<Id>(frame, 2);
  const int64_t last_dst_pair = frame.rows[cpu::DstPair] - 1;
  for (cpu::Segments<Id> part(types_dst_pair, frame.rows[cpu::EdgeType], begin, end); part.next();) {
    const int64_t etype = part.type;
    float *sum_2_part = cpu::totalRow<float>(frame.totals[0], 256, piece + etype);
    cpu::fill<float>(sum_2_part, 0.0f, 64);
    const int64_t first = part.first, last = part.last;
    for (int64_t dst_pair = first; dst_pair < last; ++dst_pair) {
      cpu::fetch<4>(sum + int64_t{pair_place_dst[cpu::smallest(dst_pair + 32, last_dst_pair)]});
      const float sum_dst_pair = sum[pair_place_dst[dst_pair]];
      cpu::fetch<256>(x + int64_t{pair_node_dst[cpu::smallest(dst_pair + 32, last_dst_pair)]} * 64);
      const float *x_dst_pair = x + int64_t{pair_node_dst[dst_pair]} * 64;
      for (int64_t k = 0; k < 64; ++k)
        sum_2_part[k] += cpu::chain(sum_dst_pair, x_dst_pair[k]);
    }
  }
}

// Joins what the pieces of hector_flat_dst_pair left for sum_2.
HECTOR_KERNEL void hector_flat_dst_pair_join0(const cpu::Frame &frame, int64_t begin, int64_t end) {
  float *sum_2 = cpu::table<float>(frame, 2);
  const Id *types = cpu::form<Id>(frame, 0);
  for (int64_t target = begin; target < end; ++target) {
    float *row = sum_2 + target * 64;
    cpu::fill<float>(row, 0.0f, 64);
    const int64_t firstRow = types[target], lastRow = types[target + 1];
    for (int64_t piece = firstRow / frame.grain; piece * frame.grain < lastRow && firstRow < lastRow; ++piece) {
      const float *part = cpu::totalRow<float>(frame.totals[0], 256, piece + target);
      for (int64_t k = 0; k < 64; ++k)
        row[k] += part[k];
    }
  }
}

// gemm etype, rgat.hec:7
//   grad_w_t = product(sum, W)
HECTOR_KERNEL void hector_grad_w_t(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *scratch) {
  const float *sum = cpu::table<const float>(frame, 0);  // etype, 64xf32
  const float *W = cpu::table<const float>(frame, 1);  // etype, 64x64xf32
  float *grad_w_t = cpu::table<float>(frame, 2);  // etype, 64xf32
  cpu::Scratch fixed(scratch);
  for (int64_t first = begin; first < end; ++first) {
    const int64_t last = first + 1;
    const int64_t etype = first;
    cpu::Scratch space = fixed;
    const float *sum_rows = sum + first * 64;
    float *product_rows = grad_w_t + first * 64;
    const float *W_matrix = W + etype * 4096;
    cpu::multiply<float>(sum_rows, 64, W_matrix, 64, product_rows, 64, last - first, 64, 64);
    cpu::clearZeroRows<float>(sum_rows, 64, product_rows, 64, last - first, 64, 64);
  }
}

// gemm etype, rgat.hec:3, 7
//   weight_grad = select(max(abs(sum)) == 0, 0, w_t * sum)
HECTOR_KERNEL void hector_gemm_etype_2(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *scratch) {
  const float *w_t = cpu::table<const float>(frame, 0);  // etype, 64xf32
  const float *sum = cpu::table<const float>(frame, 1);  // etype, 64xf32
  float *weight_grad = cpu::table<float>(frame, 2);  // etype, 64x64xf32
  cpu::Scratch fixed(scratch);
  float *product = fixed.take<float>(4096);
  for (int64_t first = begin; first < end; first += 32) {
    const int64_t last = cpu::smallest(first + 32, end);
    for (int64_t etype = first; etype < last; ++etype) {
      const float *w_t_etype = w_t + etype * 64;
      const float *sum_etype = sum + etype * 64;
      float abs = -cpu::infinity<float>();
      for (int64_t r = 0; r < 64; ++r)
        abs = cpu::larger(abs, cpu::abs(sum_etype[r]));
      const bool equal = abs == 0.0f;
      cpu::multiplyStrided<float>(sum_etype, 1, 0, w_t_etype, 0, product, 64, 64, 1, 64);
      float *weight_grad_to = weight_grad + etype * 4096;
      for (int64_t k = 0; k < 4096; ++k)
        weight_grad_to[k] = cpu::choose(equal, 0.0f, product[k]);
    }
  }
}

// by_src edge, rgat.hec:8, 10
//   sum = sum(chain(grad_out, att))
HECTOR_KERNEL void hector_by_src_edge_2(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  const float *grad_out = cpu::table<const float>(frame, 0);  // node, 64xf32
  const float *att = cpu::table<const float>(frame, 1);  // edge, f32
  float *sum = cpu::table<float>(frame, 2);  // src_pair, 64xf32
  const Id *place_edges_src = cpu::form<Id>(frame, 0);
  const Id *edge_dst_src = cpu::form<Id>(frame, 1);
  const Id *edge_row_dst_src = cpu::form<Id>(frame, 2);
  const int64_t last_edge = frame.rows[cpu::Edge] - 1;
  for (int64_t src_pair = begin; src_pair < end; ++src_pair) {
    alignas(64) float sum_src_pair[64];
    cpu::fill<float>(sum_src_pair, 0.0f, 64);
    alignas(64) float sum_src_pair_blocks[64];
    bool sum_src_pair_has_blocks = false;
    for (int64_t edge = place_edges_src[src_pair]; edge < place_edges_src[src_pair + 1]; ++edge) {
      cpu::fetch<256>(grad_out + int64_t{edge_dst_src[cpu::smallest(edge + 32, last_edge)]} * 64);
      const float *grad_out_edge = grad_out + int64_t{edge_dst_src[edge]} * 64;
      cpu::fetch<4>(att + int64_t{edge_row_dst_src[cpu::smallest(edge + 32, last_edge)]});
      const float att_edge = att[edge_row_dst_src[edge]];
      for (int64_t k = 0; k < 64; ++k)
        sum_src_pair[k] += cpu::chain(grad_out_edge[k], att_edge);
      if (cpu::endsBlock(edge))
        cpu::moveSum(sum_src_pair, sum_src_pair_blocks, 64, sum_src_pair_has_blocks);
    }
    if (sum_src_pair_has_blocks)
      for (int64_t k = 0; k < 64; ++k)
        sum_src_pair[k] += sum_src_pair_blocks[k];
    float *sum_to = sum + src_pair * 64;
    for (int64_t k = 0; k < 64; ++k)
      sum_to[k] = sum_src_pair[k];
  }
}

// gemm src_pair, rgat.hec:3, 5, 7, 10
//   sum_3 = sum(chain(sum, x)) per etype
//   grad_s = product(sum_2, transposed W)
//   grad_s_2 = sum(outer(x, sum_2)) per etype
HECTOR_KERNEL void hector_grad_s(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *scratch) {
  const float *sum = cpu::table<const float>(frame, 0);  // src_pair, f32
  const float *x = cpu::table<const float>(frame, 1);  // node, 64xf32
  const float *sum_2 = cpu::table<const float>(frame, 2);  // src_pair, 64xf32
  const float *W = cpu::table<const float>(frame, 3);  // etype, 64x64xf32
  float *grad_s = cpu::table<float>(frame, 5);  // src_pair, 64xf32
  const Id *types_src_pair = cpu::form<Id>(frame, 0);
  const Id *pair_place_src = cpu::form<Id>(frame, 1);
  const Id *pair_node_src = cpu::form<Id>(frame, 2);
  cpu::Scratch fixed(scratch);
  float *W_turned = fixed.take<float>(4096);
  const int64_t last_src_pair = frame.rows[cpu::SrcPair] - 1;
  for (cpu::Segments<Id> part(types_src_pair, frame.rows[cpu::EdgeType], begin, end); part.next();) {
    const int64_t etype = part.type;
    float *grad_s_2_part = cpu::totalRow<float>(frame.totals[0], 16384, piece + etype);
    cpu::fill<float>(grad_s_2_part, 0.0f, 4096);
    float *sum_3_part = cpu::totalRow<float>(frame.totals[1], 256, piece + etype);
    cpu::fill<float>(sum_3_part, 0.0f, 64);
    const float *W_matrix = W + etype * 4096;
    cpu::transpose<float>(W_matrix, 64, W_turned, 64, 64, 64);
    for (int64_t first = part.first; first < part.last; first += 32) {
      const int64_t last = cpu::smallest(first + 32, part.last);
      cpu::Scratch space = fixed;
      float *sum_rows = space.take<float>(2048);
      float *x_rows = space.take<float>(2048);
      float *grad_s_rows = grad_s + first * 64;
      for (int64_t from = first; from < last; from += 4) {
        const int64_t to = cpu::smallest(from + 4, last);
        for (int64_t src_pair = from; src_pair < to; ++src_pair) {
          cpu::fetch<4>(sum + int64_t{pair_place_src[cpu::smallest(src_pair + 32, last_src_pair)]});
          const float sum_src_pair = sum[pair_place_src[src_pair]];
          cpu::fetch<256>(x + int64_t{pair_node_src[cpu::smallest(src_pair + 32, last_src_pair)]} * 64);
          const float *x_src_pair = x + int64_t{pair_node_src[src_pair]} * 64;
          cpu::fetch<256>(sum_2 + int64_t{pair_place_src[cpu::smallest(src_pair + 32, last_src_pair)]} * 64);
          const float *sum_2_src_pair = sum_2 + int64_t{pair_place_src[src_pair]} * 64;
          float *sum_row = sum_rows + (src_pair - first) * 64;
          for (int64_t k = 0; k < 64; ++k)
            sum_row[k] = sum_2_src_pair[k];
          float *x_row = x_rows + (src_pair - first) * 64;
          for (int64_t k = 0; k < 64; ++k)
            x_row[k] = x_src_pair[k];
          for (int64_t k = 0; k < 64; ++k)
            sum_3_part[k] += cpu::chain(sum_src_pair, x_src_pair[k]);
        }
        cpu::multiply<float>(sum_rows + (from - first) * 64, 64, W_turned, 64, grad_s_rows + (from - first) * 64, 64,
            to - from, 64, 64);
        cpu::clearZeroRows<float>(sum_rows + (from - first) * 64, 64, grad_s_rows + (from - first) * 64, 64, to - from,
            64, 64);
      }
      cpu::forNonZeroRows(sum_rows, 64, last - first, [&](int64_t from, int64_t count) {
        cpu::addOuterProducts<float>(x_rows + from * 64, 64, sum_rows + from * 64, 64, grad_s_2_part, 64, count, 64,
            64);
      });
    }
  }
}

// Joins what the pieces of hector_grad_s left for grad_s_2.
HECTOR_KERNEL void hector_grad_s_join0(const cpu::Frame &frame, int64_t begin, int64_t end) {
  float *grad_s_2 = cpu::table<float>(frame, 6);
  const Id *types = cpu::form<Id>(frame, 0);
  for (int64_t target = begin; target < end; ++target) {
    float *row = grad_s_2 + target * 4096;
    cpu::fill<float>(row, 0.0f, 4096);
    const int64_t firstRow = types[target], lastRow = types[target + 1];
    for (int64_t piece = firstRow / frame.grain; piece * frame.grain < lastRow && firstRow < lastRow; ++piece) {
      const float *part = cpu::totalRow<float>(frame.totals[0], 16384, piece + target);
      for (int64_t k = 0; k < 4096; ++k)
        row[k] += part[k];
    }
  }
}

// Joins what the pieces of hector_grad_s left for sum_3.
HECTOR_KERNEL void hector_grad_s_join1(const cpu::Frame &frame, int64_t begin, int64_t end) {
  float *sum_3 = cpu::table<float>(frame, 4);
  const Id *types = cpu::form<Id>(frame, 0);
  for (int64_t target = begin; target < end; ++target) {
    float *row = sum_3 + target * 64;
    cpu::fill<float>(row, 0.0f, 64);
    const int64_t firstRow = types[target], lastRow = types[target + 1];
    for (int64_t piece = firstRow / frame.grain; piece * frame.grain < lastRow && firstRow < lastRow; ++piece) {
      const float *part = cpu::totalRow<float>(frame.totals[1], 256, piece + target);
      for (int64_t k = 0; k < 64; ++k)
        row[k] += part[k];
    }
  }
}

// by_src src_pair, rgat.hec:3, 5, 7
//   sum_2 = sum(chain(sum, linear) + grad_s)
HECTOR_KERNEL void hector_by_src_src_pair(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  const float *sum = cpu::table<const float>(frame, 0);  // src_pair, f32
  const float *linear = cpu::table<const float>(frame, 1);  // etype, 64xf32
  const float *grad_s = cpu::table<const float>(frame, 2);  // src_pair, 64xf32
  float *sum_2 = cpu::table<float>(frame, 3);  // node, 64xf32
  const Id *places_src = cpu::form<Id>(frame, 0);
  const Id *place_type_src = cpu::form<Id>(frame, 1);
  const Id *place_pair_src = cpu::form<Id>(frame, 2);
  const int64_t last_src_pair = frame.rows[cpu::SrcPair] - 1;
  for (int64_t node = begin; node < end; ++node) {
    alignas(64) float sum_node[64];
    cpu::fill<float>(sum_node, 0.0f, 64);
    for (int64_t src_pair = places_src[node]; src_pair < places_src[node + 1]; ++src_pair) {
      const float sum_src_pair = sum[src_pair];
      cpu::fetch<256>(linear + int64_t{place_type_src[cpu::smallest(src_pair + 32, last_src_pair)]} * 64);
      const float *linear_src_pair = linear + int64_t{place_type_src[src_pair]} * 64;
      cpu::fetch<256>(grad_s + int64_t{place_pair_src[cpu::smallest(src_pair + 32, last_src_pair)]} * 64);
      const float *grad_s_src_pair = grad_s + int64_t{place_pair_src[src_pair]} * 64;
      for (int64_t k = 0; k < 64; ++k)
        sum_node[k] += cpu::chain(sum_src_pair, linear_src_pair[k]) + grad_s_src_pair[k];
    }
    float *sum_2_to = sum_2 + node * 64;
    for (int64_t k = 0; k < 64; ++k)
      sum_2_to[k] = sum_node[k];
  }
}

// by_dst dst_pair, rgat.hec:3, 7
//   grad_x = sum(chain(sum, linear)) + sum_2
HECTOR_KERNEL void hector_grad_x(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  const float *sum = cpu::table<const float>(frame, 0);  // dst_pair, f32
  const float *linear = cpu::table<const float>(frame, 1);  // etype, 64xf32
  const float *sum_2 = cpu::table<const float>(frame, 2);  // node, 64xf32
  float *grad_x = cpu::table<float>(frame, 3);  // node, 64xf32
  const Id *places_dst = cpu::form<Id>(frame, 0);
  const Id *place_type_dst = cpu::form<Id>(frame, 1);
  const int64_t last_dst_pair = frame.rows[cpu::DstPair] - 1;
  for (int64_t node = begin; node < end; ++node) {
    alignas(64) float sum_node[64];
    cpu::fill<float>(sum_node, 0.0f, 64);
    const float *sum_2_node = sum_2 + node * 64;
    for (int64_t dst_pair = places_dst[node]; dst_pair < places_dst[node + 1]; ++dst_pair) {
      const float sum_dst_pair = sum[dst_pair];
      cpu::fetch<256>(linear + int64_t{place_type_dst[cpu::smallest(dst_pair + 32, last_dst_pair)]} * 64);
      const float *linear_dst_pair = linear + int64_t{place_type_dst[dst_pair]} * 64;
      for (int64_t k = 0; k < 64; ++k)
        sum_node[k] += cpu::chain(sum_dst_pair, linear_dst_pair[k]);
    }
    float *grad_x_to = grad_x + node * 64;
    for (int64_t k = 0; k < 64; ++k)
      grad_x_to[k] = sum_node[k] + sum_2_node[k];
  }
}

// flat etype, rgat.hec:3, 5, 7
//   grad_W = (weight_grad + weight_grad_2) + grad_s
HECTOR_KERNEL void hector_grad_W(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  const float *weight_grad = cpu::table<const float>(frame, 0);  // etype, 64x64xf32
  const float *weight_grad_2 = cpu::table<const float>(frame, 1);  // etype, 64x64xf32
  const float *grad_s = cpu::table<const float>(frame, 2);  // etype, 64x64xf32
  float *grad_W = cpu::table<float>(frame, 3);  // etype, 64x64xf32
  for (int64_t etype = begin; etype < end; ++etype) {
    const float *weight_grad_etype = weight_grad + etype * 4096;
    const float *weight_grad_2_etype = weight_grad_2 + etype * 4096;
    const float *grad_s_etype = grad_s + etype * 4096;
    float *grad_W_to = grad_W + etype * 4096;
    for (int64_t k = 0; k < 4096; ++k)
      grad_W_to[k] = (weight_grad_etype[k] + weight_grad_2_etype[k]) + grad_s_etype[k];
  }
}

}  // namespace hector_kernels
