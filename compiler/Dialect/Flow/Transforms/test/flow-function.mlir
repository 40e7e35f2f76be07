// Passes leave declarations and nested modules as they are, and have nothing to say about functions without ops.
// RUN: hector-opt %s --flow-aggregate-first | FileCheck %s
// RUN: hector-opt %s --flow-compact-rows | FileCheck %s
// RUN: hector-opt %s --flow-flatten-sums | FileCheck %s
// RUN: hector-opt %s --flow-form-groups | FileCheck %s
// RUN: hector-opt %s --flow-join-sums | FileCheck %s
// RUN: hector-opt %s --flow-linear-reorder | FileCheck %s
// RUN: hector-opt %s --flow-print-cost | FileCheck %s --check-prefixes CHECK,COST
// RUN: hector-opt %s --flow-print-keys | FileCheck %s
// RUN: hector-opt %s --flow-reuse-sums | FileCheck %s
// RUN: hector-opt %s --flow-split-phases | FileCheck %s
// RUN: hector-opt %s --flow-spread-reads | FileCheck %s
// RUN: hector-opt %s --flow-stabilise-softmax | FileCheck %s
// RUN: hector-opt %s --flow-differentiate | FileCheck %s --check-prefix GRADIENTS

// COST: groups of @nothing: 0
// COST-NEXT: total: 0 operations, 0 bytes, at most 0 bytes live, 0 bytes of inputs, 0 bytes of the graph
// COST-NEXT: groups of @unread: 0

// CHECK: func.func private @declared(i32) -> tensor<4xf32>
// GRADIENTS: func.func private @declared(i32) -> tensor<4xf32>
func.func private @declared(i32) -> tensor<4xf32>

// CHECK: func.func @nothing() {
// CHECK-NEXT: return
// GRADIENTS: func.func @nothing() attributes {flow.forward_results = 0 : i64} {
// GRADIENTS-NEXT: return
func.func @nothing() {
  return
}

// What no result depends on has a gradient of zeros.
// CHECK: func.func @unread
// CHECK-NEXT: return
// GRADIENTS: func.func @unread
// GRADIENTS: %[[ZERO:.*]] = flow.expand
// GRADIENTS: return %[[ZERO]]
func.func @unread(%x: !flow.rows<node, 4xf32, device>) {
  return
}

// CHECK: module {
// CHECK-NEXT: func.func @nested(%{{.*}}: i32) -> i32 {
// GRADIENTS: func.func @nested(%{{.*}}: i32) -> i32 {
module {
  func.func @nested(%i: i32) -> i32 {
    return %i : i32
  }
}
