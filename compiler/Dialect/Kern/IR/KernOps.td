// Kernels, loops and statements.
#ifndef HECTOR_KERN_OPS
#define HECTOR_KERN_OPS

include "compiler/Dialect/Kern/IR/KernBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kern_Op<string mnemonic, list<Trait> traits = []> : Op<Kern_Dialect, mnemonic, traits>;

def Kern_Number : AnyTypeOf<[AnyFloat, I1, Index], "a number">;

def Kern_Row : AnyTypeOf<[AnyFloat, I1, Index, VectorOfRankAndType<[1], [AnyFloat, I1, Index]>], "a row">;

def Kern_Size : TypedSignlessIntegerAttrBase<I64, "int64_t", "a number">;

//===- Kernels ---------------------------------------------------------------------------------------------------===//

def Kern_KernelOps : OpDocGroup {
  let summary = "Kernel";
  let description = "These ops say which loops there are, and in which order they run.";
}

let opDocGroup = Kern_KernelOps in {

def Kern_KernelOp : Kern_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "A loop nest with the tables that it reads and writes.";
  let description = [{
    Arguments are tables: those that the kernel reads, then those that it writes. `LOOP DOMAIN` is the kind of loop and
    the finest domain that it walks, as in `flow.group`.
    - (C1) arguments are tables, of which the first `inputs` are read and the others written.
    - (C2) the body holds constants and totals, and then one `kern.for` or `kern.tile`.
    ```mlir
    kern.kernel @out by_dst edge reads 1 (%s: !flow.rows<src_pair, 64xf32, device>, %out: !flow.rows<node, 64xf32, device>) {
      kern.for node {
        %sum = kern.acc sum : <vector<64xf32>>
        kern.for edge {
          %m = kern.load %s at edge ["edge_src_pair.dst"] : !flow.rows<src_pair, 64xf32, device> -> vector<64xf32>
          kern.step %sum, %m : <vector<64xf32>>, vector<64xf32>
        }
        %row = kern.finish %sum : <vector<64xf32>> -> vector<64xf32>
        kern.store %row, %out at node [] : vector<64xf32>, !flow.rows<node, 64xf32, device>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Flow_LoopAttr:$loop, Flow_DomainAttr:$domain, Kern_Size:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Kern_LaunchOp : Kern_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel on tables, and gives the tables that it writes.";
  let description = [{
    The phase says when: once per graph, once per update of the parameters, or in every step. With `beside`, the kernel
    may share a launch of a GPU with the one before it.
    - (C1) the symbol is a kernel of the module, and operands and results have the types of its arguments.
    - (C2) there is a `#flow.order` for each result: that in which its rows are stored.
    ```mlir
    %out = kern.launch @out(%s) <forward> in [#flow.order<none>]
        : (!flow.rows<src_pair, 64xf32, device>) -> !flow.rows<node, 64xf32, device>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Flow_Rows>:$inputs, Flow_PhaseAttr:$phase, ArrayAttr:$orders,
                       UnitAttr:$beside);
  let results = (outs Variadic<Flow_Rows>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` $phase (`beside` $beside^)? `in` $orders attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}

}

//===- Loops -----------------------------------------------------------------------------------------------------===//

def Kern_LoopOps : OpDocGroup {
  let summary = "Loop";
  let description = "These ops walk rows. Their regions run once per row, or per tile.";
}

let opDocGroup = Kern_LoopOps in {

def Kern_ForOp : Kern_Op<"for", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "Walks rows of a domain: those below the current row, those of the tile, or those that a thread is given.";
  let description = [{
    Below a node are its pairs and edges, on the side that the kernel's loop goes by, and below a pair its edges.
    - (C1) inside another `kern.for`, the rows are below those of that loop; inside a tile, they are the tile's.
    ```mlir
    kern.for node {
      kern.for edge {
      }
    }
    ```
  }];
  let arguments = (ins Flow_DomainAttr:$domain);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Word>($domain) attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Kern_TileOp : Kern_Op<"tile", [SingleBlock, NoTerminator, NoRegionArguments, ParentOneOf<["KernelOp"]>]> {
  let summary = "Walks rows of a domain in tiles: at most `height` rows, all of one type.";
  let description = [{
    With `type`, rows are sorted by that domain, a tile has rows of one type only, and the type is its current row there.
    Without `height`, a tile has all rows of a type that a thread is given.
    - (C1) `type` is `etype` for edges and pairs, `ntype` for nodes, and absent for other domains.
    - (C2) `height` is at least 1.
    - (C3) inside are buffers, loads, products and loops.
  }];
  let arguments = (ins Flow_DomainAttr:$domain, OptionalAttr<Flow_DomainAttr>:$type, OptionalAttr<Kern_Size>:$height);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    custom<Word>($domain) (`of` $type^)? (`height` $height^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

}

//===- Memory ----------------------------------------------------------------------------------------------------===//

def Kern_MemoryOps : OpDocGroup {
  let summary = "Memory";
  let description = "These ops read and write tables and buffers.";
}

let opDocGroup = Kern_MemoryOps in {

class Kern_AccessOp<string mnemonic, list<Trait> traits = []> : Kern_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def Kern_LoadOp : Kern_AccessOp<"load"> {
  let summary = "Reads a row of a table.";
  let description = [{
    - (C1) the table is an argument of the kernel, and one that it reads.
    - (C2) the row has as many numbers as a row of the table.
    - (C3) the level is one that encloses the op, and the names are those of index arrays.
    ```mlir
    %m = kern.load %s at edge ["edge_src_pair.dst"] : !flow.rows<src_pair, 64xf32, device> -> vector<64xf32>
    ```
  }];
  let arguments = (ins Flow_Rows:$table, Flow_DomainAttr:$level, StrArrayAttr:$path);
  let results = (outs Kern_Row:$result);
  let assemblyFormat = "$table `at` custom<Word>($level) $path attr-dict `:` qualified(type($table)) `->` type($result)";
}

def Kern_StoreOp : Kern_AccessOp<"store"> {
  let summary = "Writes a row of a table.";
  let description = [{
    - (C1) the table is an argument of the kernel, and one that it writes.
    - (C2) the row has as many numbers as a row of the table.
    - (C3) the level is one that encloses the op, and the names are those of index arrays.
  }];
  let arguments = (ins Kern_Row:$row, Flow_Rows:$table, Flow_DomainAttr:$level, StrArrayAttr:$path);
  let assemblyFormat = [{
    $row `,` $table `at` custom<Word>($level) $path attr-dict `:` type($row) `,` qualified(type($table))
  }];
}

def Kern_NumberOp : Kern_AccessOp<"number"> {
  let summary = "The number of the current row, or of a row that it leads to.";
  let description = [{
    With `relation`, a pair's number as dropout counts them: relation · nodes + node.
    - (C1) the level is one that encloses the op, and the names are those of index arrays.
  }];
  let arguments = (ins Flow_DomainAttr:$level, StrArrayAttr:$path, OptionalAttr<StrArrayAttr>:$relation);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<Word>($level) $path (`relation` $relation^)? attr-dict";
}

def Kern_BufferOp : Kern_Op<"buffer"> {
  let summary = "Declares a buffer: a row for each row of an inner loop.";
  let description = [{
    The loop's rows are those of the type's domain below the place of the declaration.
    - (C1) it is in a `kern.for` whose rows have these below them, or in a tile of them that has a `height`.
  }];
  let results = (outs Kern_Buffer:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kern_PutOp : Kern_Op<"put"> {
  let summary = "Writes the current row of a buffer.";
  let description = "- (C1) the row has the buffer's type of rows, and a loop over its domain encloses the op.";
  let arguments = (ins Kern_Row:$row, Kern_Buffer:$buffer);
  let assemblyFormat = "$row `,` $buffer attr-dict `:` type($row) `,` type($buffer)";
  let hasVerifier = 1;
}

def Kern_GetOp : Kern_Op<"get"> {
  let summary = "Reads the current row of a buffer.";
  let description = "- (C1) the row has the buffer's type of rows, and a loop over its domain encloses the op.";
  let arguments = (ins Kern_Buffer:$buffer);
  let results = (outs Kern_Row:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

}

//===- Rows ------------------------------------------------------------------------------------------------------===//

def Kern_RowOps : OpDocGroup {
  let summary = "Row";
  let description = "These ops compute rows from rows, in registers.";
}

let opDocGroup = Kern_RowOps in {

def Kern_ConstantOp : Kern_Op<"constant", [Pure, ConstantLike]> {
  let summary = "A number.";
  let arguments = (ins F64Attr:$value);
  let results = (outs Kern_Number:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Kern_MapOp : Kern_Op<"map", [Pure]> {
  let summary = "Computes each number of a row from one number of each operand, and combines them along one more axis.";
  let description = [{
    The result has a number for each point of the axes `sizes`, in row-major order. With `reduced`, there is one more
    axis, along which `combine` sums, averages, or takes the largest or smallest. A map for each operand leads from a
    point to the number that is read there. `parameter` is the slope of `leaky_relu` and the rate of `dropout`, whose
    second operand is the number of the row, and which has a `stream`.
    - (C1) there is a map for each operand, from as many axes as `sizes` and `reduced` have to one offset.
    - (C2) the result has as many numbers as `sizes` have points.
    - (C3) `reduced` has one axis at most, and `combine` is there exactly if it has one.
    - (C4) there are as many operands as the function takes.
    - (C5) `leaky_relu` and `dropout`, and no others, have a `parameter`; `dropout` alone has a `stream`.
    ```mlir
    %y = kern.map mul(%a, %s) [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0 * 16 + d1)>]
        sizes [4, 16] reduced [] : vector<4xf32>, vector<64xf32> -> vector<64xf32>
    ```
  }];
  let arguments = (ins Kern_FnAttr:$fn, Variadic<Kern_Row>:$operands, AffineMapArrayAttr:$maps,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$reduced, OptionalAttr<Flow_ReduceKindAttr>:$combine,
                       OptionalAttr<F64Attr>:$parameter, OptionalAttr<Kern_Size>:$stream);
  let results = (outs Kern_Row:$result);
  let assemblyFormat = [{
    custom<Word>($fn) `(` $operands `)` $maps `sizes` $sizes `reduced` $reduced (`combine` $combine^)?
    (`parameter` $parameter^)? (`stream` $stream^)? attr-dict `:` type($operands) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Kern_ConcatOp : Kern_Op<"concat", [Pure]> {
  let summary = "Puts parts of rows side by side.";
  let description = [{
    Each operand is cut into `repeats` parts of equal length; the result has the first part of each, then the second of
    each, and so on.
    - (C1) `repeats` divides the number of numbers of each operand, and the result has as many as all of them.
  }];
  let arguments = (ins Variadic<Kern_Row>:$operands, Kern_Size:$repeats);
  let results = (outs Kern_Row:$result);
  let assemblyFormat = "$operands `repeats` $repeats attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
}

def Kern_MatchOp : Kern_Op<"match", [Pure]> {
  let summary = "Marks the number along an axis that is nearest to the maximum or minimum along it: the first of them.";
  let description = [{
    The row has `before` times `length` times `after` numbers, `reduced` has `before` times `after`. NaN equals NaN.
    - (C1) the sizes fit.
  }];
  let arguments = (ins Kern_Row:$row, Kern_Row:$reduced, Kern_Size:$before, Kern_Size:$length, Kern_Size:$after);
  let results = (outs Kern_Row:$result);
  let assemblyFormat = [{
    $row `,` $reduced `axis` $before `,` $length `,` $after attr-dict `:` type($row) `,` type($reduced) `->` type($result)
  }];
  let hasVerifier = 1;
}

}

//===- State -----------------------------------------------------------------------------------------------------===//

def Kern_StateOps : OpDocGroup {
  let summary = "State";
  let description = [{
    Accumulators take rows one after the other. Any target may cut the rows anywhere and join the parts in order:
    [kinds and what their steps do](rationale/kern.md#accumulators).
  }];
}

let opDocGroup = Kern_StateOps in {

def Kern_AccOp : Kern_Op<"acc"> {
  let summary = "Declares an accumulator of one row.";
  let description = [{
    `nearest` keeps the number of the row that is nearest to what is looked for, the smallest one if there are several,
    and -1 if there is none: its steps take the row, what is looked for, and the number. A maximum that was rounded when
    it was written, or computed in another order, still finds its row.
    - (C1) the accumulator has one row; that of `nearest` has elements `index`.
  }];
  let arguments = (ins Kern_AccKindAttr:$kind);
  let results = (outs Kern_Acc:$result);
  let assemblyFormat = "custom<Word>($kind) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kern_FoldOp : Kern_Op<"fold", [IsolatedFromAbove]> {
  let summary = "Declares an accumulator of several rows, with its own init, step, join and finish.";
  let description = [{
    - (C1) `init` takes nothing, `step` the accumulators and the operands of a step, `join` the accumulators twice;
      these yield the accumulators. `finish` takes the accumulators.
  }];
  let results = (outs Kern_Acc:$result);
  let regions = (region SizedRegion<1>:$init, SizedRegion<1>:$step, SizedRegion<1>:$join, SizedRegion<1>:$finish);
  let assemblyFormat = "attr-dict `:` type($result) `init` $init `step` $step `join` $join `finish` $finish";
  let hasRegionVerifier = 1;
}

def Kern_YieldOp : Kern_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["FoldOp"]>]> {
  let summary = "Ends a region of a fold.";
  let arguments = (ins Variadic<Kern_Row>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Kern_StepOp : Kern_Op<"step"> {
  let summary = "Has an accumulator take a row.";
  let description = "- (C1) the rows are those that the accumulator's kind takes.";
  let arguments = (ins Kern_Acc:$acc, Variadic<Kern_Row>:$rows);
  let assemblyFormat = "$acc `,` $rows attr-dict `:` type($acc) `,` type($rows)";
  let hasVerifier = 1;
}

def Kern_FinishOp : Kern_Op<"finish"> {
  let summary = "Gives what an accumulator has collected.";
  let description = [{
    Sums of nothing are 0, and so are maxima and minima of nothing. With `init`, a maximum takes part in it as well, and
    is it if there is nothing else; for `nearest`, `init` is the row that comes first, followed by what is looked for.
    - (C1) the accumulator is a `kern.acc` or `kern.fold`, and the results are those that it gives.
    - (C2) `init` is empty; or one row for `max` and `min`, or two for `nearest`, of as many numbers as the result.
  }];
  let arguments = (ins Kern_Acc:$acc, Variadic<Kern_Row>:$init);
  let results = (outs Variadic<Kern_Row>:$results);
  let assemblyFormat = "$acc (`init` $init^ `:` type($init))? attr-dict `:` type($acc) `->` type($results)";
  let hasVerifier = 1;
}

def Kern_TotalOp : Kern_Op<"total", [ParentOneOf<["KernelOp"]>]> {
  let summary = "An accumulator for each row of a coarser domain, which pieces of the loop fill and a join completes.";
  let description = [{
    Steps take the row at `at LEVEL PATH`, from the current row. With `sorted`, the current type of the tile is that row.
    At the end, each row of `table` is what its accumulator has collected.
    - (C1) the table is one that the kernel writes, and its rows have as many numbers as the accumulator's one row.
    - (C2) a sorted total is of the type that the kernel's tiles have.
    - (C3) `init` is empty; or one table for `max` and `min`, or two for `nearest`: tables that the kernel reads, of as
      many numbers to a row.
    - (C4) names of the path are those of index arrays.
  }];
  let arguments = (ins Kern_AccKindAttr:$kind, Flow_Rows:$table, Flow_DomainAttr:$level, StrArrayAttr:$path,
                       Variadic<Flow_Rows>:$init, UnitAttr:$sorted);
  let results = (outs Kern_Acc:$result);
  let assemblyFormat = [{
    custom<Word>($kind) $table `at` custom<Word>($level) $path (`init` $init^ `:` qualified(type($init)))?
    (`sorted` $sorted^)? attr-dict `:` qualified(type($table)) `->` type($result)
  }];
  let hasVerifier = 1;
}

}

//===- Products --------------------------------------------------------------------------------------------------===//

def Kern_ProductOps : OpDocGroup {
  let summary = "Product";
  let description = "These ops multiply all rows of a tile at once.";
}

let opDocGroup = Kern_ProductOps in {

def Kern_ProductOp : Kern_AccessOp<"product", [ParentOneOf<["TileOp"]>]> {
  let summary = "Multiplies the rows of a buffer by a matrix.";
  let description = [{
    A row has `heads` times `inner` numbers, or `inner` if all heads share them (`shared_rows`). The matrix has `heads`
    times `inner` times `outer` (`outer` times `inner` if `transposed`), or one of them for all heads (`shared_weights`).
    With `guarded`, a row of zeros gives zeros, whatever the matrix holds.
    - (C1) the matrix is a row of a table that the kernel reads.
    - (C2) rows, matrix and result have these sizes.
    - (C3) the level is one that encloses the op, and the names are those of index arrays.
  }];
  let arguments = (ins Kern_Buffer:$rows, Flow_Rows:$weights, Flow_DomainAttr:$level, StrArrayAttr:$path,
                       Kern_Buffer:$result, Kern_Size:$heads, Kern_Size:$inner, Kern_Size:$outer, UnitAttr:$transposed,
                       UnitAttr:$guarded, UnitAttr:$shared_rows, UnitAttr:$shared_weights);
  let assemblyFormat = [{
    $rows `,` $weights `at` custom<Word>($level) $path `to` $result attr-dict `:` type($rows) `,`
    qualified(type($weights)) `,` type($result)
  }];
}

def Kern_OuterOp : Kern_Op<"outer", [ParentOneOf<["TileOp"]>]> {
  let summary = "Adds the outer products of the rows of two buffers to a total.";
  let description = [{
    The left row has `heads` times `inner` numbers, the right one `heads` times `outer`, or one part for all heads
    (`shared_left`, `shared_right`). The total has a matrix for each head, or the sum of all (`shared_total`), of `inner`
    times `outer` numbers (`outer` times `inner` if `transposed`).
    A pair of rows of which the right one is all zeros adds nothing, whatever the left one holds.
    - (C1) the rows and the total have these sizes.
    - (C2) the accumulator is a `kern.total`.
  }];
  let arguments = (ins Kern_Buffer:$left, Kern_Buffer:$right, Kern_Acc:$total, Kern_Size:$heads, Kern_Size:$inner,
                       Kern_Size:$outer, UnitAttr:$transposed, UnitAttr:$shared_left, UnitAttr:$shared_right,
                       UnitAttr:$shared_total);
  let assemblyFormat = [{
    $left `,` $right `into` $total attr-dict `:` type($left) `,` type($right) `,` type($total)
  }];
  let hasVerifier = 1;
}

}

#endif
