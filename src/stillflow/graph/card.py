"""Op cards: everything about one operation in one place.

A module of `stillflow.ops` makes a card from the op's signature and hangs the parts on it:

    leaky_relu_op = op('''LeakyRelu(features: T) -> activations: T
                          alpha: float = 0.2; T: {half, bfloat16, float, double} = float''')

    @leaky_relu_op.shape
    def leaky_relu_shape(node): return node.dims(0)

    @leaky_relu_op.kernel
    def leaky_relu_kernel(node):
        return node.call(F.leaky_relu, node.inputs[0], negative_slope=node.alpha)

    @leaky_relu_op.gradient
    def leaky_relu_gradient(node, grad): ...

Calling a card adds a node to the default graph. See `ops/CARDS.md` for each part's contract.
"""

from __future__ import annotations

import collections
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from stillflow import errors
from stillflow._hooks import Hook
from stillflow.graph.lazy import LazyModule
from stillflow.graph.removed_ops import REMOVED
from stillflow.graph.signature import Signature, parse
from stillflow.graph.traits import NAMES, Traits

if TYPE_CHECKING:
    from stillflow.graph import build
else:
    build = LazyModule("stillflow.graph.build")

Part = TypeVar("Part", bound=Callable[..., Any])

# Effects of an op; anything but "pure" and "state" needs trust for graphs from files.
Effect = Literal["pure", "state", "reads files", "writes files", "runs Python", "network"]

# Import every module of cards: of the package, and of operations that only contrib uses.
load_families: Hook[Callable[[], None]] = Hook("graph.card.load_families")
load_family: Hook[Callable[[str], None]] = Hook("graph.card.load_family")  # of an op type
load_contrib_families: Hook[Callable[[], None]] = Hook("graph.card.load_contrib_families")
_cards: dict[str, Card] = {}
# Cards of libraries that a program loads on top of TensorFlow's own ops.
_library_cards: dict[str, Card] = {}


