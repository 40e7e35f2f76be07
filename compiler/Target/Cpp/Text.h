/// Pieces of C++ text: types, numbers, offsets and accumulators.
#pragma once

#include "compiler/Dialect/Kern/IR/Kern.h"
#include "runtime/exec/Form.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringSet.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hector::cpp {

int64_t product(llvm::ArrayRef<int64_t> sizes);
int64_t roundUp(int64_t value, int64_t unit);

//===- Numbers ---------------------------------------------------------------------------------------------------===//

/// The type in which numbers are computed: "float", "int64_t".
std::string numberName(mlir::Type element);
/// How a table's numbers are stored: "float", "cpu::bf16" for the namespace "cpu::".
std::string storageName(const std::string &space, mlir::Type element);
/// What a number takes while it is computed with.
int64_t numberBytes(mlir::Type element);
/// Whether numbers are stored as they are computed with.
bool isStoredAsIs(mlir::Type element);
/// A number; in parentheses if it is negative.
std::string literal(const std::string &space, double value, mlir::Type element);

//===- Expressions -----------------------------------------------------------------------------------------------===//

/// Without the parentheses around the whole.
std::string bare(const std::string &text);
/// An offset, for axes of these names. A sum is in parentheses.
std::string offsetText(mlir::AffineExpr expr, const std::vector<std::string> &axes);
/// The factors of the axes in a sum of products with constants, and what is added to them; nothing if it is none.
std::optional<llvm::SmallVector<int64_t>> stridesOf(mlir::AffineExpr offset, unsigned numAxes);
/// The offset of a point in row-major order.
mlir::AffineExpr rowMajor(llvm::ArrayRef<int64_t> sizes, mlir::MLIRContext *context);
/// `place` times `size`.
std::string times(const std::string &place, int64_t size);

//===- Names -----------------------------------------------------------------------------------------------------===//

/// Names that generated code has for itself, and words of C++.
llvm::StringSet<> reservedNames();
/// `base` as a word of C++.
std::string asWord(llvm::StringRef base);
/// A word that is not taken yet, and is from then on: "att", else "att_2".
std::string uniqueName(llvm::StringSet<> &taken, llvm::StringRef base);

//===- Domains ---------------------------------------------------------------------------------------------------===//

/// The variable of a loop over the rows of a domain.
std::string levelName(flow::Domain domain);
/// The constant of `cpu::Domain` and `cuda::Domain`.
const char *domainConstant(flow::Domain domain);
/// The rows whose types are sorted, by the domain that a tile walks.
TileRows typedRows(flow::Domain domain);

/// Whether `word` is in a text, as a word of its own.
bool hasWord(const std::string &text, const std::string &word);

//===- Accumulators ----------------------------------------------------------------------------------------------===//

/// Whether the number of rows that an accumulator took matters.
bool needsCount(kern::AccKind kind);
/// What an accumulator starts at.
std::string startOf(const std::string &space, kern::AccKind kind, mlir::Type element);
/// The statement that has `to` take `number`.
std::string taking(const std::string &space, kern::AccKind kind, const std::string &to, const std::string &number);
/// Where the count of a total's row is, in numbers after its start.
int64_t countPlace(int64_t size, mlir::Type element);

}  // namespace hector::cpp
