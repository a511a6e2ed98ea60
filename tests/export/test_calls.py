"""Operations without samples in small graphs, as modules of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.export.calls import Cases, floats

import stillflow as tf

pytestmark = pytest.mark.filterwarnings("ignore")
raw: Any = tf.raw_ops
case = Cases("exported_calls.txt")
_POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


# ---- layers


def _pooled(fed: Any) -> tuple[Any, Any]:
    image = fed(floats(2, 4, 4, 3))
    return image, tf.nn.max_pool(image, **_POOL)


@case("MaxPoolGradV2", "MaxPoolGradGrad", "MaxPoolGradGradV2")
def max_pool_gradients(fed: Any) -> Any:
    image, pooled = _pooled(fed)
    small, large = fed(floats(2, 2, 2, 3)), fed(floats(2, 4, 4, 3) + 1)
    rest = {"orig_input": image, "orig_output": pooled}
    sizes = {"ksize": _POOL["ksize"], "strides": _POOL["strides"], "padding": "SAME"}
    return [
        raw.MaxPoolGradV2(grad=small, **rest, **sizes),
        raw.MaxPoolGradGrad(grad=large, **rest, **_POOL),
        raw.MaxPoolGradGradV2(grad=large, **rest, **sizes),
    ]


@case("MaxPoolGradGradWithArgmax")
def max_pool_gradient_with_argmax(fed: Any) -> Any:
    image = fed(floats(2, 4, 4, 3))
    _, places = tf.nn.max_pool_with_argmax(image, **_POOL)
    return raw.MaxPoolGradGradWithArgmax(
        input=image, grad=fed(floats(2, 4, 4, 3) + 1), argmax=places, **_POOL
    )


@case("BlockLSTMV2", "BlockLSTMGradV2")
def lstm_blocks(fed: Any) -> Any:
    shapes = {"x": (3, 2, 4), "cs_prev": (2, 5), "h_prev": (2, 5), "w": (9, 20), "b": (20,)}
    given = {name: fed(floats(*shape)) for name, shape in shapes.items()}
    given.update({name: tf.zeros([5]) for name in ("wci", "wcf", "wco")})
    given["seq_len_max"] = fed(np.int64(3))
    made = raw.BlockLSTMV2(**given)
    parts = {name: getattr(made, name) for name in ("i", "cs", "f", "o", "ci", "co", "h")}
    grads = {name: fed(floats(3, 2, 5) + place) for place, name in enumerate(("cs_grad", "h_grad"))}
    back = raw.BlockLSTMGradV2(**given, **parts, **grads, use_peephole=False)
    return [made.h, made.cs, back.x_grad, back.w_grad, back.b_grad]


@case(
    "CudnnRNNParamsToCanonical", "CudnnRNNParamsToCanonicalV2", "CudnnRNNCanonicalToParamsV2",
    "CudnnRNN", "CudnnRNNV2", "CudnnRNNV3",
)  # fmt: skip
def networks_of_cudnn(fed: Any) -> Any:
    sizes = {"num_layers": 1, "num_units": 3, "input_size": 4}
    weights = [fed(floats(3, 4 if place < 4 else 3) + place) for place in range(8)]
    biases = [fed(floats(3) * place) for place in range(8)]
    params = raw.CudnnRNNCanonicalToParamsV2(**sizes, weights=weights, biases=biases)
    counts = {"num_params_weights": 8, "num_params_biases": 8}
    parts = raw.CudnnRNNParamsToCanonicalV2(**sizes, params=params, **counts)
    old = raw.CudnnRNNParamsToCanonical(**sizes, params=params, num_params=8)
    given = {"input": fed(floats(5, 2, 4)), "params": params}
    given.update({name: fed(floats(1, 2, 3) + 1) for name in ("input_h", "input_c")})
    lengths = {"sequence_lengths": fed(np.int32([5, 5]))}
    found = [parts[0][1], old[1][2]]
    for version, more in (("", {}), ("V2", {}), ("V3", lengths)):
        made = getattr(raw, f"CudnnRNN{version}")(**given, **more)
        found += [made.output, made.output_h, made.output_c]
    return found


@case("TileGrad", "AdjustContrast", "MatrixExponential", version=1)
def removed_operations(fed: Any) -> Any:
    image = fed(floats(1, 4, 4, 3))
    return [
        raw.TileGrad(input=fed(floats(4, 6)), multiples=[2, 3]),
        raw.AdjustContrast(images=image, contrast_factor=2.0, min_value=-1.0, max_value=1.0),
        raw.MatrixExponential(input=fed(floats(2, 3, 3))),
    ]


# ---- sparse tensors


@case("SparseDenseCwiseAdd", "SparseAddGrad", "SparseSliceGrad", "SparseFillEmptyRowsGrad")
def sparse_operations(fed: Any) -> Any:
    places = fed(np.array([[0, 1], [1, 0], [2, 2]]))
    values, others = fed(floats(3)), fed(np.array([[0, 1], [2, 0]]))
    total = fed(np.array([[0, 1], [1, 0], [2, 0], [2, 2]]))
    grads = raw.SparseAddGrad(
        backprop_val_grad=fed(floats(4)), a_indices=places, b_indices=others, sum_indices=total
    )
    filled = raw.SparseFillEmptyRowsGrad(
        reverse_index_map=fed(np.array([0, 2])), grad_values=fed(floats(3))
    )
    return [
        raw.SparseDenseCwiseAdd(
            sp_indices=places, sp_values=values, sp_shape=fed(np.array([3, 3])),
            dense=fed(floats(3, 3)),
        ),
        *grads, *filled,
        raw.SparseSliceGrad(
            backprop_val_grad=fed(floats(2)), input_indices=places,
            input_start=fed(np.array([1, 0])), output_indices=fed(np.array([[0, 0], [1, 2]])),
        ),
    ]  # fmt: skip


@case("DenseToSparseSetOperation")
def set_operation(fed: Any) -> Any:
    return raw.DenseToSparseSetOperation(
        set1=fed(np.array([[1, 2], [3, 4]])), set2_indices=fed(np.array([[0, 0], [1, 0], [1, 1]])),
        set2_values=fed(np.array([2, 4, 5])), set2_shape=fed(np.array([2, 2])),
        set_operation="union",
    )  # fmt: skip


# ---- containers


@case(
    "TensorListScatter", "TensorListScatterV2", "TensorListConcatLists", "TensorListConcat",
    "TensorListStack", "TensorListLength",
)  # fmt: skip
def lists(fed: Any) -> Any:
    rows = fed(floats(3, 2))
    first = raw.TensorListScatter(tensor=rows, indices=[2, 0, 1], element_shape=[2])
    second = raw.TensorListScatterV2(
        tensor=rows, indices=[1, 0, 3], element_shape=[2], num_elements=5
    )
    both = raw.TensorListConcatLists(input_a=first, input_b=second, element_dtype=tf.float32)
    joined = raw.TensorListConcat(input_handle=first, element_dtype=tf.float32)
    return [
        raw.TensorListStack(input_handle=both, element_shape=[2], element_dtype=tf.float32),
        raw.TensorListLength(input_handle=both), *joined,
    ]  # fmt: skip


@case(
    "EmptyTensorList", "TensorListPushBack", "TensorListPopBack", "TensorListFromTensor",
    "TensorListGetItem", "TensorListSetItem", "TensorListGather", "TensorListResize",
    "TensorListReserve", "TensorListScatterIntoExistingList", "TensorListSplit",
    "TensorListConcatV2",
)  # fmt: skip
def lists_that_grow(fed: Any) -> Any:
    rows, kind = fed(floats(3, 2)), {"element_dtype": tf.float32}
    made = raw.EmptyTensorList(element_shape=[2], max_num_elements=9, **kind)
    for place in range(3):
        made = raw.TensorListPushBack(input_handle=made, tensor=rows[place])
    made, last = raw.TensorListPopBack(input_handle=made, element_shape=[2], **kind)
    full = raw.TensorListFromTensor(tensor=rows, element_shape=[2])
    full = raw.TensorListSetItem(input_handle=full, index=1, item=last)
    full = raw.TensorListResize(input_handle=full, size=5)
    blank = raw.TensorListReserve(element_shape=[2], num_elements=3, **kind)
    blank = raw.TensorListScatterIntoExistingList(
        input_handle=blank, tensor=rows[:2], indices=[2, 0]
    )
    cut = raw.TensorListSplit(tensor=rows, element_shape=[-1, 2], lengths=np.int64([1, 2]))

    def stacked(handle: Any) -> Any:
        return raw.TensorListStack(input_handle=handle, element_shape=[2], **kind)

    return [
        *map(stacked, (made, full, blank)), last,
        raw.TensorListGetItem(input_handle=full, index=1, element_shape=[2], **kind),
        raw.TensorListGather(input_handle=full, indices=[2, 0], element_shape=[2], **kind),
        *raw.TensorListConcatV2(
            input_handle=cut, element_shape=[-1, 2], leading_dims=np.int64([]), **kind
        ),
    ]  # fmt: skip


@case("VariableShape", "SparseAdd")
def sizes_and_sums(fed: Any) -> Any:
    variable = tf.get_variable("v", initializer=floats(2, 3), use_resource=True)
    sizes = raw.VariableShape(input=variable.handle)
    places = fed(np.array([[0, 1], [1, 0]]))
    parts = {f"{each}_indices": places for each in "ab"}
    parts.update({f"{each}_values": fed(floats(2) + at) for at, each in enumerate("ab")})
    parts.update({f"{each}_shape": fed(np.array([2, 2])) for each in "ab"})
    return [sizes * 2, *raw.SparseAdd(**parts, thresh=0.0)]


def _arrays(version: str, fed: Any, *others: str) -> Any:
    def op(name: str, **attrs: Any) -> Any:
        return getattr(raw, f"TensorArray{name}{version}")(**attrs)

    def array(size: int) -> Any:
        made = op("", size=size, dtype=tf.float32, tensor_array_name=f"of_{size}")
        return getattr(made, "handle", made)

    rows, first = fed(floats(3, 2)), tf.constant(0.0)
    handle, more, kind = array(3), array(2), {"dtype": tf.float32}
    flow = op("Scatter", handle=handle, indices=[2, 0], value=rows[:2], flow_in=first)
    flow = op("Write", handle=handle, index=1, value=rows[0] * 2.0, flow_in=flow)
    cut = op("Split", handle=more, value=rows, lengths=np.int64([1, 2]), flow_in=first)
    found = [
        op("Read", handle=handle, index=1, flow_in=flow, **kind),
        op("Gather", handle=handle, indices=[2, 0], flow_in=flow, **kind),
        op("Size", handle=handle, flow_in=flow),
        *op("Concat", handle=more, flow_in=cut, **kind),
    ]
    if "Pack" in others:
        third = array(4)
        flow = op("Unpack", handle=third, value=fed(floats(4, 2)), flow_in=first)
        found.append(op("Pack", handle=third, flow_in=flow, **kind))
    return found


_PARTS = ("", "Scatter", "Write", "Split", "Read", "Gather", "Size", "Concat")


@case(*(f"TensorArray{part}" for part in (*_PARTS, "Pack", "Unpack")), version=7)
def arrays_of_the_first_version(fed: Any) -> Any:
    return _arrays("", fed, "Pack")


@case(*(f"TensorArray{part}V2" for part in _PARTS), version=7)
def arrays_of_the_second_version(fed: Any) -> Any:
    return _arrays("V2", fed)


@case(*(f"TensorArray{part}V3" for part in _PARTS))
def arrays_of_the_third_version(fed: Any) -> Any:
    return _arrays("V3", fed)


@case("Stack", "StackPush", "StackPop", version=7)
def old_stacks(fed: Any) -> Any:
    handle = raw.Stack(elem_type=tf.float32)
    pushed = raw.StackPush(handle=handle, elem=fed(floats(3)))
    with tf.control_dependencies([pushed]):
        popped = raw.StackPop(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([popped]):
        done = tf.no_op()
    return [pushed * 2.0, popped + 1.0, done]


@case("StackV2", "StackPushV2", "StackPopV2")
def stacks(fed: Any) -> Any:
    handle = raw.StackV2(max_size=4, elem_type=tf.float32)
    pushed = raw.StackPushV2(handle=handle, elem=fed(floats(3)))
    with tf.control_dependencies([pushed]):
        popped = raw.StackPopV2(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([popped]):
        done = tf.no_op()
    return [pushed * 2.0, popped + 1.0, done]


@case("MutableHashTableV2", "LookupTableInsertV2", "LookupTableExportV2", "LookupTableSizeV2")
def tables_that_change(fed: Any) -> Any:
    table = raw.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32, shared_name="t")
    insert = raw.LookupTableInsertV2(
        table_handle=table, keys=fed(np.array([3, 1])), values=fed(floats(2))
    )
    with tf.control_dependencies([insert]):
        found = raw.LookupTableFindV2(
            table_handle=table, keys=fed(np.array([[1, 7]])), default_value=-1.0
        )
        exported = raw.LookupTableExportV2(table_handle=table, Tkeys=tf.int64, Tvalues=tf.float32)
        size = raw.LookupTableSizeV2(table_handle=table)
    return [found, *exported, size, insert]


@case("MutableHashTable", "LookupTableInsert", "LookupTableExport", "LookupTableSize")
def old_tables_that_change(fed: Any) -> Any:
    table = raw.MutableHashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="old")
    insert = raw.LookupTableInsert(
        table_handle=table, keys=fed(np.array([b"a", b"b"], object)), values=fed(np.array([1, 2]))
    )
    with tf.control_dependencies([insert]):
        found = raw.LookupTableFind(
            table_handle=table, keys=fed(np.array([b"b", b"c"], object)), default_value=np.int64(-1)
        )
        exported = raw.LookupTableExport(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64)
        size = raw.LookupTableSize(table_handle=table)
    return [found, *exported, size, insert]


@case("MutableHashTableOfTensorsV2", "LookupTableRemoveV2")
def tables_of_vectors(fed: Any) -> Any:
    table = raw.MutableHashTableOfTensorsV2(
        key_dtype=tf.int64, value_dtype=tf.float32, value_shape=[2], shared_name="vectors"
    )
    filled = raw.LookupTableInsertV2(
        table_handle=table, keys=fed(np.array([3, 1, 5])), values=fed(floats(3, 2))
    )
    with tf.control_dependencies([filled]):
        removed = raw.LookupTableRemoveV2(table_handle=table, keys=fed(np.array([1])))
    with tf.control_dependencies([removed]):
        found = raw.LookupTableFindV2(
            table_handle=table, keys=fed(np.array([5, 1])), default_value=fed(floats(2))
        )
    return [found, removed]


@case("LookupTableImportV2")
def imported_tables(fed: Any) -> Any:
    table = raw.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="full")
    filled = raw.LookupTableImportV2(
        table_handle=table, keys=fed(np.array([3, 1])), values=fed(np.array([30, 10]))
    )
    with tf.control_dependencies([filled]):
        found = raw.LookupTableFindV2(
            table_handle=table, keys=fed(np.array([1, 7])), default_value=np.int64(0)
        )
    return [found, filled]


@case("HashTable", "LookupTableFind", "InitializeTable", version=7)
def old_tables_of_words(fed: Any) -> Any:
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="words")
    filled = raw.InitializeTable(
        table_handle=table, keys=fed(np.array([b"a", b"b"], object)), values=fed(np.array([1, 2]))
    )
    with tf.control_dependencies([filled]):
        words = fed(np.array([[b"a", b"c"]], object))
        found = raw.LookupTableFind(table_handle=table, keys=words, default_value=np.int64(-1))
    return [found, filled]


@case("HashTableV2", "LookupTableFindV2")
def tables_of_words(fed: Any) -> Any:
    words = fed(np.array([[b"a", b"c"], [b"what", b"b"]], object))
    ids = tf.contrib.lookup.index_table_from_tensor(["a", "b", "c"], default_value=-1)
    names = tf.contrib.lookup.index_to_string_table_from_tensor(["x", "y", "z"], "none")
    found = ids.lookup(words)
    return [found, names.lookup(found)]


# ---- random numbers and others


@case("RandomPoisson", "AllCandidateSampler", "ThreadUnsafeUnigramCandidateSampler", version=7)
def random_numbers(fed: Any) -> Any:
    classes = fed(np.array([[0, 2], [1, 1]]))
    sampler = {"true_classes": classes, "num_true": 2, "seed": 1, "seed2": 2}
    return [
        raw.RandomPoisson(shape=[4], rate=fed(np.float32([1, 5])), seed=3, seed2=4),
        *raw.AllCandidateSampler(**sampler, num_sampled=5, unique=True),
        *raw.ThreadUnsafeUnigramCandidateSampler(
            **sampler, num_sampled=3, unique=False, range_max=6
        ),
    ]


@case("StatefulStandardNormal", version=7)
def random_generators(fed: Any) -> Any:
    start = np.arange(1, 5)
    state = tf.get_variable("state", initializer=start, use_resource=True)
    return raw.StatefulStandardNormal(resource=state.handle, shape=fed(np.array([2, 3])))


@case("TemporaryVariable", "DestroyTemporaryVariable")
def temporary_variables(fed: Any) -> Any:
    made = raw.TemporaryVariable(shape=[3], dtype=tf.float32, var_name="sum")
    total = raw.Assign(ref=made, value=fed(floats(3)))
    total = raw.AssignAdd(ref=total, value=fed(floats(3) * 2))
    return raw.DestroyTemporaryVariable(ref=total, var_name="sum")


@case("DebugGradientIdentity")
def gradient_identity(fed: Any) -> Any:
    return raw.DebugGradientIdentity(input=fed(floats(3)))


@case("RefSelect", "RefIdentity")
def references(fed: Any) -> Any:
    variables = [tf.get_variable(f"v{i}", initializer=floats(i + 1, 2)[:1]) for i in range(2)]
    chosen = raw.RefSelect(index=fed(np.int32(1)), inputs=[v._ref() for v in variables])
    return [tf.identity(chosen), raw.RefIdentity(input=variables[0]._ref()) * 2.0]


# ---- gradients of containers and networks


def _versions_of_gradients(version: str, fed: Any) -> Any:
    rows, first = fed(floats(3, 2)), tf.constant(0.0)

    def op(name: str, **given: Any) -> Any:
        return getattr(raw, f"TensorArray{name}{version}")(**given)

    made = op("", size=3, dtype=tf.float32, tensor_array_name="forward", clear_after_read=False)
    handle = getattr(made, "handle", made)
    flow = op("Scatter", handle=handle, indices=[0, 1, 2], value=rows, flow_in=first)
    with tf.control_dependencies([flow]):
        gradient = op("Grad", handle=handle, source="gradients", flow_in=first)
    back = getattr(gradient, "grad_handle", gradient)
    added = first
    for place, row in ((2, 0), (0, 1), (2, 1)):
        added = op("Write", handle=back, index=place, value=rows[row], flow_in=added)
    added = op("Scatter", handle=back, indices=[0], value=rows[:1], flow_in=added)
    whole = op("Gather", handle=back, indices=[0, 1, 2], dtype=tf.float32, flow_in=added)
    with tf.control_dependencies([whole]):
        closed = [op("Close", handle=back), op("Close", handle=handle)]
    return [whole, *closed]


@case("TensorArrayGrad", "TensorArrayClose", version=7)
def gradients_of_the_first_version(fed: Any) -> Any:
    return _versions_of_gradients("", fed)


@case("TensorArrayGradV2", "TensorArrayCloseV2", version=7)
def gradients_of_the_second_version(fed: Any) -> Any:
    return _versions_of_gradients("V2", fed)


@case("TensorArrayGradV3", "TensorArrayCloseV3")
def gradients_of_the_third_version(fed: Any) -> Any:
    return _versions_of_gradients("V3", fed)


@case("TensorArrayGradWithShape")
def gradients_of_larger_elements(fed: Any) -> Any:
    rows, first = fed(floats(3, 2)), tf.constant(0.0)
    handle = raw.TensorArrayV3(size=2, dtype=tf.float32, tensor_array_name="small").handle
    flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=rows[0], flow_in=first)
    made = raw.TensorArrayGradWithShape(
        handle=handle, flow_in=flow, shape_to_prepend=[3], source="gradients"
    )
    added = raw.TensorArrayWriteV3(
        handle=made.grad_handle, index=0, value=rows, flow_in=made.flow_out
    )
    return [
        raw.TensorArrayReadV3(handle=made.grad_handle, index=place, dtype=tf.float32, flow_in=added)
        for place in range(1)
    ]


@case("TensorArrayGradV3", "StackV2")
def training_of_a_loop(fed: Any) -> Any:
    x, w = fed(floats(2, 5, 3)), tf.get_variable("w", initializer=floats(3, 3))
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    outputs, _ = tf.nn.dynamic_rnn(
        cell, tf.tensordot(x, w, 1), fed(np.array([5, 3])), tf.zeros([2, 3])
    )
    loss = tf.reduce_sum(tf.square(outputs))
    return [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]


@case("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3", "CudnnRNNParamsSize")
def gradients_of_networks_of_cudnn(fed: Any) -> Any:
    sizes = {"num_layers": 1, "num_units": 3, "input_size": 4}
    size = raw.CudnnRNNParamsSize(
        num_layers=fed(np.int32(1)), num_units=3, input_size=4, T=tf.float32, S=tf.int32
    )
    given = {"input": fed(floats(5, 2, 4)), "params": fed(floats(108))}
    given.update({name: fed(floats(1, 2, 3) + 1) for name in ("input_h", "input_c")})
    lengths, found = {"sequence_lengths": fed(np.int32([5, 3]))}, [size]
    for version, more in (("", {}), ("V2", {}), ("V3", lengths)):
        made = getattr(raw, f"CudnnRNN{version}")(**given, **more)
        loss = tf.reduce_sum(tf.square(made.output)) + tf.reduce_sum(made.output_c)
        found += tf.gradients(loss, list(given.values()))
    assert sizes
    return found


@case("StackV2", "StackPushV2", "StackCloseV2")
def closed_stacks(fed: Any) -> Any:
    handle = raw.StackV2(max_size=4, elem_type=tf.float32)
    pushed = raw.StackPushV2(handle=handle, elem=fed(floats(3)))
    with tf.control_dependencies([pushed]):
        return [pushed * 2.0, raw.StackCloseV2(handle=handle)]


@case("Stack", "StackPush", "StackClose", version=7)
def closed_stacks_of_the_first_version(fed: Any) -> Any:
    handle = raw.Stack(elem_type=tf.float32)
    pushed = raw.StackPush(handle=handle, elem=fed(floats(3)))
    with tf.control_dependencies([pushed]):
        return [pushed * 2.0, raw.StackClose(handle=handle)]


@case("TensorListElementShape", "TensorListPushBackBatch")
def batches_of_lists(fed: Any) -> Any:
    rows, kind = fed(floats(2, 3)), {"element_dtype": tf.float32}
    lists = [raw.EmptyTensorList(element_shape=[3], max_num_elements=5, **kind) for _ in range(2)]
    pushed = raw.TensorListPushBackBatch(input_handles=tf.stack(lists), tensor=rows)
    shape = raw.TensorListElementShape(input_handle=lists[0], shape_type=tf.int64)
    return [shape * 2, *[
        raw.TensorListStack(input_handle=pushed[place], element_shape=[3], **kind)
        for place in range(2)
    ]]  # fmt: skip


@case("OptionalFromValue", "OptionalGetValue", "OptionalHasValue", "OptionalNone")
def optional_values(fed: Any) -> Any:
    some = raw.OptionalFromValue(components=[fed(floats(3)), fed(np.array([b"a"], object))])
    got = raw.OptionalGetValue(
        optional=some, output_types=[tf.float32, tf.string], output_shapes=[[3], [1]]
    )
    return [*got, *[raw.OptionalHasValue(optional=each) for each in (some, raw.OptionalNone())]]


@case("RaggedTensorToVariant", "RaggedTensorFromVariant")
def ragged_tensors_as_variants(fed: Any) -> Any:
    splits, values = [fed(np.array([0, 2, 3])), fed(np.array([0, 1, 3, 5]))], fed(floats(5))
    found = []
    for batched in (False, True):
        made = raw.RaggedTensorToVariant(
            rt_nested_splits=splits, rt_dense_values=values, batched_input=batched
        )
        back = raw.RaggedTensorFromVariant(
            encoded_ragged=made,
            input_ragged_rank=1 if batched else 2,
            output_ragged_rank=2,
            Tvalues=tf.float32,
            Tsplits=tf.int64,
        )
        found += [*back.output_nested_splits, back.output_dense_values]
    return found


# ---- checks and prints


@case("Assert", "Print", "PrintV2", "ControlTrigger")
def checks_and_prints(fed: Any) -> Any:
    x = fed(floats(3))
    check = raw.Assert(condition=tf.reduce_all(x < 9), data=[x], summarize=2)
    with tf.control_dependencies([check]):
        shown = raw.Print(input=x, data=[x, "text"], message="x is ", first_n=1, summarize=2)
    said = raw.PrintV2(input=tf.as_string(shown[0]), output_stream="stdout")
    with tf.control_dependencies([said]):
        return [shown * 2.0, raw.ControlTrigger()]


@case("Timestamp")
def timestamps(fed: Any) -> Any:
    return [tf.floor(raw.Timestamp() * 1e-7), fed(floats(1)) * 2]


@case("DebugIdentity", "DebugNanCount", "DebugNumericSummary", "DebugGradientRefIdentity")
def debuggers(fed: Any) -> Any:
    x = fed(np.float32([1, np.nan, -np.inf]))
    variable = tf.get_variable("v", initializer=floats(2))
    given = {"input": x, "tensor_name": "a:0", "debug_urls": []}
    return [
        raw.DebugIdentity(**given), raw.DebugNanCount(**given), raw.DebugNumericSummary(**given),
        raw.DebugGradientRefIdentity(input=variable._ref()) * 2.0,
    ]  # fmt: skip


@case("FixedUnigramCandidateSampler")
def sampler_of_given_frequencies(fed: Any) -> Any:
    return list(raw.FixedUnigramCandidateSampler(
        true_classes=fed(np.array([[0, 2], [1, 1]])), num_true=2, num_sampled=3, unique=True,
        range_max=4, unigrams=[1.0, 2.0, 3.0, 4.0], seed=1, seed2=2,
    ))  # fmt: skip


# ---- messages


@case("AudioSummary", version=7)
def old_summaries_of_sounds(fed: Any) -> Any:
    return raw.AudioSummary(tag="sound", tensor=fed(floats(2, 8) / 9), sample_rate=8000.0)


@case("DeserializeSparse", "SerializeSparse")
def sparse_tensors_as_strings(fed: Any) -> Any:
    parts = {
        "sparse_indices": fed(np.array([[0, 1], [2, 0]])), "sparse_values": fed(floats(2)),
        "sparse_shape": fed(np.array([3, 2])),
    }  # fmt: skip
    made = raw.SerializeSparse(**parts)
    both = raw.DeserializeSparse(serialized_sparse=tf.stack([made, made]), dtype=tf.float32)
    return [made, *both]


@case("DecodeCSV")
def lines_of_fields(fed: Any) -> Any:
    plain, quoted = [b"1.5,2,a", b",,"], [b'2,3,"b,""c"', b"1e3,-4,"]
    defaults = [[0.5], np.int64([7]), ["none"]]
    return [
        field for lines in (plain, quoted)
        for field in tf.io.decode_csv(fed(np.array(lines, object)), defaults)
    ]  # fmt: skip


@case("ParseExample")
def examples_of_several_features(fed: Any) -> Any:
    examples = []
    for place in range(3):
        example = tf.train.Example()
        example.features.feature["size"].int64_list.value.append(place)
        example.features.feature["x"].float_list.value.extend([place, 0.5])
        if place:
            example.features.feature["tags"].bytes_list.value.extend([b"t"] * place)
        examples.append(example.SerializeToString())
    parsed = tf.io.parse_example(fed(np.array(examples, object)), {
        "size": tf.FixedLenFeature([], tf.int64), "x": tf.FixedLenFeature([2], tf.float32),
        "tags": tf.VarLenFeature(tf.string),
        "more": tf.FixedLenFeature([1], tf.string, default_value="none"),
    })  # fmt: skip
    tags = parsed["tags"]
    dense = [parsed[name] for name in ("size", "x", "more")]
    return [*dense, tags.indices, tags.values, tags.dense_shape]


@case("ParseSequenceExample")
def examples_of_sequences(fed: Any) -> Any:
    examples = []
    for count in (2, 3):
        example = tf.train.SequenceExample()
        example.context.feature["size"].int64_list.value.append(count)
        for step in range(count):
            listed = example.feature_lists.feature_list
            listed["x"].feature.add().float_list.value.extend([step, 0.5])
            listed["tags"].feature.add().bytes_list.value.extend([b"t"] * step)
        examples.append(example.SerializeToString())
    context, lists, lengths = tf.io.parse_sequence_example(
        fed(np.array(examples, object)),
        {"size": tf.FixedLenFeature([], tf.int64)},
        {"x": tf.FixedLenSequenceFeature([2], tf.float32), "tags": tf.VarLenFeature(tf.string)},
    )
    tags = lists["tags"]
    return [context["size"], lists["x"], lengths["x"], tags.indices, tags.values, tags.dense_shape]


@pytest.mark.parametrize("names", case.cases)
def test_operations_go_out(names: str) -> None:
    case.check(names)


def test_the_list_names_these_operations() -> None:
    case.check_list()
