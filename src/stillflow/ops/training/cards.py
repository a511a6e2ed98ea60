"""Cards of the training ops, derived from one table.

Every rule has up to four ops: on references or resources, with dense or sparse gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph import dims, dtypes
from stillflow.graph.card import Card, find, op
from stillflow.graph.dims import shape_text
from stillflow.graph.node import Node
from stillflow.graph.traits import Cost
from stillflow.ops.training import rules
from stillflow.ops.training.groups import GROUP_RULES
from stillflow.ops.training.limits import check_limits, check_scalar
from stillflow.ops.training.rows import update_rows, update_rows_of_many

if TYPE_CHECKING:
    from stillflow.ops.variables.buffer import Buffer


_NUMBERS = (
    "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)


# Inputs of the size of the variable; all others are states and rates.
_ON_DEVICE = ("delta", "grad", "indices")
_GROUP_TYPES = (dtypes.float32, dtypes.float64)


@dataclass(frozen=True)
class Rule:
    """One row: which variables a rule changes and in which order its ops take the rest.

    Attributes:
      name: as in `Apply<name>`.
      states: the variable and its slots.
      dense: the other inputs of the dense ops, in order.
      update: the function of `rules.py`.
      sparse: the other inputs of the sparse ops, if there are any.
      flags: Boolean attributes with their defaults, after `use_locking`.
      kinds: "reference" and/or "resource".
      locked: how many of the states the resource ops lock first, None for all.
      shares: threads share a dense update of few numbers already.
    """

    name: str
    states: str
    dense: str
    update: Callable[..., None]
    sparse: str = ""
    flags: tuple[tuple[str, bool], ...] = ()
    kinds: tuple[str, ...] = ("reference", "resource")
    locked: int | None = None
    shares: bool = False


_NESTEROV = (("use_nesterov", False),)
_SLOTS = (("update_slots", True),)
_ADAM = "beta1_power beta2_power lr beta1 beta2 epsilon grad"
_RMS = "lr rho momentum epsilon grad"
_PROXIMAL = "alpha l1 l2"

RULES = (
    Rule("GradientDescent", "var", "alpha delta", rules.gradient_descent),
    Rule(
        "ProximalGradientDescent", "var", f"{_PROXIMAL} delta", rules.proximal_gradient_descent,
        f"{_PROXIMAL} grad indices",
    ),
    Rule(
        "Adadelta", "var accum accum_update", "lr rho epsilon grad", rules.adadelta,
        "lr rho epsilon grad indices", locked=1,
    ),
    Rule("Adagrad", "var accum", "lr grad", rules.adagrad, "lr grad indices", _SLOTS),
    Rule(
        "AdagradV2", "var accum", "lr epsilon grad", rules.adagrad_v2, "lr epsilon grad indices",
        _SLOTS,
    ),
    Rule(
        "ProximalAdagrad", "var accum", "lr l1 l2 grad", rules.proximal_adagrad,
        "lr l1 l2 grad indices",
    ),
    Rule(
        "AdagradDA", "var gradient_accumulator gradient_squared_accumulator",
        "grad lr l1 l2 global_step", rules.adagrad_da, "grad indices lr l1 l2 global_step",
    ),
    Rule(
        "Ftrl", "var accum linear", "grad lr l1 l2 lr_power", rules.ftrl,
        "grad indices lr l1 l2 lr_power",
    ),
    Rule(
        "FtrlV2", "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", rules.ftrl_v2,
        "grad indices lr l1 l2 l2_shrinkage lr_power",
    ),
    Rule(
        "Momentum", "var accum", "lr grad momentum", rules.momentum, "lr grad indices momentum",
        _NESTEROV, shares=True,
    ),
    Rule(
        "KerasMomentum", "var accum", "lr grad momentum", rules.keras_momentum,
        "lr grad indices momentum", _NESTEROV, kinds=("resource",),
    ),
    Rule("Adam", "var m v", _ADAM, rules.adam, flags=_NESTEROV, shares=True),
    Rule(
        "AdamWithAmsgrad", "var m v vhat", _ADAM, rules.adam_with_amsgrad, kinds=("resource",),
        locked=3,
    ),
    Rule("AdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon grad", rules.adamax),
    Rule("RMSProp", "var ms mom", _RMS, rules.rms_prop, f"{_RMS} indices"),
    Rule("CenteredRMSProp", "var mg ms mom", _RMS, rules.centered_rms_prop, f"{_RMS} indices"),
    Rule("AddSign", "var m", "lr alpha sign_decay beta grad", rules.add_sign),
    Rule("PowerSign", "var m", "lr logbase sign_decay beta grad", rules.power_sign),
)  # fmt: skip


def _signature(rule: Rule, kind: str, sparse: bool) -> str:
    prefix = ("Resource" if kind == "resource" else "") + ("Sparse" if sparse else "")
    state_type = "resource" if kind == "resource" else "&T"
    types = {"global_step": "int64", "indices": "Tindices"}
    args = [f"{name}: {state_type}" for name in rule.states.split()]
    others = (rule.sparse if sparse else rule.dense).split()
    args += [f"{name}: {types.get(name, 'T')}" for name in others]
    lines = [f"{prefix}Apply{rule.name}({', '.join(args)})"]
    if kind == "reference":
        lines[0] += " -> out: &T"
    lines.append(_NUMBERS)
    if sparse:
        lines.append("Tindices: {int32, int64}")
    lines.append("use_locking: bool = false")
    lines += [f"{name}: bool = {str(value).lower()}" for name, value in rule.flags]
    if kind == "resource":
        lines.append("flags: stateful")
    return "\n".join(lines)


def _shape(rule: Rule, others: Sequence[str]) -> Callable[[Node], Any]:
    """Variable and slots have one shape; scalars are scalars; a gradient fits."""
    count = len(rule.states.split())

    def shape(node: Node) -> Any:
        merged = node.variable_dims(0)
        if node.planning:
            _check_running(rule.name, node, count, others)
            return merged if node.op._outputs else []
        for index in range(1, count):
            merged = dims.merge(merged, node.variable_dims(index))
        for index, name in enumerate(others, start=count):
            if name in ("grad", "delta"):
                given = node.dims(index)
                if "indices" in others:
                    rows = dims.with_rank(node.dims(count + others.index("indices")), 1)
                    given = _rows_of(rows, given)
                merged = dims.merge(merged, given)
            elif name == "lr_power" and "l2_shrinkage" in others:
                continue  # as in TF, which looks at the scalar before it and only then runs
            elif name != "indices":
                dims.with_rank(node.dims(index), 0)
        return merged if node.op._outputs else []

    return shape


def _rows_of(rows: Any, given: Any) -> tuple[int | None, ...] | None:
    """Return the shape of a variable whose gradient has one row per index."""
    if given is None:
        return None
    dims.merge_dim(rows[0], given[0] if given else None)
    return (None, *given[1:]) if given else given


def _check_running(rule: str, node: Node, count: int, others: Sequence[str]) -> None:
    """Check known shapes as kernels do, with their messages."""
    for index, name in enumerate(others, start=count):
        given = node.dims(index)
        if name == "indices" and given is not None and len(given) != 1:
            raise ValueError("indices must be one-dimensional")
        if name not in ("indices", "grad", "delta"):
            check_scalar(rule, name, given, sparse="indices" in others)


def _kernel(rule: Rule, others: Sequence[str], sparse: bool) -> Callable[[Node], Any]:
    count = len(rule.states.split())
    renamed = {"grad": "delta"} if "delta" in rule.dense.split() else {}
    # Inputs of the variable's shape: its slots, and the gradient under the op's name for it.
    compared = (*rule.states.split()[1:], "delta" if "delta" in others else "grad")

    def kernel(node: Node) -> Any:
        flags = {name: getattr(node, name) for name, _ in rule.flags}
        grouped = rule.name in GROUP_RULES and not sparse and not node.exporting
        if grouped and node.T in _GROUP_TYPES:
            return GroupedUpdate(rule.name, count, tuple(others), flags, rule.locked, compared)
        update, title, locked = rule.update, rule.name, rule.locked

        def apply(*inputs: Any) -> Any:
            buffers = inputs[:count]
            states = _values(buffers, locked)
            named = {
                renamed.get(name, name): value
                for name, value in zip(others, inputs[count:], strict=True)
            }
            check_limits(title, named)
            if sparse:
                update_rows(update, states, named, flags)
            else:
                _check_shapes(compared, states, named.get("delta", named.get("grad")))
                update(*states, **named, **flags)
            return buffers[0]

        if rule.name == "Adagrad" and sparse and not node.exporting:
            return GroupedRows(rule.name, count, tuple(others), flags, locked)
        return apply

    return kernel


class GroupedUpdate:
    """The kernel of a dense update; a plan joins those that share their scalars.

    Attributes:
      key: updates with equal keys, and the same values for `shared`, may be joined.
      device: where the variables are, if a plan knows several; only those of one are joined.
      count: how many variables and slots come first among the inputs.
      own: the positions of the gradient and, where it is one of rows, their indices.
      shared: the positions of all other inputs.
    """

    def __init__(
        self, rule: str, count: int, others: tuple[str, ...], flags: dict[str, Any],
        locked: int | None = None, compared: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.rule, gradient = GROUP_RULES[rule]
        self._compared = compared or ["grad"] * count
        self.key = (rule, others, tuple(sorted(flags.items())))
        self.device: Any = None
        self.count = count
        own = (gradient, "indices")
        self.own = [count + others.index(name) for name in own if name in others]
        self.shared = [i for i in range(count, count + len(others)) if i not in self.own]
        self._names = [others[i - count] for i in self.shared]
        self._rule_name, self._flags, self._locked = rule, flags, locked

    def __call__(self, *inputs: Any) -> Buffer:
        own, shared = ([inputs[i] for i in places] for places in (self.own, self.shared))
        self.update([inputs[: self.count]], own, shared)
        return inputs[0]

    def update(
        self, buffers: Sequence[Sequence[Any]], grads: Sequence[Any], shared: Sequence[Any]
    ) -> None:
        """Update several variables: one sequence of buffers and one gradient each."""
        columns = [[buffer.value for buffer in column] for column in zip(*buffers, strict=True)]
        try:
            first, *others = ([each.shape for each in column] for column in (*columns, grads))
        except AttributeError:  # one has no value
            for each in buffers:
                _values(each, self._locked)
            raise
        if any(shapes != first for shapes in others):
            for *state, grad in zip(*columns, grads, strict=True):
                _check_shapes(self._compared, state, grad)
        scalars = dict(zip(self._names, shared, strict=True))
        check_limits(self._rule_name, scalars)
        self.rule(columns, list(grads), **scalars, **self._flags)

    def joined(self, number: int) -> Callable[..., None]:
        """Return a kernel for `number` updates: all buffers, then gradients, then scalars."""
        count, width = self.count, self.count * number
        end = width + number * len(self.own)

        def update(*inputs: Any) -> None:
            buffers = [inputs[i : i + count] for i in range(0, width, count)]
            self.update(buffers, inputs[width:end], inputs[end:])

        return update


class GroupedRows(GroupedUpdate):
    """The kernel of Adagrad's update of rows; a plan joins those that share their scalars."""

    def update(
        self, buffers: Sequence[Sequence[Any]], grads: Sequence[Any], shared: Sequence[Any]
    ) -> None:
        """Update rows of several variables; `grads` are the gradients, then the indices."""
        number, scalars = len(buffers), dict(zip(self._names, shared, strict=True))
        states = [_values(each, self._locked) for each in buffers]
        check_limits(self._rule_name, scalars)
        update_rows_of_many(
            rules.adagrad, states, grads[:number], grads[number:], scalars, self._flags
        )


