"""`tf.random.experimental.Generator`: random numbers whose state is a variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.math.binary import add
from stillflow.ops.random import stateful
from stillflow.ops.random.binomial import stateful_random_binomial_op
from stillflow.ops.random.generator_state import PHILOX, STATE_SIZES
from stillflow.variables.creation import create_variable

_SPAN = 1 << 64


def _signed(number: Any) -> int:
    """Return a number of 64 bits as int64 sees it."""
    return number - _SPAN if isinstance(number, int) and number >= _SPAN // 2 else number


def _state_size(alg: Any) -> int:
    if alg not in STATE_SIZES:
        raise ValueError(f"Unsupported algorithm id: {alg}")
    return STATE_SIZES[alg]


@export("random.experimental.create_rng_state")
def create_rng_state(seed: Any, algorithm: int) -> np.ndarray:
    """Return the state a generator starts with.

    Args:
      seed: an integer of any size, or a vector of integers. Short seeds are padded with zeros.
      algorithm: 1 for Philox, 2 for ThreeFry (which has a state but no draws).

    Returns:
      int64 [3] or [2].

    Raises:
      ValueError: for another algorithm, or a seed of more than one dimension.
    """
    size = _state_size(algorithm)
    if isinstance(seed, int):
        seed = [seed >> 64 * i & _SPAN - 1 for i in range(size)]
    numbers = np.asarray(list(map(_signed, seed)), dtype=np.int64)
    if numbers.ndim != 1:
        raise ValueError(f"seed should only have one dimension; got shape: {numbers.shape}")
    numbers = numbers[:size]
    # On the left, where the counter is: a short seed must become a key.
    return np.pad(numbers, [(size - len(numbers), 0)], mode="constant", constant_values=0)


def _state_tensor(value: Any) -> Tensor:
    if isinstance(value, list):
        value = list(map(_signed, value))
    return convert_to_tensor(value, dtype=dtypes.int64)


def _joined_state(key: Any, counter: Any, alg: Any) -> Tensor:
    counter, key = _state_tensor(counter), _state_tensor(key)
    counter.shape.assert_is_compatible_with([_state_size(alg) - 1])
    key.shape.assert_is_compatible_with([])
    return concat([counter, reshape(key, [1])], 0)


def _shape_tensor(shape: Any) -> Tensor:
    empty = isinstance(shape, (tuple, list)) and not shape
    return convert_to_tensor(shape, dtype=dtypes.int64 if empty else None, name="shape")


@export("random.experimental.Generator")
class Generator:
    """Draws random numbers and moves its state on, a resource variable.

    Args:
      copy_from: a generator whose state and algorithm to copy.
      state: int64 vector, the state to start with instead, together with `alg`.
      alg: 1 for Philox.
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        if copy_from is not None:
            assert (alg or state) is None
            initial, self._alg_var = copy_from.state, copy_from.algorithm
        else:
            assert alg is not None
            assert state is not None
            initial, self._alg_var = _state_tensor(state), alg
            initial.shape.assert_is_compatible_with([_state_size(alg)])
        self._state_var = create_variable(
            initial, dtype=dtypes.int64, trainable=False, use_resource=True
        )

    @classmethod
    def from_state(cls, state: Any, alg: int) -> Generator:
        """Return a generator that starts with `state`."""
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed: Any, alg: int | None = None) -> Generator:
        """Return a generator that starts with the state `create_rng_state` makes of a seed."""
        alg = PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | None = None) -> Generator:
        """Return a generator that starts with a state nobody can foresee."""
        alg = PHILOX if alg is None else alg
        state = stateful.non_deterministic_ints_op([_state_size(alg)], dtype=dtypes.int64)
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: int) -> Generator:
        """Return a generator with a state of `key`, a scalar, and `counter`, a vector."""
        return cls(state=_joined_state(key, counter, alg), alg=alg)

    def reset(self, state: Any) -> None:
        """Make `state` the state; in a graph, when the op that is added runs."""
        state = _state_tensor(state)
        state.shape.assert_is_compatible_with([_state_size(self.algorithm)])
        self._state_var.assign(state)

    def reset_from_seed(self, seed: Any) -> None:
        """Reset the state to that of `seed`."""
        self._state_var.assign(create_rng_state(seed, self.algorithm))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Reset the state to a key and a counter."""
        self._state_var.assign(_joined_state(key, counter, self.algorithm))

    @property
    def state(self) -> Any:
        """The variable that holds the state."""
        return self._state_var

    @property
    def algorithm(self) -> Any:
        """The number of the algorithm."""
        return self._alg_var

    @property
    def key(self) -> Tensor:
        """The part of the state that tells streams apart, a scalar."""
        _state_size(self.algorithm)
        key: Tensor = self._state_var[-1]
        return key

    def skip(self, delta: Any) -> None:
        """Move the state as drawing `delta` numbers would."""
        stateful.rng_skip_op(self.state.handle, self.algorithm, delta)

    def _drawn(self, card: Any, shape: Any, dtype: Any) -> Any:
        return card(self.state.handle, self.algorithm, shape, dtype=dtype)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draws from a normal distribution.

        Args:
          shape: integer vector, the shape of the result.
          mean: scalar of type `dtype`.
          stddev: scalar of type `dtype`, the standard deviation.
          dtype: half, bfloat16, float32 or float64.
          name: of the operation.
        """
        card = stateful.stateful_standard_normal_v2_op
        with name_scope(name, "stateful_normal", [shape, mean, stddev]) as scope:
            return self._located(card, shape, mean, stddev, dtype, scope)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draw like `normal`, again where beyond two standard deviations."""
        card = stateful.stateful_truncated_normal_op
        with name_scope(name, "truncated_normal", [shape, mean, stddev]) as scope:
            return self._located(card, shape, mean, stddev, dtype, scope)

    def _located(
        self, card: Any, shape: Any, mean: Any, stddev: Any, dtype: Any, scope: str
    ) -> Tensor:
        sizes = _shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        return add(self._drawn(card, sizes, dtype) * stddev, mean, name=scope)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Draws from [minval, maxval), every value equally likely.

        Args:
          shape: integer vector, the shape of the result.
          minval: scalar of type `dtype`.
          maxval: scalar of type `dtype`; 1 by default, required for integers.
          dtype: half, bfloat16, float32, float64, int32 or int64.
          name: of the operation.

        Raises:
          ValueError: for integers without `maxval`.
        """
        dtype = dtypes.as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        with name_scope(name, "stateful_uniform", [shape, minval, maxval]) as scope:
            sizes = _shape_tensor(shape)
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
            if dtype.is_integer:
                drawn: Tensor = stateful.stateful_uniform_int_op(
                    self.state.handle, self.algorithm, sizes, minval, maxval, name=scope
                )
                return drawn
            unit = self._drawn(stateful.stateful_uniform_op, sizes, dtype)
            return add(unit * (maxval - minval), minval, name=scope)

    def uniform_full_int(
        self, shape: Any, dtype: Any = dtypes.uint64, name: str | None = None
    ) -> Tensor:
        """Draws integers from all values of `dtype`: int32, int64, uint32 or uint64."""
        with name_scope(name, "stateful_uniform_full_int", [shape]) as scope:
            drawn: Tensor = stateful.stateful_uniform_full_int_op(
                self.state.handle,
                self.algorithm,
                _shape_tensor(shape),
                dtype=dtypes.as_dtype(dtype),
                name=scope,
            )
            return drawn

    def binomial(
        self,
        shape: Any,
        counts: Any,
        probs: Any,
        dtype: Any = dtypes.int32,
        name: str | None = None,
    ) -> Tensor:
        """Draws numbers of successes.

        Args:
          shape: integer vector, the shape of the result.
          counts: numbers of trials, a scalar or one for each row of the result.
          probs: probabilities of success, likewise.
          dtype: half, float32, float64, int32 or int64.
          name: of the operation.
        """
        dtype = dtypes.as_dtype(dtype)
        with name_scope(name, "binomial", [shape, counts, probs]) as scope:
            counts = convert_to_tensor(counts, name="counts")
            probs = convert_to_tensor(probs, name="probs")
            drawn: Tensor = stateful_random_binomial_op(
                self.state.handle,
                self.algorithm,
                _shape_tensor(shape),
                counts,
                probs,
                dtype=dtype,
                name=scope,
            )
            return drawn

    def _keys(self, count: Any) -> Tensor:
        _state_size(self.algorithm)
        return self.uniform_full_int(shape=[count], dtype=dtypes.int64)

    def make_seeds(self, count: int = 1) -> Tensor:
        """Draws seeds for stateless operations: int64 [2, count], one seed per column."""
        keys = self._keys(count)
        return stack([keys, zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Make `count` generators that do not depend on each other; for eager execution only.

        Raises:
          AttributeError: in a graph, where the new keys have no values yet.
        """
        keys: Any = self._keys(count)
        counter = [0] * (_state_size(self.algorithm) - 1)
        return [Generator(state=[*counter, key], alg=self.algorithm) for key in keys.numpy()]


_global_generator: Generator | None = None


@export("random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """Return the generator that everyone shares, made at the first call."""
    global _global_generator
    if _global_generator is None:
        _global_generator = Generator.from_non_deterministic_state()
    return _global_generator


@export("random.experimental.set_global_generator")
def set_global_generator(generator: Generator) -> None:
    """Make `generator` the one that everyone shares."""
    global _global_generator
    _global_generator = generator
