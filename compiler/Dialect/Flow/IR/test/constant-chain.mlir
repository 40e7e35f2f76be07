// A chain of constants in which every value is read twice is looked at once.
// RUN: hector-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @chain
// CHECK: flow.neg %{{.*}}[one] : <one, f64, device> -> <edge, f64, device>
func.func @chain(%x: !flow.rows<one, f64, device>) -> !flow.rows<edge, f64, device> {
  %c = flow.constant 1.5 : <one, f64, device>
  %v0 = flow.exp %c : <one, f64, device> -> <one, f64, device>
  %v1 = flow.mul %v0, %v0 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v2 = flow.mul %v1, %v1 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v3 = flow.mul %v2, %v2 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v4 = flow.mul %v3, %v3 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v5 = flow.mul %v4, %v4 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v6 = flow.mul %v5, %v5 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v7 = flow.mul %v6, %v6 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v8 = flow.mul %v7, %v7 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v9 = flow.mul %v8, %v8 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v10 = flow.mul %v9, %v9 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v11 = flow.mul %v10, %v10 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v12 = flow.mul %v11, %v11 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v13 = flow.mul %v12, %v12 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v14 = flow.mul %v13, %v13 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v15 = flow.mul %v14, %v14 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v16 = flow.mul %v15, %v15 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v17 = flow.mul %v16, %v16 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v18 = flow.mul %v17, %v17 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v19 = flow.mul %v18, %v18 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v20 = flow.mul %v19, %v19 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v21 = flow.mul %v20, %v20 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v22 = flow.mul %v21, %v21 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v23 = flow.mul %v22, %v22 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v24 = flow.mul %v23, %v23 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v25 = flow.mul %v24, %v24 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v26 = flow.mul %v25, %v25 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v27 = flow.mul %v26, %v26 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v28 = flow.mul %v27, %v27 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v29 = flow.mul %v28, %v28 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v30 = flow.mul %v29, %v29 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v31 = flow.mul %v30, %v30 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v32 = flow.mul %v31, %v31 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v33 = flow.mul %v32, %v32 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v34 = flow.mul %v33, %v33 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v35 = flow.mul %v34, %v34 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v36 = flow.mul %v35, %v35 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v37 = flow.mul %v36, %v36 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v38 = flow.mul %v37, %v37 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v39 = flow.mul %v38, %v38 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v40 = flow.mul %v39, %v39 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v41 = flow.mul %v40, %v40 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v42 = flow.mul %v41, %v41 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v43 = flow.mul %v42, %v42 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v44 = flow.mul %v43, %v43 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v45 = flow.mul %v44, %v44 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v46 = flow.mul %v45, %v45 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v47 = flow.mul %v46, %v46 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v48 = flow.mul %v47, %v47 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v49 = flow.mul %v48, %v48 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v50 = flow.mul %v49, %v49 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v51 = flow.mul %v50, %v50 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v52 = flow.mul %v51, %v51 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v53 = flow.mul %v52, %v52 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v54 = flow.mul %v53, %v53 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v55 = flow.mul %v54, %v54 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v56 = flow.mul %v55, %v55 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v57 = flow.mul %v56, %v56 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v58 = flow.mul %v57, %v57 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v59 = flow.mul %v58, %v58 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %v60 = flow.mul %v59, %v59 : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %w = flow.add %v60, %x : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  %y = flow.neg %w[one] : <one, f64, device> -> <edge, f64, device>
  return %y : !flow.rows<edge, f64, device>
}