class Card(Traits):
    """One operation: its signature, its parts and its traits.

    Args:
      text: the signature, in the form `graph/signature.py` describes.
      writes: positions of reference or resource inputs whose variable is changed in place.
      keeps: positions of inputs whose memory the op holds on to after it ran (Assign).
      view: whether an output may share memory with an input.
      effect: an `Effect`; by default "state" where the signature says stateful, else "pure".
      harmless: a function of the node, True where attributes and known values rule the effect out,
        as the empty file name of a cache does.
      calls: whether it calls functions, which may have any effect.
      beside: True if another thread may run its kernel while the plan continues; only for pure ops
        with one output whose kernels take long and release the GIL. A function of the operation
        selects them; the other ones run early as well, but in the plan's thread.
      differentiable: False where gradients stop silently, as TF's `NotDifferentiable` ops do.
      elsewhere: whether TF has kernels for devices only that there never are here (TPUs).
      traits: other facts of the operation, see `Traits`.
    """

    def __init__(
        self,
        text: str,
        *,
        writes: Sequence[int] = (),
        keeps: Sequence[int] = (),
        view: bool = False,
        effect: Effect | None = None,
        harmless: Callable[[Any], bool] | None = None,
        differentiable: bool = True,
        calls: bool = False,
        beside: bool | Callable[[Any], bool] = False,
        elsewhere: bool = False,
        **traits: Any,
    ) -> None:
        self.name = text.strip().partition("(")[0].strip()
        self.text = text
        self.writes = tuple(writes)
        self.keeps = tuple(keeps)
        self.view = view
        self.differentiable = differentiable
        self.removed = self.name in REMOVED  # in graphs of today
        self.calls = calls
        self.beside = beside
        self.elsewhere = elsewhere
        if traits:
            if not NAMES.issuperset(traits):
                raise TypeError(f"op {self.name}: no traits {sorted(traits.keys() - NAMES)}")
            self.__dict__.update(traits)
        self._effect = effect
        self.harmless = harmless
        self.shape_part: Callable[..., Any] | None = None
        self.check_part: Callable[..., Any] | None = None
        self.value_part: Callable[..., Any] | None = None
        self.kernel_part: Callable[..., Any] | None = None
        self.gradient_part: Callable[..., Any] | None = None
        self.samples_part: Callable[..., Iterator[Any]] | None = None
        self.torch_source_part: Callable[..., Any] | None = None
        self.place = ("", 0)  # the file and line that made it

    @cached_property
    def signature(self) -> Signature:
        return parse(self.text)

    @property
    def effect(self) -> Effect:
        return self._effect or ("state" if self.signature.is_stateful else "pure")

    @cached_property
    def foldable(self) -> bool:
        """True if equal inputs always give equal outputs, without side effects."""
        args = (*self.signature.inputs, *self.signature.outputs)
        return self.effect == "pure" and not any(arg.is_ref for arg in args)

    @cached_property
    def takes_lists(self) -> bool:
        """True if an argument stands for several tensors."""
        return any(arg.is_list for arg in self.signature.inputs)

    @cached_property
    def gives_one(self) -> bool:
        """True if a call gives a single tensor."""
        outputs = self.signature.outputs
        return len(outputs) == 1 and not outputs[0].is_list

    @cached_property
    def result_type(self) -> type[Any]:
        """The named tuple of several outputs."""
        return collections.namedtuple(self.name, [arg.name for arg in self.signature.outputs])

    def _attach(self, slot: str, part: Part) -> Part:
        if getattr(self, slot) is not None:
            raise ValueError(f"op {self.name} already has a {slot.removesuffix('_part')}")
        setattr(self, slot, part)
        return part

    def shape(self, part: Part) -> Part:
        """`f(node)` gives the outputs' dims: one tuple (or None), or a list of them."""
        return self._attach("shape_part", part)

    def check(self, part: Part) -> Part:
        """`f(node)` raises ValueError for arguments that the op rejects."""
        return self._attach("check_part", part)

    def value(self, part: Part) -> Part:
        """`f(node, *arrays)` computes the output in numpy, for constant-value shape inference."""
        return self._attach("value_part", part)

    def kernel(self, part: Part) -> Part:
        """`f(node)` returns the kernel that runs at every step: a callable over the inputs."""
        return self._attach("kernel_part", part)

    def torch_source(self, part: Part) -> Part:
        """`f(node, *arguments)` gives the op as source over torch; by default its kernel goes out.

        Arguments are `stillflow.export.arguments.Argument`s: as text, expressions of tensors. The
        answer is an expression, a `Call` of a plain function, `Numbers`, or None for the kernel.
        """
        return self._attach("torch_source_part", part)

    def gradient(self, part: Part) -> Part:
        """`f(node, *grads)` builds the gradient nodes and gives one tensor or None per input."""
        return self._attach("gradient_part", part)

    def samples(self, part: Part) -> Part:
        """`f()` yields `Sample` and `Bad` arguments from which tests are derived."""
        return self._attach("samples_part", part)

    def __call__(self, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        """Add a node of this op to the default graph and return its output(s), or the operation."""
        return build.apply(self, inputs, attrs, name)

    def __repr__(self) -> str:
        return f"<card {self.name}>"


def op(text: str, kind: type[Card] = Card, **options: Any) -> Card:
    """Make and register the card of one operation; ValueError if there is one. See `Card`."""
    card = kind(text, **options)
    if card.name in _cards:
        raise ValueError(f"op {card.name} has two cards")
    _cards[card.name] = card
    card.place = _place_in_module()
    return card


def _place_in_module() -> tuple[str, int]:
    """Return the file and line of the module-level statement that leads here."""
    frame = sys._getframe(2)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def find(op_type: str) -> Card | None:
    """Return the card of an op type, or None if Stillflow has none."""
    card = _cards.get(op_type) or _library_cards.get(op_type)
    if card is None:
        load_family.value(op_type)
        card = _cards.get(op_type) or load_all().get(op_type)
    return card


def get(op_type: str) -> Card:
    """Return the card of an op type; NotFoundError if Stillflow has none."""
    card = find(op_type)
    if card is None:
        raise unregistered(op_type)
    return card


def register_library(cards: Iterable[Card]) -> dict[str, Card]:
    """Register the ops of a library, which `load_all` does not list; return them by op type."""
    found = {card.name: card for card in cards}
    for name in found:
        if name in _cards or name in _library_cards:
            raise ValueError(f"op {name} has two cards")
    _library_cards.update(found)
    return found


def unregistered(op_type: str) -> errors.NotFoundError:
    """Return the error for an op type without a card, with TF's message."""
    return errors.not_found(
        f"Op type not registered '{op_type}' in binary running on {platform.node()}. Make sure "
        "the Op and Kernel are registered in the binary running in this process. Note that if "
        "you are loading a saved graph which used ops from tf.contrib, accessing (e.g.) "
        "`tf.contrib.resampler` should be done before importing the graph, as contrib ops are "
        "lazily registered when the module is first accessed.\n"
        f"If {op_type} is a custom operation, load its library first: tf.load_op_library."
    )


def load_all() -> dict[str, Card]:
    """Import every module of cards; return all cards by op type."""
    load_families.value()
    load_contrib_families.value()
    return _cards
