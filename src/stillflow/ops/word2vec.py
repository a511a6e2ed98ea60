"""Skipgram and NegTrain, which graphs before version 19 trained word vectors with.

Such graphs can be inspected; running these two ops raises an error.
"""

from __future__ import annotations

from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import OutputDims

skipgram_op = op(
    """
    Skipgram() -> (vocab_word: string, vocab_freq: int32, words_per_epoch: int64,
                   current_epoch: int32, total_words_processed: int64, examples: int32,
                   labels: int32)
    filename: string
    batch_size: int
    window_size: int = 5
    min_count: int = 5
    subsample: float = 0.001
    flags: stateful
""",
    effect="reads files",
    differentiable=False,
)

neg_train_op = op(
    """
    NegTrain(w_in: &float, w_out: &float, examples: int32, labels: int32, lr: float)
    vocab_count: list(int)
    num_negative_samples: int
    flags: stateful
""",
    writes=(0, 1),
    differentiable=False,
)


@skipgram_op.shape
def skipgram_shape(node: Node) -> OutputDims:
    return [None] * 7


@neg_train_op.shape
def neg_train_shape(node: Node) -> OutputDims:
    return []
