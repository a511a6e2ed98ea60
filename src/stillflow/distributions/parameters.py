"""Values that distributions compute from their parameters."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.distributions.checks import embed_check_categorical_event_shape
from stillflow.distributions.layout import dimension_size, prefer_static_rank
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.linalg.norms import norm
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like, zeros, zeros_like
from stillflow.ops.arrays.reverse import reverse
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import reshape, shape, squeeze
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity, with_dependencies
from stillflow.ops.debugging.comparisons import (
    assert_equal,
    assert_less_equal,
    assert_near,
    assert_non_negative,
)
from stillflow.ops.debugging.types import assert_same_float_dtype
from stillflow.ops.linalg.bands import matrix_band_part
from stillflow.ops.linalg.diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from stillflow.ops.math import unary
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import greater, is_inf, less, logical_or
from stillflow.ops.math.reductions import reduce_logsumexp, reduce_max, reduce_sum
from stillflow.ops.math.special import digamma, lgamma
from stillflow.ops.nn.softmax import softmax


def get_logits_and_probs(
    logits: Any = None,
    probs: Any = None,
    multidimensional: bool = False,
    validate_args: bool = False,
    name: str = "get_logits_and_probs",
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Return log-odds and probabilities, given one of them.

    If `multidimensional`, the last dimension is that of classes, and logits are unnormalized
    log-probabilities. The graph checks them if `validate_args`. TypeError if they are not of a
    floating-point type.
    """
    with name_scope(name, values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = _floating(logits, "logits", dtype)
            if not multidimensional:
                return logits, unary.sigmoid(logits, name="probs")
            if validate_args:
                logits = embed_check_categorical_event_shape(logits)
            return logits, softmax(logits, name="probs")
        probs = _floating(probs, "probs", dtype)
        if validate_args:
            probs = _checked_probabilities(probs, multidimensional)
        with name_scope("logits"):
            if multidimensional:
                return unary.log(probs), probs
            return unary.log(probs) - unary.log1p(-1.0 * probs), probs


def _floating(value: Any, name: str, dtype: Any) -> Tensor:
    value = convert_to_tensor(value, name=name, dtype=dtype)
    if not value.dtype.is_floating:
        raise TypeError(f"{name} must having floating type.")
    return value


def _checked_probabilities(probs: Any, multidimensional: bool) -> Tensor:
    with name_scope("validate_probs"):
        one = constant(1.0, probs.dtype)
        checks = [assert_non_negative(probs)]
        if multidimensional:
            probs = embed_check_categorical_event_shape(probs)
            total = reduce_sum(probs, -1)
            checks.append(assert_near(total, one, message="probs does not sum to 1."))
        else:
            checks.append(
                assert_less_equal(probs, one, message="probs has components greater than 1.")
            )
        return with_dependencies(checks, probs)


def log_combinations(n: Any, counts: Any, name: str = "log_combinations") -> Any:
    """Return the logarithm of the multinomial coefficient of `n` over `counts` `[..., K]`."""
    with name_scope(name, values=[n, counts]):
        tensors = [convert_to_tensor(x, name=key) for key, x in (("n", n), ("counts", counts))]
        orders, orders_of_class = (lgamma(x + 1) for x in tensors)
        return orders - reduce_sum(orders_of_class, axis=[-1])


def same_floats(checks: list[Any], **parameters: Any) -> list[Any]:
    """Return parameters of one floating-point type as tensors of their names, after the checks.

    Raises:
      TypeError: for different or other types.
    """
    with control_dependencies(checks):
        tensors = [identity(value, name=key) for key, value in parameters.items()]
        assert_same_float_dtype(tensors)
    return tensors


def weighted_digamma(x: Any, offset: Any) -> Any:
    """Return `(x - offset) digamma(x)`, a term of many entropies."""
    return (x - offset) * digamma(x)


@export("contrib.distributions.matrix_diag_transform")
def matrix_diag_transform(
    matrix: Any, transform: Callable[[Any], Any] | None = None, name: str | None = None
) -> Tensor:
    """Return matrices with `transform` applied to their diagonals."""
    with name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return matrix_set_diag(matrix, transform(matrix_diag_part(matrix)))


def gen_new_seed(seed: Any, salt: str) -> int | None:
    """Another seed, from a seed and a word."""
    if seed is None:
        return None
    digest = hashlib.md5((str(seed) + salt).encode("utf-8"), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


@export("contrib.distributions.fill_triangular")
def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Tensor:
    """Triangular matrices whose elements are the vectors `[..., N (N + 1) / 2]`, in a spiral.

    Raises:
      ValueError: if the length of the vectors is of no such form.
    """
    with name_scope(name, "fill_triangular", values=[x]):
        vectors: Any = convert_to_tensor(x, name="x")
        batch = vectors.shape.with_rank_at_least(1)[:-1]
        known = _known_side(dimension_value(vectors.shape[-1]))
        static = batch.concatenate([known, known])
        side: Any = known
        if side is None:
            twice = cast(2 * shape(vectors)[-1], dtype=dtypes.float32)
            side = cast(unary.sqrt(0.25 + twice), dtype=dtypes.int32)
        rank = prefer_static_rank(vectors)
        rest = vectors[..., side:]
        first, turned = (vectors, rest) if upper else (rest, vectors)
        parts = [first, reverse(turned, axis=[rank - 1])]
        if static.is_fully_defined():
            sizes = static.as_list()
        else:
            sizes = concat([shape(vectors)[:-1], [side, side]], axis=0)
        squares = reshape(concat(parts, axis=-1), sizes)
        below, above = (0, -1) if upper else (-1, 0)
        triangles = matrix_band_part(squares, num_lower=below, num_upper=above)
        triangles.set_shape(static)
        return triangles


def _known_side(count: int | None) -> Any:
    """Return n for triangles of `n (n + 1) / 2` elements, or None."""
    if count is None:
        return None
    root = np.sqrt(0.25 + 2.0 * np.int32(count)) - 0.5
    if root != np.floor(root):
        raise ValueError(
            f"Input right-most shape ({count}) does not correspond to a triangular matrix."
        )
    return np.int32(root)


@export("contrib.distributions.fill_triangular_inverse")
def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Tensor:
    """Return the vectors that `fill_triangular` makes triangular matrices of."""
    with name_scope(name, "fill_triangular_inverse", values=[x]):
        x = convert_to_tensor(x, name="x")
        batch = x.shape.with_rank_at_least(2)[:-2]
        n: Any = dimension_value(x.shape[-1])
        if n is not None:
            n = np.int32(n)
            count: Any = np.int32((n * (n + 1)) // 2)
            static = batch.concatenate([count])
        else:
            n = shape(x)[-1]
            count = (n * (n + 1)) // 2
            static = batch.concatenate([None])
        rank = prefer_static_rank(x)
        if upper:
            first, triangle = x[..., 0, :], x[..., 1:, :]
        else:
            first = reverse(x[..., -1, :], axis=[rank - 2])
            triangle = x[..., :-1, :]
        turned = reverse(reverse(triangle, axis=[rank - 1]), axis=[rank - 2])
        both = triangle + turned
        sizes = concat([shape(x)[:-2], [n * (n - 1)]], axis=0)
        rest = reshape(both, sizes)
        y = concat([first, rest[..., : count - n]], axis=-1)
        y.set_shape(static)
        return y


@export("contrib.distributions.tridiag")
def tridiag(
    below: Any = None, diag: Any = None, above: Any = None, name: str | None = None
) -> Tensor:
    """Matrices with the given diagonals, at least one.

    Raises:
      ValueError: if none is given.
    """

    def padded(x: Any) -> Tensor:
        zero = zeros(concat([shape(x)[:-1], [1]], axis=0), dtype=x.dtype)
        return concat([zero, x, zero], axis=-1)

    with name_scope(name, "tridiag", [below, diag, above]):
        parts = []
        if below is not None:
            below = convert_to_tensor(below, name="below")
            parts.append(matrix_diag(padded(below))[..., :-1, 1:])
        if diag is not None:
            parts.append(matrix_diag(convert_to_tensor(diag, name="diag")))
        if above is not None:
            above = convert_to_tensor(above, name="above")
            parts.append(matrix_diag(padded(above))[..., 1:, :-1])
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        return functools.reduce(lambda a, b: a + b, parts)


@export("contrib.distributions.reduce_weighted_logsumexp")
def reduce_weighted_logsumexp(
    logx: Any,
    w: Any = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """`log(abs(sum(w * exp(logx))))`, and the sum's sign if asked for."""
    with name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logs = convert_to_tensor(logx, name="logx")
        if w is None:
            result = reduce_logsumexp(logs, axis=axis, keepdims=keep_dims)
            return (result, ones_like(result)) if return_sign else result
        weights = convert_to_tensor(w, dtype=logs.dtype, name="w")
        logs = logs + unary.log(unary.abs(weights))
        highest = reduce_max(logs, axis=axis, keepdims=True)
        # Infinities would become NaN when they are subtracted.
        is_infinite = is_inf(highest)
        shift = where_v2(is_infinite, zeros_like(highest), highest)
        terms = unary.sign(weights) * unary.exp(logs - shift)
        total = reduce_sum(terms, axis=axis, keepdims=keep_dims)
        shift = shift if keep_dims else squeeze(shift, axis)
        sign = unary.sign(total)
        result = shift + unary.log(sign * total)
        return (result, sign) if return_sign else result


@export("contrib.distributions.softplus_inverse")
def softplus_inverse(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse of softplus, precise for small and large numbers."""
    with name_scope(name, "softplus_inverse", values=[x]):
        x = convert_to_tensor(x, name="x")
        bound = 2.0 + np.log(np.finfo(x.dtype.as_numpy_dtype).eps)
        small, large = less(x, np.exp(bound)), greater(x, -bound)
        of_small = unary.log(x)
        # The branch not taken must not give NaN to gradients.
        is_simple = logical_or(small, large)
        between = where_v2(is_simple, ones_like(x), x)
        exact = between + unary.log(-unary.expm1(-between))
        return where_v2(small, of_small, where_v2(large, x, exact))


def process_quadrature_grid_and_probs(
    quadrature_grid_and_probs: Any, dtype: Any, validate_args: bool, name: str | None = None
) -> tuple[Any, Any]:
    """Return a grid and normalized probabilities; by default Gauss-Hermite's of degree 8."""
    with name_scope(name, "process_quadrature_grid_and_probs", [quadrature_grid_and_probs]):
        if quadrature_grid_and_probs is None:
            points, weights = np.polynomial.hermite.hermgauss(deg=8)
            points = points.astype(dtype.as_numpy_dtype)
            weights = weights.astype(dtype.as_numpy_dtype)
            weights /= np.linalg.norm(weights, ord=1, keepdims=True)
            grid = convert_to_tensor(points, name="grid", dtype=dtype)
            return grid, convert_to_tensor(weights, name="probs", dtype=dtype)
        given_grid, given_probs = tuple(quadrature_grid_and_probs)
        grid = convert_to_tensor(given_grid, name="grid", dtype=dtype)
        probs: Any = convert_to_tensor(given_probs, name="unnormalized_probs", dtype=dtype)
        probs /= norm(probs, ord=1, axis=-1, keepdims=True, name="probs")
        lengths = [dimension_value(x.shape.with_rank_at_least(1)[-1]) for x in (probs, grid)]
        message = (
            "`quadrature_grid_and_probs` must be a `tuple` of same-length zero-th-dimension "
            "`Tensor`s"
        )
        if None not in lengths:
            if lengths[0] != lengths[1]:
                raise ValueError(f"{message} (saw lengths {lengths[0]}, {lengths[1]})")
        elif validate_args:
            sizes = dimension_size(probs, axis=-1), dimension_size(grid, axis=-1)
            with control_dependencies([assert_equal(*sizes, message=message)]):
                return identity(grid), identity(probs)
        return grid, probs


def parent_frame_arguments() -> dict[str, Any]:
    """Return the caller's arguments by name, including keyword arguments."""
    frame = inspect.stack()[1][0]
    names, positional, keywords, values = inspect.getargvalues(frame)
    local = dict(values)
    local.pop(positional, {})  # type: ignore[arg-type]
    extra = local.pop(keywords, {})  # type: ignore[arg-type]
    return {**{name: local[name] for name in names}, **extra}


class AppendDocstring:
    """A decorator that adds a note to a function's docstring.

    Args:
      additional_note: the note.
      kwargs_dict: descriptions of keyword arguments by name.

    Raises:
      ValueError: if a name has blanks or a description several lines.
    """

    def __init__(
        self, additional_note: str = "", kwargs_dict: dict[str, str] | None = None
    ) -> None:
        self._note = additional_note
        if kwargs_dict:
            bullets = []
            for key in sorted(kwargs_dict):
                value = kwargs_dict[key].lstrip()
                if any(letter.isspace() for letter in key):
                    raise ValueError(f'Parameter name "{key}" contains whitespace.')
                if "\n" in value:
                    raise ValueError(f'Parameter description for "{key}" contains newlines.')
                bullets.append(f"*  `{key}`: {value}")
            self._note += "\n\n##### `kwargs`:\n\n" + "\n".join(bullets)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def same(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        same.__doc__ = self._note if same.__doc__ is None else f"{same.__doc__}\n{self._note}"
        return same
