/// How the warps of a block divide products. Shared by the kernels and by the compiler, which chooses what stays in
/// registers.
#pragma once

#include "kernels/common/target.hpp"

namespace hector::cuda {

/// How floats are multiplied on the matrix instructions, by the names of PyTorch; the errors are relative to the norms.
enum class Precision {
  Highest,  // three parts of bf16, six products: as exact as float
  High,     // two parts, three products: 4e-6
};
HECTOR_ANYWHERE constexpr int planesOf(Precision precision) {
  return precision == Precision::Highest ? 3 : 2;
}

HECTOR_ANYWHERE constexpr int partsOf(int n, int size) {
  return (n + size - 1) / size;
}

/// The least distance between rows of n numbers of `bytes` each that is an odd multiple of 32 bytes.
HECTOR_ANYWHERE constexpr int paddedColumns(int n, int bytes) {
  const int numbers = 32 / bytes, pieces = partsOf(n, numbers);
  return (pieces % 2 == 0 ? pieces + 1 : pieces) * numbers;
}

/// A tile of floats that products read: planes of bf16, rows at odd multiples of 16 bytes. Products take 16 rows and up
/// to 32 columns at a time, whether they are there or not.
struct TileShape {
  int rows, stride, plane, bytes;
};
HECTOR_ANYWHERE constexpr TileShape shapeOfTile(int size, int rows, int planes) {
  TileShape shape = {};
  shape.rows = partsOf(rows, 16) * 16;
  shape.stride = partsOf(size, 16) * 16 + 8;
  shape.plane = shape.rows * shape.stride;
  shape.bytes = (planes * shape.plane + 32) * 2;
  return shape;
}

/// A product of rows with a matrix of `inner` rows and `outer` columns. In each pass, 8·tiles columns belong to a warp,
/// which computes 16·rowTiles rows at a time.
struct ProductDivision {
  int tiles, columnWarps, rowWarps, passes, rowTiles, steps;
  int numbers;  // of a lane that keeps its part of the matrix
};
HECTOR_ANYWHERE constexpr ProductDivision divideProduct(int inner, int outer, int warps, bool isKept) {
  ProductDivision way = {};
  way.tiles = outer <= 16 ? 1 : isKept || outer <= 64 ? 2 : 4;
  way.columnWarps = 1;
  while (way.columnWarps < warps && way.columnWarps < partsOf(outer, 8 * way.tiles))
    way.columnWarps *= 2;
  way.rowWarps = warps / way.columnWarps;
  way.passes = partsOf(outer, 8 * way.tiles * way.columnWarps);
  way.rowTiles = way.rowWarps > 2 ? 1 : 2;
  way.steps = partsOf(inner, 16);
  way.numbers = way.passes * way.steps * way.tiles * 4;
  return way;
}

/// A sum of outer products, of `inner` rows and `outer` columns, in blocks of 16·rowTiles rows and 8·tiles columns.
struct OuterDivision {
  int tiles, rowTiles, across, blocks;
  int own;  // blocks of a warp
};
HECTOR_ANYWHERE constexpr OuterDivision divideOuter(int inner, int outer, int warps) {
  OuterDivision way = {};
  way.tiles = outer <= 8 ? 1 : outer <= 16 ? 2 : 4;
  way.across = partsOf(outer, 8 * way.tiles);
  way.rowTiles = partsOf(inner, 32) * way.across >= warps ? 2 : 1;  // as large as leaves work for all warps
  way.blocks = partsOf(inner, 16 * way.rowTiles) * way.across;
  way.own = partsOf(way.blocks, warps);
  return way;
}

/// A product of two matrices goes through slabs in shared memory: some terms of kSide rows of the left one, and of
/// kSide columns of the right one.
struct MatrixSlabs {
  static constexpr int kSide = 64, kStride = kSide + 4;
  int depth, bytes;
};
HECTOR_ANYWHERE constexpr MatrixSlabs slabsOf(int terms, int numberBytes) {
  const int most = 128 / numberBytes;
  MatrixSlabs slabs = {};
  slabs.depth = terms < most ? partsOf(terms, 8) * 8 : most;
  slabs.bytes = 2 * slabs.depth * MatrixSlabs::kStride * numberBytes;
  return slabs;
}

}  // namespace hector::cuda
