"""Parameters of a `tf.function`: arguments by position, and its input signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow import nest
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.util import tf_inspect


class FunctionSpec:
    """The arguments of a Python function.

    Attributes:
      fullargspec: what `inspect` says of it.
      is_method: whether its first argument is the object that it belongs to.
      arg_names: names of the others that can be given by place.
      vararg_name: of the variadic argument, None if there is none.
      input_signature: the kinds of arguments it takes, if they are fixed.

    Raises:
      TypeError, ValueError: for a signature that is none, or of a function that it does not fit.
    """

    def __init__(
        self, python_function: Callable[..., Any], input_signature: Any = None, bound: bool = False
    ) -> None:
        self.fullargspec = tf_inspect.getfullargspec(python_function)
        self.is_method = bound or tf_inspect.ismethod(python_function)
        self.arg_names = list(self.fullargspec.args)[1 if self.is_method else 0 :]
        self.vararg_name = self.fullargspec.varargs
        self.input_signature = _checked(input_signature)
        defaults = self.fullargspec.defaults or ()
        first = len(self.arg_names) - len(defaults)
        self._defaults = {first + i: value for i, value in enumerate(defaults)}
        # Keyword arguments of a partial are among these, and the signature leaves them out.
        is_partial = isinstance(python_function, functools.partial)
        if self.input_signature is not None and self.fullargspec.kwonlyargs and not is_partial:
            raise ValueError(
                "Cannot define a TensorFlow function from a Python function with keyword "
                "arguments when input_signature is provided."
            )

    def __iter__(self) -> Iterator[Any]:
        """Return the fields of `fullargspec`."""
        return iter(self.fullargspec)

    @property
    def flat_input_signature(self) -> tuple[TensorSpec, ...]:
        return tuple(nest.flatten(self.input_signature, expand_composites=True))

    def names_of(self, count: int) -> list[str]:
        """Names for `count` arguments that are given by place."""
        more = [f"{self.vararg_name}_{i}" for i in range(count)] if self.vararg_name else []
        return [*self.arg_names, *more]

    def canonicalize_function_inputs(
        self, *args: Any, **kwargs: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by place where they have one, defaults filled in, arrays as tensors.

        Raises:
          TypeError, ValueError, AssertionError: if they do not fit the function or its signature.
        """
        if self.input_signature is not None:
            self._check_covered(args, kwargs)
        places = {name: index for index, name in enumerate(self.arg_names)}
        by_place = {places[name]: value for name, value in kwargs.items() if name in places}
        named = {name: value for name, value in kwargs.items() if name not in places}
        missing = {i: value for i, value in self._defaults.items() if i >= len(args)}
        if missing and not kwargs and min(self._defaults) > len(args):
            raise AssertionError(
                f"Not enough arguments ({args}, {sorted(self._defaults)}, {self.arg_names})"
            )
        filled = {**missing, **by_place}
        positional = (*args, *(filled[index] for index in sorted(filled)))
        if self.input_signature is None:
            named = {**(self.fullargspec.kwonlydefaults or {}), **named}
            return _as_tensors(positional), _as_tensors(named)
        return self._signed(positional), {}

    def _check_covered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        only = "When input_signature is provided, only pass arguments covered by it."
        if len(args) > len(self.input_signature):  # type: ignore[arg-type]
            raise TypeError(f"{only} Received {len(args)} argument(s).")
        for name in kwargs:
            if name not in self.arg_names:
                raise TypeError(f"Function got an unexpected keyword argument {name}")
            if self.arg_names.index(name) >= len(self.input_signature):  # type: ignore[arg-type]
                raise TypeError(f"{only} Received argument {name}.")

    def _signed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments converted to the signature's types."""
        signature = self.input_signature
        try:
            flat = nest.flatten_up_to(signature, args[: len(signature)], expand_composites=True)  # type: ignore[arg-type]
        except ValueError:
            raise ValueError(
                "Structure of Python function inputs does not match input_signature:\n"
                + self._compared(args)
            ) from None
        made = [self._tensor(value, spec, args)
                for value, spec in zip(flat, self.flat_input_signature, strict=True)]  # fmt: skip
        for value, spec in zip(made, self.flat_input_signature, strict=True):
            if not spec.is_compatible_with(value):
                raise ValueError(
                    f"Python inputs incompatible with input_signature:\n{self._compared(args)}"
                )
        packed: tuple[Any, ...] = nest.pack_sequence_as(signature, made, expand_composites=True)
        return packed

    def _tensor(self, value: Any, spec: TensorSpec, args: tuple[Any, ...]) -> Any:
        if isinstance(value, (Tensor, TensorSpec)):
            return value
        try:
            return convert_to_tensor(value, dtype_hint=spec.dtype)
        except ValueError:
            raise ValueError(
                "When input_signature is provided, all inputs to the Python function must be "
                f"convertible to tensors:\n{self._compared(args)}"
            ) from None

    def _compared(self, args: tuple[Any, ...]) -> str:
        given, wanted = (",\n    ".join(map(str, each)) for each in (args, self.input_signature))  # type: ignore[arg-type]
        return f"  inputs: (\n    {given})\n  input_signature: (\n    {wanted})"

    def check_concrete(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise an error for arguments that a trace's signature does not have.

        Raises:
          ValueError: if they are.
        """
        given = (*args, *(kwargs[name] for name in self.arg_names if name in kwargs))
        flat = nest.flatten(given, expand_composites=True)
        if len(flat) != len(self.flat_input_signature):
            raise ValueError("Structure of Python function inputs does not match input_signature.")
        pairs = zip(self.flat_input_signature, flat, strict=True)
        if not all(spec.is_compatible_with(value) for spec, value in pairs):
            raise ValueError(
                f"Python inputs incompatible with input_signature: inputs ({given}), "
                f"input_signature ({self.input_signature})"
            )


def _checked(signature: Any) -> tuple[Any, ...] | None:
    if signature is None:
        return None
    if not isinstance(signature, (tuple, list)):
        raise TypeError(
            f"input_signature must be either a tuple or a list, received {type(signature)}"
        )
    flat = nest.flatten(tuple(signature), expand_composites=True)
    if any(not isinstance(spec, TensorSpec) for spec in flat):
        raise TypeError(
            f"Invalid input_signature {signature}; input_signature must be a possibly nested "
            "sequence of TensorSpec objects."
        )
    return tuple(signature)


def _as_tensors(structure: Any) -> Any:
    def one(value: Any) -> Any:
        return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value

    return nest.map_structure(one, structure, expand_composites=True)
