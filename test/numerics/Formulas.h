/// Rows of numbers and the few operations that layers' formulas are written in. Shares nothing with the compiler.
#pragma once

#include "test/numerics/Harness.h"

#include <cstdint>
#include <functional>

namespace hector::numerics {

/// A row: a vector, or a matrix one row after the other.
struct Row : std::vector<double> {
  using vector::vector;
};

Row operator+(Row a, const Row &b);
Row operator-(Row a, const Row &b);
Row operator*(Row a, const Row &b);  // element by element
Row operator/(Row a, const Row &b);
Row operator*(double a, Row b);
Row each(Row a, double (*f)(double));
double dot(const Row &a, const Row &b);
/// x·W, where W has as many rows as x has entries.
Row times(const Row &x, const Row &W);
/// Equal part `k` of `n`.
Row part(const Row &a, int64_t k, int64_t n);
Row join(std::initializer_list<Row> parts);
Row zeros(int64_t size);
/// Scaled to length 1; rows shorter than 1e-12 are divided by that instead.
Row unit(const Row &a);

double relu(double x);
double sigmoid(double x);
double gelu(double x);
double silu(double x);
double elu(double x);
double leaky(double x, double slope = 0.2);

/// A model's inputs and sizes, as formulas read them.
struct Inputs {
  const Tables &tables;
  const std::map<std::string, int64_t> &sizes;

  Row operator()(const std::string &name, int64_t row = 0) const;
  double number(const std::string &name, int64_t row = 0) const { return (*this)(name, row)[0]; }
  int64_t size(const std::string &name) const { return sizes.at(name); }
};

/// exp(a)/Σ exp(a) over the given edges, each entry of a row on its own.
void softmax(std::vector<Row> &scores, const std::vector<int64_t> &edges);
/// The same for the incoming edges of every node.
void softmaxOverIncoming(const PlainGraph &graph, std::vector<Row> &scores);
/// The same for the incoming edges of every node and relation.
void softmaxWithinRelations(const PlainGraph &graph, std::vector<Row> &scores);

/// Each row of `weights` has an entry a head: the sum over edges of each head's entry times its part of the message.
Row weighHeads(const std::vector<int64_t> &edges, const std::vector<Row> &weights, const std::vector<Row> &messages,
               int64_t size);

/// The mean of `f(e)` over edges; 0 where there are none. The same for the sum.
Row meanOf(const std::vector<int64_t> &edges, int64_t size, const std::function<Row(int64_t)> &f);
Row sumOf(const std::vector<int64_t> &edges, int64_t size, const std::function<Row(int64_t)> &f);
/// The edges among `edges` that have type `relation`.
std::vector<int64_t> ofType(const PlainGraph &graph, const std::vector<int64_t> &edges, int64_t relation);

/// `f(i)` for each of `count` rows, as a table of rows of `size`.
Table table(int64_t count, int64_t size, const std::function<Row(int64_t)> &f);
std::vector<Row> rows(int64_t count, const std::function<Row(int64_t)> &f);

}  // namespace hector::numerics