def _values(buffers: Sequence[Any], locked: int | None) -> list[Any]:
    """Return the values of a variable and its slots; InternalError if a locked one has none.

    OpError if another one has none (`Buffer.read`).
    """
    try:
        return [buffer.read() for buffer in buffers]
    except errors.NotFoundError:
        for buffer in buffers[:locked]:
            if buffer.value is None:
                message = f"Invalid variable reference.\nVariable {buffer.name} has no value yet."
                raise errors.internal(message) from None
        raise


def _check_shapes(names: Sequence[str], states: Sequence[Any], gradient: Any) -> None:
    for name, other in zip(names, (*states[1:], gradient), strict=True):
        if other.shape != states[0].shape:
            left, right = shape_text(states[0].shape), shape_text(other.shape)
            raise errors.invalid_argument(
                f"var and {name} do not have the same shape{left} {right}"
            )


def _make(rule: Rule, kind: str, sparse: bool) -> Card:
    states = rule.states.split()
    others = (rule.sparse if sparse else rule.dense).split()
    card = op(
        _signature(rule, kind, sparse),
        writes=range(len(states)),
        handle="variable",
        update="sparse" if sparse else "dense",
        numbers=("indices",) if sparse else (),
        anywhere=tuple(name for name in (*states, *others) if name not in _ON_DEVICE),
        cost=Cost(soon=True, counts="inputs") if rule.shares and not sparse else Cost(),
    )
    card.shape(_shape(rule, others))
    card.kernel(_kernel(rule, others, sparse))
    return card


for _rule in RULES:
    for _kind in _rule.kinds:
        _make(_rule, _kind, False)
        if _rule.sparse:
            _make(_rule, _kind, True)


def training_op(name: str) -> Card:
    """Return the card called `name`, such as "ResourceApplyAdam", or raise KeyError."""
    card = find(name)
    if card is None:
        raise KeyError(name)
    return card
