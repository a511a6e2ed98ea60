"""Alignments of labels to steps: the loss of CTC for dense labels, by forward-backward sums.

The states of a row with n labels are a start, its n labels, and n + 1 blanks: before each label and
after the last. All probabilities are logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stillflow import nest
from stillflow.functional.defun import Defun
from stillflow.functional.functional_ops import While
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import fill, ones, zeros, zeros_like
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.inplace import empty_op, inplace_add_op, inplace_update_op
from stillflow.ops.arrays.masks import sequence_mask
from stillflow.ops.arrays.one_hot import one_hot
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.scatter import scatter_nd
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, reshape, squeeze
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.constants import constant
from stillflow.ops.linalg.diagonal import eye
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_logsumexp, reduce_sum
from stillflow.ops.math.unary import exp, log
from stillflow.ops.nn.softmax import log_softmax


def size(tensor: Any, axis: int) -> Any:
    """Return a dimension, as a number where it is known."""
    return dimension_value(tensor.shape[axis]) or shape_of(tensor)[axis]


def loss_and_gradient(
    logits: Any, labels: Any, label_length: Any, logit_length: Any, unique: Any = None
) -> tuple[Any, Any]:
    """Return the losses [batch], and their gradient by the logits, [time, batch, classes].

    The first class is the blank. Labels are int [batch, labels]; lengths are int [batch]. `unique`
    is the result of `ctc_unique_labels` for the labels, or None.
    """
    classes, longest = size(logits, 2), size(labels, 1)
    given = log_softmax(logits)
    observed, moves = _of_states(labels, classes, given), transitions(labels)
    start, end = ends(label_length, longest)
    aligned, likelihood = forward_backward(log(moves), start, end, observed, logit_length)
    by_class = of_classes if not unique else partial(of_classes_by_unique_labels, unique=unique)
    expected = by_class(labels, classes, aligned)
    gradient = exp(given) - exp(expected)
    return -likelihood, gradient


def transitions(labels: Any) -> Tensor:
    """1 where one state may follow another, else 0: [batch, states, states]."""
    with name_scope("ctc_state_trans"):
        labels = convert_to_tensor(labels, name="label_seq")
        batch, of_labels = size(labels, 0), size(labels, 1) + 1  # with the start
        states = 2 * of_labels
        label = range_(of_labels)
        always = _by_blanks(label, label + of_labels, states)
        direct = _between_labels(labels, label, [batch, states, states])
        return expand_dims(always, 0) + direct


def _by_blanks(label: Any, blank: Any, states: Any) -> Tensor:
    """1 where a state stays, or is followed by a blank or follows one: [states, states]."""
    from_blank = stack([label[1:], blank[:-1]], 1)
    places = concat([[[1, 0]], from_blank, stack([blank, label], 1)], 0)
    allowed = scatter_nd(places, ones([size(places, 0)]), [states, states])
    return allowed + eye(states)


def _between_labels(labels: Any, label: Any, shape: list[Any]) -> Tensor:
    """1 where a label follows another one, which differs: [batch, states, states]."""
    places = stack([zeros_like(label[2:]), label[2:], label[1:-1]], 1)
    places = tile(expand_dims(places, 0), [shape[0], 1, 1])
    rows = expand_dims(range_(shape[0]), 1) * [1, 0, 0]
    places += expand_dims(rows, 1)
    is_same = cast(equal(labels[:, :-1], labels[:, 1:]), dtypes.float32)
    return scatter_nd(places, 1.0 - is_same, shape)


def ends(lengths: Any, longest: Any) -> tuple[Any, Any]:
    """Return the states in which alignments begin and end: two of [batch, states]."""
    batch = size(lengths, 0)
    of_labels = longest + 1
    states = 2 * of_labels
    never = cast(log(cast(0, dtypes.float64) + 1e-307), dtypes.float32)
    start = one_hot(
        zeros([batch], dtypes.int32), depth=states, on_value=0.0, off_value=never, axis=1
    )
    last = one_hot(lengths, depth=of_labels, axis=0)
    mask = ones([2, 1, batch]) * last
    end = reshape((1.0 - mask) * never, [states, batch])
    return start, transpose(end)


def _of_states(labels: Any, classes: Any, class_probs: Any) -> Tensor:
    """Return the observations of states from those of classes: [time, batch, states]."""
    count = size(labels, 1)
    blank = tile(class_probs[:, :, :1], [1, 1, count + 1])
    chosen = expand_dims(one_hot(labels, depth=classes), axis=0)
    of_labels = reduce_sum(expand_dims(class_probs, axis=2) * chosen, axis=3)
    probs = concat([of_labels, blank], axis=2)
    return pad(probs, [[0, 0], [0, 0], [1, 0]], constant_values=log(0.0))


def of_classes(labels: Any, classes: Any, states: Any) -> Tensor:
    """Return the sums over the states of each class: [time, batch, classes]."""
    of_labels = size(labels, 1) + 1
    label_states, blank_states = states[:, :, 1:of_labels], states[:, :, of_labels:]
    chosen = one_hot(labels - 1, depth=classes - 1, on_value=0.0, off_value=log(0.0))
    chosen = expand_dims(chosen, axis=0)
    sums = reduce_logsumexp(expand_dims(label_states, axis=3) + chosen, axis=2)
    blanks = reduce_logsumexp(blank_states, axis=2, keepdims=True)
    return concat([blanks, sums], axis=-1)


def of_classes_by_unique_labels(labels: Any, classes: Any, states: Any, unique: Any) -> Tensor:
    """`of_classes` that adds up the states of equal labels of a row first."""
    of_labels = size(labels, 1) + 1
    label_states, blank_states = states[:, :, 1:of_labels], states[:, :, of_labels:]
    values, positions = unique
    sums = sum_of_equal(positions, label_states)
    steps, batch, count = states.shape[0], states.shape[1], of_labels - 1
    by_row = reshape(transpose(sums, perm=[1, 2, 0]), [batch * count, steps])
    offsets = range_(batch, dtype=values.dtype) * classes
    indices = reshape(values + expand_dims(offsets, axis=-1), [-1, 1])
    spread = scatter_nd(indices, by_row, shape=[batch * classes, steps])
    spread = reshape(spread, [batch, classes, steps])
    empty = equal(spread, 0.0)
    spread = where(empty, fill(shape_of(spread), log(0.0)), spread)
    of_label = transpose(spread, [2, 0, 1])[:, :, 1:]
    blanks = reduce_logsumexp(blank_states, axis=2, keepdims=True)
    return concat([blanks, of_label], axis=-1)


def sum_of_equal(positions: Any, states: Any) -> Tensor:
    """Add up the states of a row that have the same position: [time, batch, labels]."""
    with name_scope("sum_states"):
        places = convert_to_tensor(positions, name="idx")
        count, each = size(states, 2), expand_dims(states, axis=2)
        is_at = one_hot(places, count, 0.0, log(0.0), axis=1)
        return reduce_logsumexp(each + is_at, -1)


def forward_backward(
    moves: Any, start: Any, end: Any, observed: Any, lengths: Any
) -> tuple[Any, Any]:
    """Return the probability of each state at each step, and of the labels.

    `moves` are [states, states], or [batch, states, states], of known rank; `start` and `end`
    [batch, states]; `observed` [time, batch, states], as the first result; the second is [batch].
    """
    orders = {2: [1, 0], 3: [0, 2, 1]}
    rank = moves.shape.ndims
    if rank not in orders:
        raise ValueError(f"state_trans_log_probs rank must be known and == 2 or 3, is: {rank}")
    moves_back = transpose(moves, orders[rank])
    batch = size(observed, 1)

    def step(probs: Any, through: Any) -> Tensor:
        return reduce_logsumexp(expand_dims(probs, axis=1) + through, axis=-1)

    def forward(probs: Any, seen: Any) -> Any:
        probs = step(probs, moves) + seen
        return probs - reduce_logsumexp(probs, axis=-1, keepdims=True)

    def backward(sums: Any, elements: Any) -> Any:
        (probs, total), (seen, within) = sums, elements
        probs = step(probs + seen, moves_back)
        lost = reduce_logsumexp(probs, axis=-1, keepdims=True)
        probs -= lost
        total += squeeze(lost) * within
        mask = expand_dims(within, axis=1)
        out = probs * mask
        out += end * (1.0 - mask)
        return out, total

    before = scan(forward, observed, start, inclusive=True)
    nothing = zeros([batch])
    within = sequence_mask(lengths, size(observed, 0), dtypes.float32)
    within = transpose(within, perm=[1, 0])
    after, totals = scan(backward, (observed, within), (end, nothing), reverse=True, inclusive=True)
    probs = before[1:] + after[1:]
    probs -= reduce_logsumexp(probs, axis=2, keepdims=True)
    probs += log(expand_dims(within, axis=2))
    return probs, after[0, :, 0] + totals[0]


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initial: Any,
    reverse: bool = False,
    inclusive: bool = False,
    final_only: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """`tf.scan` by a `While` operation, which cannot be differentiated.

    `fn` takes the sums so far and the rows of one step of `elems`, [steps, ...]; both are one or a
    structure. Results have the first sums, too, if `inclusive`, or the last alone.
    """
    flat = [convert_to_tensor(x) for x in nest.flatten(elems)]
    count = shape_of(flat[0])[0]
    first = [convert_to_tensor(x) for x in nest.flatten(initial)]
    held = 0 if final_only else len(first)

    # Names of functions and arguments, and descriptions, stand in the graph's library.
    def cond(i: Any, num_elems: Any, *args: Any) -> Any:
        del args
        return i >= 0 if reverse else i < num_elems

    def body(i: Any, num_elems: Any, *args: Any) -> list[Any]:
        i.set_shape([])
        outputs, sums = args[:held], nest.pack_sequence_as(initial, args[held:])
        rows = nest.pack_sequence_as(elems, [gather(x, i) for x in flat])
        found = nest.flatten(fn(sums, rows))
        if outputs:
            at = i + 1 if inclusive and not reverse else i
            outputs = tuple(_set_row(x, at, y) for x, y in zip(outputs, found, strict=True))
        return [i - 1 if reverse else i + 1, num_elems, *outputs, *found]

    body.__doc__ = "Loop body."
    begin = shape_of(flat[0])[0] - 1 if reverse else constant(0, dtype=dtypes.int32)
    outputs = []
    if not final_only:
        rows = shape_of(flat[0])[0] + (1 if inclusive else 0)
        for value in first:
            shape = concat([[rows], shape_of(value)], 0)
            output = empty_op(shape, dtype=value.dtype, init=True)
            if inclusive:
                row = begin + (1 if reverse else 0)
                output = inplace_add_op(output, reshape(row, [1]), expand_dims(value, 0))
            outputs.append(output)
    given = [begin, count, *outputs, *first]
    results = _loop(given, cond, body)
    return nest.pack_sequence_as(initial, results[2 : len(first) + 2])


def _loop(given: list[Any], cond: Any, body: Any) -> list[Any]:
    """Apply `body` to values while `cond` is True."""
    if executing_eagerly():
        while cond(*given):
            given = body(*given)
        return given
    on_host = [i for i, x in enumerate(given) if x.dtype.base_dtype in (dtypes.int32, dtypes.int64)]
    types = [x.dtype for x in given]
    return While(given, Defun(*types)(cond), Defun(*types)(body), hostmem=on_host)


def _set_row(x: Any, row: Any, value: Any) -> Tensor:
    return inplace_update_op(x, reshape(row, [1]), expand_dims(value, 0))
