// Fusion groups as ops: which loop computes what, with everything that code generation needs on the op's face.

def Flow_GroupOps : OpDocGroup {
  let summary = "Group";
  let description = [{
    The last pass on flow, `flow-form-groups`, turns the ops of a function into loops. Everything that code generation
    needs to know about a loop is part of its `flow.group`: code is generated from one group at a time.
  }];
}

let opDocGroup = Flow_GroupOps in {

def Flow_GroupOp : Flow_Op<"group", [IsolatedFromAbove, SingleBlock]> {
  let summary = "One loop: ops whose values stay in registers, with what the loop reads and writes on its face.";
  let description = [{
    A group is written `flow.group LOOP DOMAIN PHASE (inputs) : types { ops }`. `DOMAIN` is the finest domain that the
    loop walks, `PHASE` says when it runs. With `beside` after the phase, the group may share a launch of a GPU with the
    group before it. The loop is one of

    - `flat`: walks the rows of one domain. Sums over a type, or over everything, may end it.
    - `by_dst`: walks nodes, their destination pairs, and the edges of those; `by_src` is the same by source. These are
      the loop's levels. The body is a list of `flow.sweep`: each walks all rows below an outer row once.
    - `gemm`: walks the rows of one domain for one or several products (`flow.linear`, `flow.weight_grad`), with
      row-wise work before and after them. Sums of rows to their type may end it as well.

    An op inside works at the level of its result; a reduction walks the level of its operand. Inputs may be read
    through any map. A value of the loop itself is at hand only in its own row and, in a traversal, at the levels below
    its own.
    - (C1) inputs and the arguments of the body have the same types, and so have results and what the body yields.
    - (C2) the body of a traversal holds sweeps and constants, that of another loop ops and constants.
    - (C3) `DOMAIN` is a level of the loop, and every op walks one, none finer than `DOMAIN`.
    - (C4) a value of the loop is read through `self` or, in a traversal, through a map to one of its levels.
    - (C5) a traversal reduces along its levels. Other loops reduce only at their end: nothing in them reads the sum.
    - (C6) a `gemm` has a product, other loops have none; the weights of a `flow.linear` are inputs.
    - (C7) there are as many orders as results. Edges can be stored in each order, pairs by type or by the node on their
      side, and other tables have none.

    Rows of edges and pairs are stored in an order: by type, by destination or by source. A loop writes them in the
    order in which it visits them (`flat` and `gemm` go by type), unless `in (…)` after the types says otherwise.
    Whoever reads them row after row in another order reads through a permutation.
    ```mlir
    %y = flow.group by_dst edge forward (%a = %score) : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
      %t = flow.sweep -> !flow.rows<node, f32, device> {
        %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
        %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
        flow.yield %1 : !flow.rows<node, f32, device>
      }
      flow.yield %t : !flow.rows<node, f32, device>
    }
    ```
  }];
  let arguments = (ins Variadic<Flow_Rows>:$inputs, Flow_LoopAttr:$loop, Flow_DomainAttr:$domain, Flow_PhaseAttr:$phase,
                       OptionalAttr<ArrayAttr>:$orders, UnitAttr:$beside);
  let results = (outs Variadic<Flow_Rows>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The order in which the rows of a result are stored.
    ::hector::flow::Order getOrder(unsigned result);
    bool isTraversal() { return ::hector::flow::isTraversal(getLoop()); }
    /// The coarsest domain at which the loop has a value of its own: one unit of the loop is a row of it.
    ::hector::flow::Domain getOuterDomain();
  }];
}

def Flow_SweepOp : Flow_Op<"sweep", [SingleBlock, NoRegionArguments, ParentOneOf<["GroupOp"]>]> {
  let summary = "One walk over the rows below each outer row of a traversal.";
  let description = [{
    A sweep visits the edges of a row in order, with the pairs around them. What it collects at a level is complete when
    the last row below has been visited: ops at that level and above may read it in the same sweep, ops below it only in
    a later one. The results are what later sweeps or other groups read. One at the walked level is scratch: as many rows
    as the outer row has edges.
    - (C1) results and what the body yields have the same types.
    - (C2) no op reads from below what the same sweep collects.
    - (C3) a sweep yields values that it computes.
    ```mlir
    %e, %s = flow.sweep -> !flow.rows<edge, f32, device>, !flow.rows<node, f32, device> {
      %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
      %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
      flow.yield %0, %1 : !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
    }
    ```
  }];
  let results = (outs Variadic<Flow_Rows>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` type($results)^)? attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Flow_FoldOp : Flow_Op<"fold", [IsolatedFromAbove]> {
  let summary = "Collects rows along a map with its own accumulators: a tuple that is stepped, joined and finished.";
  let description = [{
    Where `flow.reduce` has one of four known accumulators, a fold writes out its own. For each row `j` of the result,
    accumulators start at `init`; `step` takes the accumulators and the inputs of a row `i` with `via(i) = j`, in
    the order of `flow.reduce`; `finish` turns accumulators into the results. A row may be cut anywhere: each part
    starts at `init`, and `join` takes the accumulators of two neighbouring parts, the earlier first. All
    regions work on rows of the result's domain.
    - (C1) `via` leads from the inputs' domain to the results', and is not `self`.
    - (C2) `init` yields the accumulators, at least one; `step` takes them and the inputs, `join` takes them twice, and both yield them.
    - (C3) `finish` takes the accumulators and yields the results.
    - (C4) regions hold constants and dense ops whose result does not depend on which row it is.
  }];
  let arguments = (ins Variadic<Flow_Rows>:$inputs, Flow_MapAttr:$via);
  let results = (outs Variadic<Flow_Rows>:$results);
  let regions = (region SizedRegion<1>:$init, SizedRegion<1>:$step, SizedRegion<1>:$join, SizedRegion<1>:$finish);
  let assemblyFormat = [{
    $inputs `via` custom<MapKeyword>($via) attr-dict `:` functional-type($inputs, $results)
    `init` $init `step` $step `join` $join `finish` $finish
  }];
  let hasRegionVerifier = 1;
}

def Flow_YieldOp : Flow_Op<"yield", [Terminator, ReturnLike, ParentOneOf<["GroupOp", "SweepOp", "FoldOp"]>]> {
  let summary = "Ends a group, a sweep or a region of a fold, and gives its results.";
  let description = [{
    ```mlir
    flow.yield %y : !flow.rows<node, f32, device>
    ```
  }];
  let arguments = (ins Variadic<Flow_Rows>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

}
