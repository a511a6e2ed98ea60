"""The traits of every card: true of its signature, and of its kernel where samples can tell."""

from __future__ import annotations

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from tests.ops.sampling import arrays_of, build

import stillflow as tf
from stillflow.graph import card as cards
from stillflow.graph.card import Card, op
from stillflow.graph.costs import cost_of
from stillflow.graph.traits import NAMES, Scalar, Traits
from stillflow.native import library
from stillflow.ops.samples import Sample
from stillflow.runtime.functions import inlining
from stillflow.runtime.ir.facts import Facts
from stillflow.runtime.loops import vectorization
from stillflow.runtime.loops.counters import wrap32

CARDS = dict(sorted(cards.load_all().items()))
TURNS = vectorization.LEAST_TURNS
INTEGERS = {tf.int32, tf.int64}
HANDLES = {tf.resource, tf.variant, tf.string}


def with_trait(name: str) -> list[str]:
    """Return the operations whose cards say something else than the default."""
    return [each for each, card in CARDS.items() if getattr(card, name) != getattr(Traits, name)]


def good(card: Card) -> list[Sample]:
    if card.samples_part is None:
        return []
    return [sample for sample in card.samples_part() if isinstance(sample, Sample)]


def same(first: Any, second: Any) -> bool:
    return np.allclose(first, second, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_a_misspelled_trait_is_refused() -> None:
    with pytest.raises(TypeError, match="no traits \\['devises'\\]"):
        op("Misspelled() -> x: float", devises="host")
    assert "Misspelled" not in CARDS


@pytest.mark.parametrize("name", sorted(NAMES))
def test_values_are_those_that_a_trait_may_have(name: str) -> None:
    hint = get_type_hints(Traits)[name]
    parts = list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]
    texts = {text for part in parts if get_origin(part) is Literal for text in get_args(part)}
    kinds = tuple(get_origin(part) or part for part in parts if get_origin(part) is not Literal)
    for each in with_trait(name):
        value = getattr(CARDS[each], name)
        known = value in texts if texts else isinstance(value, kinds)
        assert known, (each, value)


def test_numbers_and_arguments_from_anywhere_are_arguments() -> None:
    for card in CARDS.values():
        arguments = {arg.name: arg for arg in card.signature.inputs}
        for name in (*card.numbers, *card.anywhere):
            assert not arguments[name].is_list, (card, name)
        for name in card.numbers:
            attr = card.signature.attrs.get(arguments[name].type_attr or "")
            types = {arguments[name].dtype} if attr is None else set(attr.allowed or INTEGERS)
            assert types & INTEGERS, (card, name)
            assert card.devices != "host", (card, "needs no numbers")


def test_handles_are_among_inputs_and_outputs() -> None:
    for name in with_trait("handle"):
        card = CARDS[name]
        if card.handle in ("any", "rendezvous"):
            continue
        outputs = card.signature.outputs
        given = [arg for arg in (*card.signature.inputs, *outputs) if _is_handle(arg)]
        assert given, name
        assert card.gives is None or any(_is_handle(arg) for arg in outputs), name
        assert card.gives in (None, card.handle), name


def _is_handle(arg: Any) -> bool:
    return arg.is_ref or arg.dtype in HANDLES


def test_what_is_done_with_an_object_needs_an_object() -> None:
    assert all(CARDS[name].handle for name in with_trait("access"))
    assert all(CARDS[name].handle == "variable" for name in with_trait("update"))


def test_outputs_that_are_the_inputs_memory_are_views() -> None:
    assert all(CARDS[name].view for name in with_trait("aliases"))


def test_runs_inline_the_operations_whose_cards_say_so() -> None:
    assert set(with_trait("inlined")) == set(inlining._expansions())


def _other(array: Any) -> Any:
    return np.asarray(array + (b"s" if array.dtype == object else 1), array.dtype)


@pytest.mark.parametrize("name", with_trait("metadata"))
def test_results_follow_from_shapes_alone(name: str) -> None:
    card = CARDS[name]
    for sample in good(card):
        arrays = arrays_of(card, sample)
        others = [[_other(x) for x in a] if isinstance(a, list) else _other(a) for a in arrays]
        found = [build(card, each, sample.attrs, "types", ()).run() for each in (arrays, others)]
        assert all(map(same, *found)), sample


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if good(card)])
def test_every_sample_has_a_cost(name: str) -> None:
    card = CARDS[name]
    for sample in good(card):
        arrays = arrays_of(card, sample)
        built = build(card, arrays, sample.attrs, "sizes", sample.fixed)
        operations = [each for each in built.graph.get_operations() if each.type == name]
        with tf.Session(graph=built.graph) as session:
            facts = Facts(session._get_resources(), {t: t._dims for t in built.feeds})
            costs = [cost_of(each, facts)[0] for each in operations]
        assert all(cost >= 0 for cost in costs), sample


