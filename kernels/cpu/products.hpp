/// Products of a tile of rows with a matrix.
///
/// A number's sum goes over its terms in order, in T, whatever the number of rows and the row's place among them: where
/// tiles are cut changes no bit.
#pragma once

#include <cstdint>

namespace hector::cpu {

/// c[r][j] = Σ_k a[r][k]·w[k][j], for r < rows, k < inner, j < outer. lda, ldw and ldc are the distances between rows.
template <class T>
void multiply(const T *a, int64_t lda, const T *w, int64_t ldw, T *c, int64_t ldc, int64_t rows, int64_t inner,
              int64_t outer) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < outer; ++j)
      c[r * ldc + j] = T(0);
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t j = 0; j < outer; ++j)
        c[r * ldc + j] += a[r * lda + k] * w[k * ldw + j];
  }
}

/// c[r][j] = Σ_k a[r][k]·w[j][k]: the product with the transpose of `w`.
template <class T>
void multiplyTransposed(const T *a, int64_t lda, const T *w, int64_t ldw, T *c, int64_t ldc, int64_t rows,
                        int64_t inner, int64_t outer) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < outer; ++j) {
      T sum = T(0);
      for (int64_t k = 0; k < inner; ++k)
        sum += a[r * lda + k] * w[j * ldw + k];
      c[r * ldc + j] = sum;
    }
}

/// w[i][j] += Σ_r a[r][i]·g[r][j], for i < inner and j < outer, with r in ascending order.
template <class T>
void addOuterProducts(const T *a, int64_t lda, const T *g, int64_t ldg, T *w, int64_t ldw, int64_t rows, int64_t inner,
                      int64_t outer) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t j = 0; j < outer; ++j)
        w[i * ldw + j] += a[r * lda + i] * g[r * ldg + j];
}

/// Whether n numbers are all 0. -0 is; NaN is not.
template <class T> bool isZero(const T *row, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (row[k] != T(0))
      return false;
  return true;
}

}  // namespace hector::cpu
