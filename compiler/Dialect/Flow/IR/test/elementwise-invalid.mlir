// Arithmetic, element by element.
// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @neg_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.neg %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @neg_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.neg %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @neg_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.neg %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @abs_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.abs %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @abs_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.abs %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @abs_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.abs %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @sign_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.sign %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @sign_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.sign %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @sign_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.sign %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @floor_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.floor %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @floor_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.floor %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @floor_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.floor %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @exp_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.exp %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @exp_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.exp %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @exp_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.exp %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @log_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.log %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @log_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.log %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @log_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.log %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @sqrt_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.sqrt %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @sqrt_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.sqrt %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @sqrt_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.sqrt %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @rsqrt_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.rsqrt %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @rsqrt_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.rsqrt %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @rsqrt_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.rsqrt %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @sin_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.sin %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @sin_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.sin %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @sin_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.sin %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @cos_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.cos %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @cos_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.cos %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @cos_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.cos %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @tanh_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.tanh %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @tanh_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.tanh %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @tanh_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.tanh %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @sigmoid_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.sigmoid %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @sigmoid_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.sigmoid %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @sigmoid_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.sigmoid %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @softplus_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.softplus %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @softplus_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.softplus %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @softplus_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.softplus %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @erf_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.erf %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @erf_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.erf %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @erf_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.erf %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @relu_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.relu %a : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @relu_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.relu %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @relu_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.relu %a : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @leaky_relu_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.leaky_relu %a {slope = 0.2 : f64} : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @leaky_relu_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.leaky_relu %a {slope = 0.2 : f64} : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @leaky_relu_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.leaky_relu %a {slope = 0.2 : f64} : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_c1_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.dropout %a {rate = 0.5 : f64, stream = 0 : i64} : <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @dropout_c1_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.dropout %a {rate = 0.5 : f64, stream = 0 : i64} : <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @dropout_c1_type(%a: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 0 of 'f64'}}
  %r = flow.dropout %a {rate = 0.5 : f64, stream = 0 : i64} : <node, 4xf64, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_c2_above(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{drops a part from 0 to 1, but `rate` is 1.500000e+00}}
  %r = flow.dropout %a {rate = 1.5 : f64, stream = 0 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_c2_below(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{drops a part from 0 to 1, but `rate` is -5.000000e-01}}
  %r = flow.dropout %a {rate = -0.5 : f64, stream = 0 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_c2_nan(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{drops a part from 0 to 1, but `rate` is 0x7FF8000000000000}}
  %r = flow.dropout %a {rate = 0x7FF8000000000000 : f64, stream = 0 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_c3_below(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{has streams from 0 to 4294967295, but `stream` is -1}}
  %r = flow.dropout %a {rate = 0.5 : f64, stream = -1 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_c3_above(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{has streams from 0 to 4294967295, but `stream` is 4294967296}}
  %r = flow.dropout %a {rate = 0.5 : f64, stream = 4294967296 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_c4(%a: !flow.rows<node, 17179869185xf32, device>) {
  // expected-error @below {{takes rows of at most 17179869184 numbers, but is given 17179869185}}
  %r = flow.dropout %a {rate = 0.5 : f64, stream = 0 : i64} : <node, 17179869185xf32, device> -> <node, 17179869185xf32, device>
  return
}

// -----

func.func @dropout_rate(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{requires attribute 'rate'}}
  %r = flow.dropout %a {stream = 0 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @dropout_stream(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{requires attribute 'stream'}}
  %r = flow.dropout %a {rate = 0.5 : f64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @leaky_relu_slope(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{requires attribute 'slope'}}
  %r = flow.leaky_relu %a : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @add_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.add %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @add_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.add %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @add_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.add %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @add_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.add %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @add_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.add %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @sub_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.sub %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @sub_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.sub %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @sub_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.sub %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @sub_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.sub %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @sub_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.sub %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @mul_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.mul %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @mul_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.mul %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @mul_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.mul %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @mul_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.mul %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @mul_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.mul %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @div_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.div %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @div_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.div %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @div_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.div %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @div_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.div %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @div_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.div %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @floor_div_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.floor_div %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @floor_div_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.floor_div %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @floor_div_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.floor_div %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @floor_div_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.floor_div %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @floor_div_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.floor_div %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @mod_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.mod %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @mod_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.mod %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @mod_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.mod %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @mod_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.mod %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @mod_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.mod %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @pow_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.pow %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @pow_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.pow %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @pow_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.pow %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @pow_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.pow %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @pow_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.pow %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @max_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.max %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @max_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.max %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @max_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.max %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @max_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.max %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @max_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.max %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @min_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.min %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @min_c1_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 2x4xf32 element by element}}
  %r = flow.min %a, %b : <node, 4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @min_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 1xf32}}
  %r = flow.min %a, %b : <node, 4xf32, device>, <node, 1xf32, device> -> <node, 1xf32, device>
  return
}

// -----

func.func @min_c2_truth(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.min %a, %b : <node, i1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @min_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f16'}}
  %r = flow.min %a, %b : <node, 4xf32, device>, <node, 4xf16, device> -> <node, 4xf32, device>
  return
}
