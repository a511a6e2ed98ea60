"""The policy for graphs from outside: which effects their operations may have.

Each op card states an effect. A program's own graph is trusted: its operations may do anything, as
in TensorFlow. A graph that comes from a file, with no program of the user's behind it, is limited
to operations that compute and keep state; others raise PermissionDeniedError when a run needs them.

    with trust.limited("pure"):
        predict = tf.contrib.predictor.from_saved_model(folder)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, get_args

from stillflow import errors
from stillflow.graph.card import Effect, find

if TYPE_CHECKING:
    from stillflow.graph.operation import Tensor


EFFECTS: tuple[str, ...] = get_args(Effect)
_HARMLESS = frozenset({"pure", "state"})
# Arguments of operations that name the file to read.
_FILE_ARGUMENTS = frozenset({"prefix", "file_pattern", "filename", "filenames"})
# The report's name for operations whose graph is a string that only a run knows.
HIDDEN = "runs a graph that is data"


class Policy:
    """The effects that are allowed to the operations of one graph, its functions included.

    Attributes:
      effects: the allowed effects.
    """

    def __init__(self, effects: Iterable[str]) -> None:
        self.effects = frozenset(effects) | _HARMLESS
        self._granted: dict[Any, set[str]] = {}

    def check(self, node: Any) -> None:
        """Raise the error of an operation whose effect is not allowed.

        Args:
          node: the operation as its card sees it while a plan is made.

        Raises:
          PermissionDeniedError: if so.
        """
        op, effect = node.op, node.op.card.effect
        if effect in self.effects or op.name in self._granted.get(op.graph, ()):
            return
        if op.card.harmless is not None and op.card.harmless(node):
            return
        allowed = ", ".join(each for each in EFFECTS if each in self.effects)
        raise errors.PermissionDeniedError(
            op.node_def,
            op,
            f"{op.type} {_SAID[effect]}, and this graph comes from outside: only these effects "
            f"are allowed: {allowed}. Trust the graph if you know where it comes from "
            f"(--trust all, or stillflow.graph.trust).\n\t [[{{{{node {op.name}}}}}]]",
        )

    @contextlib.contextmanager
    def granting(self, graph: Any, files: Iterable[Any]) -> Iterator[None]:
        """Let operations read the files that some tensors name, which the caller feeds.

        Args:
          graph: the graph of the operations.
          files: the tensors.
        """
        names = {op.name for op in _readers(graph, set(files))}
        before = self._granted.get(graph, set())
        self._granted[graph] = before | names
        try:
            yield
        finally:
            self._granted[graph] = before


_SAID = {
    "reads files": "reads files", "writes files": "writes files", "runs Python": "runs Python",
    "network": "uses the network",
}  # fmt: skip
_default: ContextVar[Policy | None] = ContextVar("stillflow_trust", default=None)


def policy(trust: str | Iterable[str]) -> Policy | None:
    """Return the policy of a word: "all" (None), "pure", or effects that are allowed as well."""
    if trust == "all":
        return None
    effects = [trust] if isinstance(trust, str) else list(trust)
    for effect in effects:
        if effect not in EFFECTS:
            raise ValueError(f"trust is 'all' or effects among {EFFECTS}, not {effect!r}")
    return Policy(effects)


@contextlib.contextmanager
def limited(trust: str | Iterable[str] = "pure") -> Iterator[None]:
    """Limit the graphs that are imported, and the sessions that are made, in this context.

    `trust` is "pure", "all" for no limit, or effects that are allowed besides computing.
    """
    token = _default.set(policy(trust))
    try:
        yield
    finally:
        _default.reset(token)


def current() -> Policy | None:
    """Return the policy of the context, None where everything is trusted."""
    return _default.get()


def limit(graph: Any, trust: str | Iterable[str] | Policy | None = "pure") -> None:
    """Limit the operations of a graph that sessions run from now on; see `limited` for `trust`."""
    is_made = trust is None or isinstance(trust, Policy)
    graph._trust = trust if is_made else policy(trust)  # type: ignore[arg-type]
    graph._edition += 1  # plans that sessions have are made again


def of(graph: Any) -> Policy | None:
    """Return the policy of a graph, None where it is trusted."""
    found: Policy | None = graph._trust
    return found


@contextlib.contextmanager
def reading(graph: Any, files: Iterable[Any]) -> Iterator[None]:
    """Let operations of a graph read the files that the caller feeds for these tensors, by name."""
    found = of(graph)
    if found is None:
        yield
        return
    tensors = [graph.as_graph_element(each, allow_operation=False) for each in files]
    with found.granting(graph, tensors):
        yield


def _readers(graph: Any, files: set[Any]) -> Iterator[Any]:
    """Yield the operations whose file is named by one of the tensors."""
    for op in graph.get_operations():
        if op.card.effect != "reads files":
            continue
        for arg, tensor in zip(op.card.signature.inputs, op.inputs, strict=False):
            if arg.name in _FILE_ARGUMENTS and _source(tensor) in files:
                yield op


def _source(tensor: Any) -> Tensor:
    """Return the tensor itself, behind operations that pass it on."""
    while tensor.op.type in ("Identity", "ExpandDims", "Reshape"):
        tensor = tensor.op.inputs[0]
    return tensor


def effects_of(graph_def: Any) -> dict[str, list[str]]:
    """Return the op types of a GraphDef, its functions included, by effects beyond state.

    Op types that Stillflow does not know are under "unknown".
    """
    found: dict[str, list[str]] = {}
    for op_type in sorted(_op_types(graph_def)):
        card = find(op_type)
        if card is None:
            found.setdefault("unknown", []).append(op_type)
        elif card.effect not in _HARMLESS:
            found.setdefault(card.effect, []).append(op_type)
        elif card.calls and not any(a.element == "func" for a in card.signature.attrs.values()):
            found.setdefault(HIDDEN, []).append(op_type)
    return found


def effects_of_model(meta_graph_def: Any) -> dict[str, list[str]]:
    """Return the same of a MetaGraphDef, without its saver's operations.

    A saver reads and writes the files that its caller names. Its operations count where a
    signature reaches them, or where they name files of their own.
    """
    graph_def = meta_graph_def.graph_def
    nodes = {node.name: node for node in graph_def.node}
    file = meta_graph_def.saver_def.filename_tensor_name.partition(":")[0]
    outputs = [
        info.name.partition(":")[0]
        for signature in meta_graph_def.signature_def.values()
        for info in signature.outputs.values()
    ]
    reached = _reached(nodes, outputs)
    kept = type(graph_def)()
    kept.library.CopyFrom(graph_def.library)
    kept.node.extend(
        node
        for node in graph_def.node
        if node.name in reached or node.op not in _OF_SAVERS or not _named_by(nodes, node, file)
    )
    return effects_of(kept)


_OF_SAVERS = frozenset({"SaveV2", "RestoreV2", "MergeV2Checkpoints", "Save", "Restore",
                        "SaveSlices", "RestoreSlice"})  # fmt: skip


def part_of_outputs(graph_def: Any, outputs: Iterable[str]) -> Any:
    """Return the part of a GraphDef that some tensors need, with the functions that it calls."""
    nodes = {node.name: node for node in graph_def.node}
    functions = {function.signature.name: function for function in graph_def.library.function}
    kept = type(graph_def)()
    reached = _reached(nodes, [name.partition(":")[0] for name in outputs])
    kept.node.extend(nodes[name] for name in reached)
    called = [name for node in kept.node for name in called_by(node)]
    needed = _reached(functions, called, _calls_of)
    kept.library.function.extend(functions[name] for name in needed)
    return kept


def writes_variables(graph_def: Any) -> bool:
    """Return True if operations of a GraphDef, its functions included, may write a variable."""
    cards = map(find, _op_types(graph_def))
    return any(card is None or card.writes or card.access == "replace" for card in cards)


def _op_types(graph_def: Any) -> set[str]:
    """Return the op types of a GraphDef and of its functions, without calls of these."""
    library = graph_def.library.function
    nodes = [*graph_def.node, *(node for function in library for node in function.node_def)]
    return {node.op for node in nodes} - {function.signature.name for function in library}


def called_by(node: Any) -> list[str]:
    """Return the names by which a NodeDef may call functions: its op, and its attributes."""
    return [node.op, *(function.name for function in functions_in(node))]


def functions_in(node: Any) -> list[Any]:
    """Return the `NameAttrList` messages in the attributes of a NodeDef."""
    values = node.attr.values()
    single = [value.func for value in values if value.WhichOneof("value") == "func"]
    return single + [function for value in values for function in value.list.func]


def _calls_of(function: Any) -> list[str]:
    return [name for node in function.node_def for name in called_by(node)]


def _inputs_of(node: Any) -> list[str]:
    return [text.lstrip("^").partition(":")[0] for text in node.input]


def _reached(
    known: dict[str, Any], names: Iterable[str], needs: Callable[[Any], list[str]] = _inputs_of
) -> set[str]:
    """Return the nodes, or functions, that some of them need."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found and name in known:
            found.add(name)
            left += needs(known[name])
    return found


def _named_by(nodes: dict[str, Any], node: Any, file: str) -> bool:
    """Return True where the file of a saver's operation follows from the saver's file name."""
    place = 1 if node.op == "MergeV2Checkpoints" else 0  # the output comes second
    return bool(file) and file in _reached(nodes, [node.input[place].partition(":")[0]])
