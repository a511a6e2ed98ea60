"""Alignments of labels to steps: the loss of CTC for dense labels, by forward-backward sums.

The states of a row with n labels are a start, its n labels, and n + 1 blanks: before each label and
after the last. All probabilities are logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.functional.defun import Defun
from stillflow.functional.functional_ops import While
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.inplace import empty_op, inplace_add_op, inplace_update_op


def size(tensor: Any, axis: int) -> Any:
    """Return a dimension, as a number where it is known."""
    return dimension_value(tensor.shape[axis]) or tf.shape(tensor)[axis]


def loss_and_gradient(
    logits: Any, labels: Any, label_length: Any, logit_length: Any, unique: Any = None
) -> tuple[Any, Any]:
    """Return the losses [batch], and their gradient by the logits, [time, batch, classes].

    The first class is the blank. Labels are int [batch, labels]; lengths are int [batch]. `unique`
    is the result of `ctc_unique_labels` for the labels, or None.
    """
    classes, longest = size(logits, 2), size(labels, 1)
    given = tf.nn.log_softmax(logits)
    observed, moves = _of_states(labels, classes, given), transitions(labels)
    start, end = ends(label_length, longest)
    aligned, likelihood = forward_backward(tf.log(moves), start, end, observed, logit_length)
    by_class = of_classes if not unique else partial(of_classes_by_unique_labels, unique=unique)
    expected = by_class(labels, classes, aligned)
    gradient = tf.exp(given) - tf.exp(expected)
    return -likelihood, gradient


def transitions(labels: Any) -> Tensor:
    """1 where one state may follow another, else 0: [batch, states, states]."""
    with tf.name_scope("ctc_state_trans"):
        labels = tf.convert_to_tensor(labels, name="label_seq")
        batch, of_labels = size(labels, 0), size(labels, 1) + 1  # with the start
        states = 2 * of_labels
        label = tf.range(of_labels)
        always = _by_blanks(label, label + of_labels, states)
        direct = _between_labels(labels, label, [batch, states, states])
        return tf.expand_dims(always, 0) + direct


def _by_blanks(label: Any, blank: Any, states: Any) -> Tensor:
    """1 where a state stays, or is followed by a blank or follows one: [states, states]."""
    from_blank = tf.stack([label[1:], blank[:-1]], 1)
    places = tf.concat([[[1, 0]], from_blank, tf.stack([blank, label], 1)], 0)
    allowed = tf.scatter_nd(places, tf.ones([size(places, 0)]), [states, states])
    return allowed + tf.eye(states)


def _between_labels(labels: Any, label: Any, shape: list[Any]) -> Tensor:
    """1 where a label follows another one, which differs: [batch, states, states]."""
    places = tf.stack([tf.zeros_like(label[2:]), label[2:], label[1:-1]], 1)
    places = tf.tile(tf.expand_dims(places, 0), [shape[0], 1, 1])
    rows = tf.expand_dims(tf.range(shape[0]), 1) * [1, 0, 0]
    places += tf.expand_dims(rows, 1)
    is_same = tf.cast(tf.equal(labels[:, :-1], labels[:, 1:]), tf.float32)
    return tf.scatter_nd(places, 1.0 - is_same, shape)


def ends(lengths: Any, longest: Any) -> tuple[Any, Any]:
    """Return the states in which alignments begin and end: two of [batch, states]."""
    batch = size(lengths, 0)
    of_labels = longest + 1
    states = 2 * of_labels
    never = tf.cast(tf.log(tf.cast(0, tf.float64) + 1e-307), tf.float32)
    start = tf.one_hot(
        tf.zeros([batch], tf.int32), depth=states, on_value=0.0, off_value=never, axis=1
    )
    last = tf.one_hot(lengths, depth=of_labels, axis=0)
    mask = tf.ones([2, 1, batch]) * last
    end = tf.reshape((1.0 - mask) * never, [states, batch])
    return start, tf.transpose(end)


def _of_states(labels: Any, classes: Any, class_probs: Any) -> Tensor:
    """Return the observations of states from those of classes: [time, batch, states]."""
    count = size(labels, 1)
    blank = tf.tile(class_probs[:, :, :1], [1, 1, count + 1])
    chosen = tf.expand_dims(tf.one_hot(labels, depth=classes), axis=0)
    of_labels = tf.reduce_sum(tf.expand_dims(class_probs, axis=2) * chosen, axis=3)
    probs = tf.concat([of_labels, blank], axis=2)
    return tf.pad(probs, [[0, 0], [0, 0], [1, 0]], constant_values=tf.log(0.0))


def of_classes(labels: Any, classes: Any, states: Any) -> Tensor:
    """Return the sums over the states of each class: [time, batch, classes]."""
    of_labels = size(labels, 1) + 1
    label_states, blank_states = states[:, :, 1:of_labels], states[:, :, of_labels:]
    chosen = tf.one_hot(labels - 1, depth=classes - 1, on_value=0.0, off_value=tf.log(0.0))
    chosen = tf.expand_dims(chosen, axis=0)
    sums = tf.reduce_logsumexp(tf.expand_dims(label_states, axis=3) + chosen, axis=2)
    blanks = tf.reduce_logsumexp(blank_states, axis=2, keepdims=True)
    return tf.concat([blanks, sums], axis=-1)


def of_classes_by_unique_labels(labels: Any, classes: Any, states: Any, unique: Any) -> Tensor:
    """`of_classes` that adds up the states of equal labels of a row first."""
    of_labels = size(labels, 1) + 1
    label_states, blank_states = states[:, :, 1:of_labels], states[:, :, of_labels:]
    values, positions = unique
    sums = sum_of_equal(positions, label_states)
    steps, batch, count = states.shape[0], states.shape[1], of_labels - 1
    by_row = tf.reshape(tf.transpose(sums, perm=[1, 2, 0]), [batch * count, steps])
    offsets = tf.range(batch, dtype=values.dtype) * classes
    indices = tf.reshape(values + tf.expand_dims(offsets, axis=-1), [-1, 1])
    spread = tf.scatter_nd(indices, by_row, shape=[batch * classes, steps])
    spread = tf.reshape(spread, [batch, classes, steps])
    empty = tf.equal(spread, 0.0)
    spread = tf.where(empty, tf.fill(tf.shape(spread), tf.log(0.0)), spread)
    of_label = tf.transpose(spread, [2, 0, 1])[:, :, 1:]
    blanks = tf.reduce_logsumexp(blank_states, axis=2, keepdims=True)
    return tf.concat([blanks, of_label], axis=-1)


def sum_of_equal(positions: Any, states: Any) -> Tensor:
    """Add up the states of a row that have the same position: [time, batch, labels]."""
    with tf.name_scope("sum_states"):
        places = tf.convert_to_tensor(positions, name="idx")
        count, each = size(states, 2), tf.expand_dims(states, axis=2)
        is_at = tf.one_hot(places, count, 0.0, tf.log(0.0), axis=1)
        return tf.reduce_logsumexp(each + is_at, -1)


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
    moves_back = tf.transpose(moves, orders[rank])
    batch = size(observed, 1)

    def step(probs: Any, through: Any) -> Tensor:
        return tf.reduce_logsumexp(tf.expand_dims(probs, axis=1) + through, axis=-1)

    def forward(probs: Any, seen: Any) -> Any:
        probs = step(probs, moves) + seen
        return probs - tf.reduce_logsumexp(probs, axis=-1, keepdims=True)

    def backward(sums: Any, elements: Any) -> Any:
        (probs, total), (seen, within) = sums, elements
        probs = step(probs + seen, moves_back)
        lost = tf.reduce_logsumexp(probs, axis=-1, keepdims=True)
        probs -= lost
        total += tf.squeeze(lost) * within
        mask = tf.expand_dims(within, axis=1)
        out = probs * mask
        out += end * (1.0 - mask)
        return out, total

    before = scan(forward, observed, start, inclusive=True)
    nothing = tf.zeros([batch])
    within = tf.sequence_mask(lengths, size(observed, 0), tf.float32)
    within = tf.transpose(within, perm=[1, 0])
    after, totals = scan(backward, (observed, within), (end, nothing), reverse=True, inclusive=True)
    probs = before[1:] + after[1:]
    probs -= tf.reduce_logsumexp(probs, axis=2, keepdims=True)
    probs += tf.log(tf.expand_dims(within, axis=2))
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
    flat = [tf.convert_to_tensor(x) for x in nest.flatten(elems)]
    count = tf.shape(flat[0])[0]
    first = [tf.convert_to_tensor(x) for x in nest.flatten(initial)]
    held = 0 if final_only else len(first)

    # Names of functions and arguments, and descriptions, stand in the graph's library.
    def cond(i: Any, num_elems: Any, *args: Any) -> Any:
        del args
        return i >= 0 if reverse else i < num_elems

    def body(i: Any, num_elems: Any, *args: Any) -> list[Any]:
        i.set_shape([])
        outputs, sums = args[:held], nest.pack_sequence_as(initial, args[held:])
        rows = nest.pack_sequence_as(elems, [tf.gather(x, i) for x in flat])
        found = nest.flatten(fn(sums, rows))
        if outputs:
            at = i + 1 if inclusive and not reverse else i
            outputs = tuple(_set_row(x, at, y) for x, y in zip(outputs, found, strict=True))
        return [i - 1 if reverse else i + 1, num_elems, *outputs, *found]

    body.__doc__ = "Loop body."
    begin = tf.shape(flat[0])[0] - 1 if reverse else tf.constant(0, dtype=tf.int32)
    outputs = []
    if not final_only:
        rows = tf.shape(flat[0])[0] + (1 if inclusive else 0)
        for value in first:
            shape = tf.concat([[rows], tf.shape(value)], 0)
            output = empty_op(shape, dtype=value.dtype, init=True)
            if inclusive:
                row = begin + (1 if reverse else 0)
                output = inplace_add_op(output, tf.reshape(row, [1]), tf.expand_dims(value, 0))
            outputs.append(output)
    given = [begin, count, *outputs, *first]
    results = _loop(given, cond, body)
    return nest.pack_sequence_as(initial, results[2 : len(first) + 2])


def _loop(given: list[Any], cond: Any, body: Any) -> list[Any]:
    """Apply `body` to values while `cond` is True."""
    if tf.executing_eagerly():
        while cond(*given):
            given = body(*given)
        return given
    on_host = [i for i, x in enumerate(given) if x.dtype.base_dtype in (tf.int32, tf.int64)]
    types = [x.dtype for x in given]
    return While(given, Defun(*types)(cond), Defun(*types)(body), hostmem=on_host)


def _set_row(x: Any, row: Any, value: Any) -> Tensor:
    return inplace_update_op(x, tf.reshape(row, [1]), tf.expand_dims(value, 0))
