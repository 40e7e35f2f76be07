// Gradients live where the tables that they belong to live.
// RUN: hector-opt %s --flow-differentiate | FileCheck %s

// CHECK-LABEL: func.func @relu
// CHECK-NOT: device
func.func @relu(%x: !flow.rows<node, 4xf32, host>) -> !flow.rows<one, 4xf32, host> {
  %y = flow.relu %x : <node, 4xf32, host> -> <node, 4xf32, host>
  %s = flow.reduce mean %y via one : <node, 4xf32, host> -> <one, 4xf32, host>
  return %s : !flow.rows<one, 4xf32, host>
}