@pytest.mark.parametrize("name", with_trait("scalar"))
def test_python_on_scalars_gives_what_the_kernel_gives(name: str) -> None:
    card = CARDS[name]
    truths = card.signature.inputs[0].dtype == tf.bool
    values = [True, False] if truths else [0, 1, -1, 7, -7, 3, 2**31 - 1, -(2**31)]
    pairs = [(x, y) for x in values for y in values]
    rule: Scalar = card.scalar  # type: ignore[assignment]
    if rule.divides:
        pairs = [(x, y) for x, y in pairs if y not in (0, -1)]
    count = len(card.signature.inputs)
    arrays = [np.array(each, bool if truths else np.int32) for each in zip(*pairs, strict=True)]
    (found,) = build(card, arrays[:count], {}, "types", ()).run()
    expected = [eval(rule.text.format(*pair[:count])) for pair in pairs]
    if rule.wraps:
        expected = [wrap32(value) for value in expected]
    assert found.tolist() == expected


# Kernels look for NaN among numbers that may be one: loops of these run one by one.
INTEGERS_ALONE = ("ArgMax", "ArgMin", "Max", "Min")
# Known when the plan is made, so no loop computes them.
FOLDED = ("OnesLike", "ZerosLike")
# The native kernels of float32 take no batches; torch's do.
NATIVE = ("EluGrad", "Relu6Grad")


def _arrays(card: Card, sample: Sample) -> list[Any]:
    arrays = arrays_of(card, sample)
    if card.name not in INTEGERS_ALONE:
        return arrays
    return [a.astype(np.int32) if a.dtype.kind == "f" else a for a in arrays]


def _looped(card: Card, sample: Sample) -> tuple[Any, dict[Any, Any]] | None:
    """Return the operation in a loop over copies of a sample: outputs, feeds.

    None without numbers.
    """
    arrays = _arrays(card, sample)
    listed = [value if isinstance(value, list) else [value] for value in arrays]
    starts = np.cumsum([0, *map(len, listed)])  # samples count the tensors of lists, or arguments
    fixed = [at in sample.fixed or start in sample.fixed for at, start in enumerate(starts)]
    varied = [item for each, is_fixed in zip(listed, fixed, strict=False) if not is_fixed
              for item in each]  # fmt: skip
    if not varied or any(item.dtype == object for each in listed for item in each):
        return None
    columns = [tf.placeholder(item.dtype, [TURNS, *item.shape]) for item in varied]

    def body(elements: Any) -> Any:
        left = iter(elements)
        taken = [
            [tf.constant(item) if is_fixed else next(left) for item in each]
            for each, is_fixed in zip(listed, fixed, strict=False)
        ]
        several = [isinstance(value, list) for value in arrays]
        made = card(*[t if s else t[0] for t, s in zip(taken, several, strict=True)],
                    **sample.attrs)  # fmt: skip
        return list(made) if isinstance(made, (list, tuple)) else [made]

    types = [t.dtype for t in build(card, arrays, sample.attrs, "sizes", sample.fixed).outputs]
    feeds = {c: np.stack([v] * TURNS) for c, v in zip(columns, varied, strict=True)}
    return tf.map_fn(body, columns, dtype=types), feeds


@pytest.mark.usefixtures("cpu", "graph")
@pytest.mark.parametrize("name", [n for n in with_trait("batching") if CARDS[n].batching == "vmap"])
def test_all_iterations_of_a_loop_at_once_give_what_each_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    put = vectorization.Batch._put
    monkeypatch.setattr(
        vectorization.Batch, "_put", lambda self, known: (done.append(self), put(self, known))[1]
    )
    card, tried = CARDS[name], 0
    for sample in good(card):
        looped = _looped(card, sample)
        if looped is None:
            continue
        tried += 1
        expected = build(card, _arrays(card, sample), sample.attrs, "values", sample.fixed).run()
        with tf.Session() as session:
            found = session.run(*looped)
        for several, one in zip(found, expected, strict=True):
            assert all(same(value, one) for value in several), sample
    one_by_one = name in FOLDED or (name in NATIVE and library() is not None)
    assert done or not tried or one_by_one
