#include "test/numerics/Formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hector::numerics {

template <class F> static Row combine(Row a, const Row &b, F f) {
  EXPECT_EQ(a.size(), b.size()) << "the formula combines rows of different sizes";
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    a[i] = f(a[i], b[i]);
  return a;
}

Row operator+(Row a, const Row &b) {
  return combine(std::move(a), b, std::plus<>());
}
Row operator-(Row a, const Row &b) {
  return combine(std::move(a), b, std::minus<>());
}
Row operator*(Row a, const Row &b) {
  return combine(std::move(a), b, std::multiplies<>());
}
Row operator/(Row a, const Row &b) {
  return combine(std::move(a), b, std::divides<>());
}

Row operator*(double a, Row b) {
  for (double &value : b)
    value *= a;
  return b;
}

Row each(Row a, double (*f)(double)) {
  for (double &value : a)
    value = f(value);
  return a;
}

double dot(const Row &a, const Row &b) {
  EXPECT_EQ(a.size(), b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Row times(const Row &x, const Row &W) {
  EXPECT_EQ(W.size() % x.size(), 0u);
  size_t columns = W.size() / x.size();
  Row y(columns, 0.0);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < columns; ++j)
      y[j] += x[i] * W[i * columns + j];
  return y;
}

Row part(const Row &a, int64_t k, int64_t n) {
  int64_t size = static_cast<int64_t>(a.size()) / n;
  Row result;
  result.assign(a.begin() + k * size, a.begin() + (k + 1) * size);
  return result;
}

Row join(std::initializer_list<Row> parts) {
  Row result;
  for (const Row &row : parts)
    result.insert(result.end(), row.begin(), row.end());
  return result;
}

Row zeros(int64_t size) {
  return Row(static_cast<size_t>(size), 0.0);
}

Row unit(const Row &a) {
  return (1.0 / std::max(std::sqrt(dot(a, a)), 1e-12)) * a;
}

double relu(double x) {
  return std::max(x, 0.0);
}
double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
double gelu(double x) {
  return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}
double silu(double x) {
  return x / (1.0 + std::exp(-x));
}
double elu(double x) {
  return x > 0.0 ? x : std::expm1(x);
}
double leaky(double x, double slope) {
  return x > 0.0 ? x : slope * x;
}

Row Inputs::operator()(const std::string &name, int64_t row) const {
  const Table &found = tables.at(name);
  int64_t size = std::accumulate(found.shape.begin(), found.shape.end(), int64_t{1}, std::multiplies<>());
  Row result;
  result.assign(found.values.begin() + row * size, found.values.begin() + (row + 1) * size);
  return result;
}

void softmax(std::vector<Row> &scores, const std::vector<int64_t> &edges) {
  if (edges.empty())
    return;
  for (size_t k = 0; k < scores[edges[0]].size(); ++k) {
    double total = 0.0;
    for (int64_t e : edges)
      total += std::exp(scores[e][k]);
    for (int64_t e : edges)
      scores[e][k] = std::exp(scores[e][k]) / total;
  }
}

void softmaxOverIncoming(const PlainGraph &graph, std::vector<Row> &scores) {
  for (int64_t v = 0; v < graph.numNodes(); ++v)
    softmax(scores, graph.incoming(v));
}

void softmaxWithinRelations(const PlainGraph &graph, std::vector<Row> &scores) {
  for (int64_t v = 0; v < graph.numNodes(); ++v)
    for (int64_t r = 0; r < graph.numRelations; ++r)
      softmax(scores, ofType(graph, graph.incoming(v), r));
}

Row weighHeads(const std::vector<int64_t> &edges, const std::vector<Row> &weights, const std::vector<Row> &messages,
               int64_t size) {
  Row total = zeros(size);
  for (int64_t e : edges)
    for (int64_t i = 0; i < size; ++i)
      total[i] += weights[e][i * static_cast<int64_t>(weights[e].size()) / size] * messages[e][i];
  return total;
}

Row sumOf(const std::vector<int64_t> &edges, int64_t size, const std::function<Row(int64_t)> &f) {
  Row total = zeros(size);
  for (int64_t e : edges)
    total = total + f(e);
  return total;
}

Row meanOf(const std::vector<int64_t> &edges, int64_t size, const std::function<Row(int64_t)> &f) {
  return edges.empty() ? zeros(size) : (1.0 / static_cast<double>(edges.size())) * sumOf(edges, size, f);
}

std::vector<int64_t> ofType(const PlainGraph &graph, const std::vector<int64_t> &edges, int64_t relation) {
  std::vector<int64_t> kept;
  for (int64_t e : edges)
    if (graph.etype[e] == relation)
      kept.push_back(e);
  return kept;
}

Table table(int64_t count, int64_t size, const std::function<Row(int64_t)> &f) {
  Table result;
  result.rows = count;
  result.shape = {size};
  for (int64_t i = 0; i < count; ++i) {
    Row row = f(i);
    EXPECT_EQ(static_cast<int64_t>(row.size()), size) << "the formula gives rows of another size";
    result.values.insert(result.values.end(), row.begin(), row.end());
  }
  return result;
}

std::vector<Row> rows(int64_t count, const std::function<Row(int64_t)> &f) {
  std::vector<Row> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(f(i));
  return result;
}

}  // namespace hector::numerics
