"""Graphs rewritten for training with rounding, and for evaluation after it."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow_contrib.quantize.fused_folding import fold_fused
from stillflow_contrib.quantize.insertion import Insertion, insert_rounding
from stillflow_contrib.quantize.unfused_folding import fold_unfused

_DENSE = (
    "Adagrad", "AdagradDA", "Adam", "AddSign", "CenteredRMSProp", "Ftrl", "FtrlV2",
    "GradientDescent", "Momentum", "PowerSign", "ProximalAdagrad", "ProximalGradientDescent",
    "RMSProp",
)  # fmt: skip
_SPARSE = (
    "Adadelta", "Adagrad", "AdagradDA", "CenteredRMSProp", "Ftrl", "FtrlV2", "Momentum",
    "ProximalAdagrad", "ProximalGradientDescent", "RMSProp",
)  # fmt: skip
_TRAINING_OPS = frozenset(
    [f"{kind}Apply{rule}" for kind in ("", "Resource") for rule in _DENSE]
    + [f"{kind}SparseApply{rule}" for kind in ("", "Resource") for rule in _SPARSE]
    + ["ResourceApplyAdadelta"]
)


@export("contrib.quantize.create_training_graph")
def create_training_graph(input_graph: Graph | None = None, quant_delay: int | None = 0) -> None:
    """Rewrites a graph so that it is trained as if it computed with integers of 8 bits.

    Batch normalizations are folded into the weights before them, and weights and activations are
    rounded, over ranges that are variables. To be called before gradients are made.

    Args:
      input_graph: the graph, changed; the default one if it is None.
      quant_delay: after how many steps rounding starts: 0 where a trained model is tuned; where
        one is trained from the start, after how many it is expected to have converged.

    Raises:
      ValueError: if the graph trains already.
    """
    experimental_create_training_graph(input_graph, quant_delay=quant_delay)


@export("contrib.quantize.create_eval_graph")
def create_eval_graph(input_graph: Graph | None = None) -> None:
    """Rewrite a graph so that it evaluates the model that `create_training_graph` trained.

    Args:
      input_graph: the graph, changed; the default one if it is None.

    Raises:
      ValueError: if the graph trains.
    """
    experimental_create_eval_graph(input_graph)


@export("contrib.quantize.experimental_create_training_graph")
def experimental_create_training_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = 0,
    freeze_bn_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """Rewrite like `create_training_graph`, with more arguments.

    Args:
      weight_bits, activation_bits: of the integers, 2 to 8.
      symmetric: whether ranges are symmetric around 0.
      freeze_bn_delay: number of steps after which averages are frozen and used instead of moments
        of the batch; never if it is None. It should be more than `quant_delay`.
      scope: the name scope that is rounded; all if it is None.
      input_graph, quant_delay: as in `create_training_graph`.

    Raises:
      ValueError: if the graph trains already.
    """
    settings = {"weight_bits": weight_bits, "activation_bits": activation_bits}
    _rewrite(
        input_graph, True, freeze_bn_delay, scope,
        symmetric=symmetric, quant_delay=quant_delay, **settings,
    )  # fmt: skip


@export("contrib.quantize.experimental_create_eval_graph")
def experimental_create_eval_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """Rewrite like `create_eval_graph`, with more; see `experimental_create_training_graph`.

    Raises:
      ValueError: if the graph trains.
    """
    settings = {"weight_bits": weight_bits, "activation_bits": activation_bits}
    _rewrite(
        input_graph, False, None, scope, symmetric=symmetric, quant_delay=quant_delay, **settings
    )


def _rewrite(
    graph: Graph | None, is_training: bool, freeze_delay: int | None, scope: str | None, **how: Any
) -> None:
    graph = tf.get_default_graph() if graph is None else graph
    found = {op.type for op in graph.get_operations()} & _TRAINING_OPS
    if found:
        raise ValueError(f"Training op found in graph, exiting {found}")
    with graph.as_default():
        fold_batch_norms(graph, is_training, freeze_delay)
        quantize(graph, is_training, scope=scope, **how)


def fold_batch_norms(
    graph: Graph, is_training: bool, freeze_batch_norm_delay: int | None = None
) -> None:
    """Folds batch normalizations into the weights before them.

    Args:
      graph: the graph, changed.
      is_training: whether they normalize by the batch.
      freeze_batch_norm_delay: see `experimental_create_training_graph`.
    """
    with graph.as_default():
        fold_fused(graph, freeze_batch_norm_delay)
        fold_unfused(graph, is_training, freeze_batch_norm_delay)


def quantize(
    graph: Graph,
    is_training: bool,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    ema_decay: float = 0.999,
    quant_delay: int | None = None,
    vars_collection: str = tf.GraphKeys.GLOBAL_VARIABLES,
    scope: str | None = None,
) -> None:
    """Round weights and activations; see `experimental_create_training_graph`.

    Args:
      ema_decay: of the averages of ranges.
      vars_collection: a collection of the variables of ranges.
      graph, is_training, weight_bits, activation_bits, symmetric, quant_delay, scope: as there.
    """
    inside = "" if not scope else scope if scope.endswith("/") else f"{scope}/"
    insert_rounding(
        graph,
        Insertion(
            is_training, weight_bits, activation_bits, symmetric, ema_decay, quant_delay,
            vars_collection, inside,
        ),
    )  # fmt: skip
