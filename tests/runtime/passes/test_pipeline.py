"""Passes on steps written by hand: those that they replace, and those that they must leave."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.runtime.hand_written import call, other, outputs

from stillflow.graph import dtypes
from stillflow.ops.kernels import order_only
from stillflow.ops.nn import batch_norm, convolution, native_kernels, pool_kernels
from stillflow.ops.training.cards import GroupedUpdate
from stillflow.runtime.explain import recorded
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step
from stillflow.runtime.passes import pipeline
from stillflow.runtime.passes.activations import RELU_GRAD
from stillflow.runtime.passes.dropout_masks import keep_mask


def changed(name: str, *steps: Step, results: Any = (), **more: Any) -> StepGraph:
    """Return a graph of steps after one pass."""
    graph = StepGraph(steps, results=results, feeds=["x", "y", "z"], **more)
    (found,) = [each for each in pipeline.PASSES if each.name == name]
    found.apply(graph)
    return graph


def shaped(step: Step, *dims: Any, dtype: Any = dtypes.float32, out: Any = None) -> Step:
    """Return a step whose operation has inputs of these shapes."""
    op: Any = step.op
    op._inputs = [SimpleNamespace(_dims=d, dtype=dtype, _rank=len(d)) for d in dims]
    op._outputs = [SimpleNamespace(_dims=out, dtype=dtype)]
    return step


def of(kernel: Any, step: Step, *more: str) -> Step:
    step.function = kernel
    step.outputs += more
    return step


def test_steps_that_nobody_takes_are_removed() -> None:
    steps = [call("Exp", "a", "x"), call("Neg", "b", "a"), call("Tanh", "c", "a")]
    assert outputs(changed("remove dead steps", *steps, results=["c"])) == ["a", "c"]
    kept = changed("remove dead steps", *steps, results=["c"], targets=[steps[1].op])
    assert outputs(kept) == ["a", "b", "c"]


def test_no_ops_are_removed() -> None:
    no_op = of(order_only, call("NoOp", "n"))
    assert outputs(changed("remove no-ops", no_op, call("Exp", "a", "x"))) == ["a"]


def test_a_relu_takes_the_bias_before_it_along() -> None:
    add = shaped(call("Add", "a", "x", "y"), (4, 3), (3,))
    graph = changed("fuse activations", add, call("Relu", "b", "a"), results=["b"])
    (fused,) = graph
    assert fused.function is native_kernels.add_relu and fused.arguments == ["x", "y"]
    seen = changed("fuse activations", add, call("Relu", "b", "a"), results=["a", "b"])
    assert outputs(seen) == ["a", "b"]  # the sum is a result too


def test_both_results_of_a_relu_gradient_come_from_one_call() -> None:
    grad = of(RELU_GRAD, call("ReluGrad", "a", "x", "y", 0))
    total = shaped(of(torch.sum, call("Sum", "b", "a", [0], False)), (4, 3))
    (fused,) = changed("fuse activations", grad, total, results=["a", "b"])
    assert fused.outputs == ["a", "b"] and fused.function is native_kernels.relu_gradients


def test_a_normalization_takes_sum_and_relu_along() -> None:
    norm = of(batch_norm.train, call("FusedBatchNorm", "n", "x"), "mean")
    add = shaped(call("Add", "a", "n", "y"), (2, 4), (2, 4))
    (fused,) = changed("fuse normalizations", norm, add, call("Relu", "r", "a"), results=["r"])
    assert fused.outputs == ["r", "mean"] and fused.arguments == ["x", "y", True]


def test_a_branch_that_is_computed_later_stays_apart() -> None:
    norm = of(batch_norm.train, call("FusedBatchNorm", "n", "x"), "mean")
    late = call("Exp", "l", "y")
    add = shaped(call("Add", "a", "n", "l"), (2, 4), (2, 4))
    graph = changed("fuse normalizations", norm, late, add, call("Relu", "r", "a"), results=["r"])
    assert graph.matches == 0


def test_constants_of_a_normalization_go_into_the_filter() -> None:
    names = [f"c{n}" for n in range(5)]
    constants: dict[str, Any] = {name: torch.ones(4) * 2 for name in names[1:]}
    constants["c0"] = torch.ones(1, 1, 3, 4)
    conv = of(torch.add, call("Conv2D", "k", "x", "c0"))
    norm = of(batch_norm.infer, call("FusedBatchNorm", "n", "k", *names[1:], 0.0, False, None))
    graph = changed("fold normalizations", conv, norm, results=["n"], constants=constants)
    (fused,) = graph
    assert fused.outputs == ["n"] and sorted(graph.constants) == ["n_filter", "n_offset"]
    torch.testing.assert_close(graph.constants["n_filter"], torch.full((1, 1, 3, 4), 2**0.5))


def test_a_dropout_mask_is_written_over_its_draws() -> None:
    def steps(width: float) -> list[Step]:
        draw = call("RandomUniform", "d", "x")
        draw.op.attrs["dtype"] = SimpleNamespace(torch_name="float32")  # type: ignore[union-attr]
        scaled, moved = call("Mul", "m", "d", width), call("Add", "a", "m", 0.0)
        compared = of(torch.ge, call("GreaterEqual", "g", "a", 0.4))
        return [draw, scaled, moved, compared, call("Cast", "c", "g", torch.float32)]

    graph = changed("fuse dropout masks", *steps(1.0), results=["c"])
    assert outputs(graph) == ["d", "c"] and graph.steps[1].function is keep_mask
    assert changed("fuse dropout masks", *steps(2.0), results=["c"]).matches == 0


def update(variable: str, grad: str, rate: str) -> Step:
    rule = GroupedUpdate("GradientDescent", 1, ("alpha", "delta"), {})
    step = call("ResourceApplyGradientDescent", "_", variable, rate, grad)
    step.function, step.outputs = rule, []
    return step


def test_updates_with_the_same_scalars_are_one_step() -> None:
    steps = [update("v", "x", "z"), update("w", "y", "z"), update("u", "x", "y")]
    graph = changed("group updates", *steps)
    assert [step.fused for step in graph] == [False, True]
    assert graph.steps[-1].arguments[:2] == ["v", "w"]


def test_updates_do_not_pass_a_read_of_their_variable() -> None:
    steps = [update("v", "x", "z"), other("read", "r", "v"), update("w", "y", "z")]
    assert changed("group updates", *steps).matches == 0


def test_gradients_of_a_convolution_are_one_call() -> None:
    image = of(convolution.input_gradient, call("Conv2DBackpropInput", "i", "y", "x", None, "g"))
    image.arguments[3] = "geometry"
    weight = of(convolution.filter_gradient, call("Conv2DBackpropFilter", "f", "z", "x", None))
    weight.arguments.append("geometry")
    image.inputs.remove("g")
    (fused,) = changed("pair gradients of convolutions", image, weight, results=["i", "f"])
    assert fused.outputs == ["i", "f"] and fused.function is convolution.both_gradients


def test_a_pool_tells_its_gradient_where_the_maxima_are() -> None:
    pool = of(pool_kernels.max_pool, call("MaxPool", "p", "x", 3))
    grad = of(pool_kernels.max_pool_grad, call("MaxPoolGrad", "g", "x", "y", 3))
    first, second = changed("share maxima of pools", pool, grad, results=["p", "g"])
    assert first.outputs == ["p", "p_places"] and second.arguments == ["x", "y", "p_places", 3]


@pytest.mark.parametrize("source", [dtypes.uint8, dtypes.int32])
def test_images_of_small_integers_are_resized_as_they_are(source: Any) -> None:
    cast = shaped(call("Cast", "f", "x"), (4, 4), dtype=source)
    cast.op._outputs[0].dtype = dtypes.float32  # type: ignore[union-attr]
    graph = changed("resize integers", cast, call("ResizeBilinear", "r", "f", "y"), results=["r"])
    assert outputs(graph) == (["r"] if source is dtypes.uint8 else ["f", "r"])


def test_each_pass_counts_its_matches(cpu) -> None:
    import stillflow as tf

    with tf.Graph().as_default(), tf.Session() as session, recorded() as plans:
        x = tf.placeholder(tf.float32, [2, 3])
        session.run(tf.nn.relu(tf.nn.bias_add(tf.exp(x), [1.0, 2.0, 3.0])), {x: [[0.0] * 3] * 2})
    (found,) = [each for each in plans[0].changes if each.name == "fuse activations"]
    assert found.matches == 1 and found.seconds > 0
