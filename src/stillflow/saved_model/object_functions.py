"""The functions of objects that SavedModels hold, and those that are its signatures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stillflow import nest
from stillflow.functional.concrete import ConcreteFunction, argument_name
from stillflow.functional.polymorphic import Function
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.saved_model import names
from stillflow.saved_model.restored_functions import RestoredFunction
from stillflow.train.tracking.base import Trackable

SIGNATURES = "signatures"
SAVED_FUNCTIONS = "_saved_functions"  # where an object has more of them while it is saved
_DEFAULT_SIGNATURE = "_default_save_signature"  # where an object has the one it wants served


class SignatureMap(Mapping[str, ConcreteFunction], Trackable):
    """The signatures of a SavedModel, by name."""

    def __init__(self, signatures: dict[str, ConcreteFunction] | None = None) -> None:
        self._signatures = dict(signatures or {})

    def add(self, name: str, function: ConcreteFunction) -> None:
        """Add one."""
        self._signatures[name] = function

    def __getitem__(self, key: str) -> ConcreteFunction:
        return self._signatures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures})"


def functions_of(thing: Any) -> dict[str, Any]:
    """Return the functions of the library that an object has as attributes or methods, by name."""
    if isinstance(thing, SignatureMap):
        return dict(thing)
    found: dict[str, Any] = {}
    if isinstance(thing, Trackable):
        found.update(getattr(thing, SAVED_FUNCTIONS, {}))
        for name in dir(thing):
            if isinstance(inspect.getattr_static(thing, name, None), property):
                continue
            value = getattr(thing, name, None)
            if isinstance(value, (Function, RestoredFunction, ConcreteFunction)):
                found[name] = value
    return found


def concrete_functions(function: Any) -> list[ConcreteFunction]:
    """Return the traces of a function; for a fixed signature, only that one."""
    if isinstance(function, ConcreteFunction):
        return [function]
    if isinstance(function, RestoredFunction):
        return list(function.concrete_functions)
    if function.input_signature is not None:
        function.get_concrete_function()
    return list(function._list_all_concrete_functions)


def argument_names(function: ConcreteFunction) -> list[str]:
    """Return the names under which a function takes its tensors, in order, each another."""
    made: list[str] = []
    for tensor in function.graph.arguments:
        own = name = argument_name(tensor)
        number = 0
        while name in made:
            number += 1
            name = f"{own}_{number}"
        made.append(name)
    return made


def signatures_to_export(root: Any, signatures: Any) -> dict[str, ConcreteFunction]:
    """Return the signatures of a SavedModel: functions of tensors by name to tensors by name.

    They are a function, functions by name, or None: the one that `root`, the saved object, says is
    its default, or the only function that it has. ValueError if one is no function of fixed
    arguments, or gives something else.
    """
    if signatures is None:
        signatures = _only_function(root)
    if signatures is None:
        return {}
    if not isinstance(signatures, Mapping):
        signatures = {names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    return {key: _by_name(key, function) for key, function in signatures.items()}


def _only_function(root: Any) -> ConcreteFunction | None:
    attached = getattr(root, SAVED_FUNCTIONS, {})
    default = _fixed(attached.get(_DEFAULT_SIGNATURE) or getattr(root, _DEFAULT_SIGNATURE, None))
    if default is not None:
        return default
    concrete = [found for one in functions_of(root).values() if (found := _fixed(one))]
    valid = [function for function in concrete if _is_signature(function)]
    return valid[0] if len(valid) == 1 else None


def _is_signature(function: ConcreteFunction) -> bool:
    try:
        return bool(function.outputs and _outputs_by_name(function.structured_outputs, "", ""))
    except ValueError:
        return False


def _fixed(function: Any) -> ConcreteFunction | None:
    """Return the function for its fixed signature; None if it has none."""
    if isinstance(function, (Function, RestoredFunction)) and function.input_signature is not None:
        function = function.get_concrete_function()
    return function if isinstance(function, ConcreteFunction) else None


def _by_name(key: str, function: Any) -> ConcreteFunction:
    concrete = _fixed(function)
    if concrete is None:
        raise ValueError(
            f"Expected a TensorFlow function to generate a signature for, but got {function}. Only "
            "`tf.functions` with an input signature or concrete functions can be used as a "
            "signature."
        )

    arguments = argument_names(concrete)

    def signature_wrapper(**kwargs: Any) -> dict[str, Tensor]:
        outputs = concrete.call_flat([kwargs[name] for name in arguments])
        return _outputs_by_name(outputs, concrete.name.decode(), key)

    specs = {
        name: TensorSpec(tensor.shape, tensor.dtype, name)
        for name, tensor in zip(arguments, concrete.graph.arguments, strict=True)
    }
    return Function(signature_wrapper).get_concrete_function(**specs)


def _outputs_by_name(outputs: Any, function: str, key: str) -> dict[str, Any]:
    if isinstance(outputs, Mapping):
        for name, value in outputs.items():
            if not isinstance(value, (Tensor, TensorSpec)):
                raise ValueError(
                    f"Got a dictionary containing non-Tensor value {value} for key {name} in the "
                    f"output of the function {function} used to generate a SavedModel signature. "
                    "Dictionaries outputs for functions used as signatures should have one Tensor "
                    "output per string key."
                )
        return dict(outputs)
    listed = outputs if isinstance(outputs, Sequence) else [outputs]
    if any(nest.is_nested(value) for value in listed):
        raise ValueError(
            f"Got non-flat outputs '{outputs}' from '{function}' for SavedModel signature '{key}'. "
            "Signatures have one Tensor per output, so to have predictable names Python functions "
            "used to generate these signatures should avoid outputting Tensors in nested "
            "structures."
        )
    return {f"output_{place}": value for place, value in enumerate(listed)}


def placeholders_of(key: str, function: ConcreteFunction) -> dict[str, Tensor]:
    """Return placeholders in the default graph for a signature's inputs, by name, in order."""
    from stillflow.ops.constants import placeholder

    made: dict[str, Tensor] = {}
    for tensor in function.graph.arguments:
        name = argument_name(tensor)
        if name != tensor.op.name:
            raise ValueError(
                "Got non-flat/non-unique argument names for SavedModel signature "
                f"'{key}': more than one argument to '{function.name!r}' was named '{name}'. "
                "Signatures have one Tensor per named input, so to have predictable names Python "
                "functions used to generate these signatures should avoid *args and Tensors in "
                "nested structures unless unique names are specified for each. Use "
                "tf.TensorSpec(..., name=...) to provide a name for a Tensor input."
            )
        made[name] = placeholder(tensor.dtype, tensor.shape, name=f"{key}_{name}")
    return made


def call_in_default_graph(
    function: ConcreteFunction, inputs: Sequence[Tensor], captures: Sequence[Tensor]
) -> Any:
    """Add a call with other tensors for those that the function has captured."""
    operation = function.add_call(get_default_graph(), [*inputs, *captures])
    return function._structured(operation._outputs, operation)
