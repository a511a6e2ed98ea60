"""Matrix products, tensordot and einsum against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

RNG = np.random.default_rng(7)


def random(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("flag_a", ["", "transpose", "adjoint"])
@pytest.mark.parametrize("flag_b", ["", "transpose", "adjoint"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 1)])
def test_flags_of_matmul(flag_a, flag_b, batch):
    a = (random(*batch, 2, 4) + 1j * random(*batch, 2, 4)).astype(np.complex64)
    b = (random(4, 5) + 1j * random(4, 5)).astype(np.complex64)
    change = {
        "": lambda m: m,
        "transpose": lambda m: np.swapaxes(m, -1, -2),
        "adjoint": lambda m: np.conj(np.swapaxes(m, -1, -2)),
    }
    flags = {f"{flag}_{side}": True for flag, side in ((flag_a, "a"), (flag_b, "b")) if flag}
    x, y = tf.placeholder(tf.complex64), tf.constant(change[flag_b](b))
    x.set_shape(change[flag_a](a).shape)
    result = run(tf.matmul(x, y, **flags), {x: change[flag_a](a)})
    np.testing.assert_allclose(result, a @ b, rtol=2e-5, atol=1e-5)


def test_a_matrix_cannot_be_both_transposed_and_conjugated():
    with pytest.raises(ValueError, match="Only one of transpose_a and adjoint_a"):
        tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2]), transpose_a=True, adjoint_a=True)


def test_ops_follow_ranks():
    matrix, batch = tf.zeros([2, 2]), tf.zeros([3, 2, 2])
    unknown = tf.placeholder(tf.float32)
    assert tf.matmul(matrix, matrix).op.type == "MatMul"
    assert tf.matmul(batch, matrix).op.type == "BatchMatMulV2"
    assert tf.matmul(matrix, unknown).op.type == "BatchMatMulV2"
    assert tf.matmul(matrix, matrix, a_is_sparse=True).op.type == "SparseMatMul"
    half = tf.zeros([2, 2], tf.bfloat16)
    assert tf.matmul(half, half).op.type == "MatMul"
    assert tf.matmul(half, half, a_is_sparse=True).dtype == tf.bfloat16


def test_products_of_halves_are_as_exact_as_their_type():
    a, b = random(64, 96), random(96, 33)
    for dtype, tolerance in ((tf.float16, 2e-2), (tf.bfloat16, 1.5e-1)):
        product = tf.matmul(tf.cast(a, dtype), tf.cast(b, dtype))
        assert product.dtype == dtype
        np.testing.assert_allclose(
            run(tf.cast(product, tf.float32)), a @ b, atol=tolerance * 10, rtol=tolerance
        )


def test_sizes_that_only_a_run_tells_are_refused_in_the_same_words():
    x = tf.placeholder(tf.float32, [None, None])
    rows = tf.boolean_mask(x, x[:, 0] > 0)
    message = r"Matrix size-incompatible: In\[0\]: \[1,2\], In\[1\]: \[1,2\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(tf.matmul(rows, rows), {x: [[1.0, 2.0], [-1.0, 0.0]]})


@pytest.mark.parametrize("axes", [0, 1, 2, [[2], [0]], [[-1, 0], [0, 1]], [2, 0]])
@pytest.mark.parametrize("known", ["all", "rank", "nothing"])
def test_tensordot(axes, known):
    a = random(4, 3, 4)
    b = random(3, 4, 2) if axes == 2 else random(4, 4, 2)
    shapes = {"all": (a.shape, b.shape), "rank": ([None] * 3, [None] * 3), "nothing": (None, None)}
    x, y = (tf.placeholder(tf.float32, shape) for shape in shapes[known])
    result = tf.tensordot(x, y, axes)
    expected = np.tensordot(a, b, axes)
    if known != "nothing":
        assert result.shape.ndims == expected.ndim
    np.testing.assert_allclose(run(result, {x: a, y: b}), expected, rtol=1e-5, atol=1e-5)


def test_tensordot_refuses_axes_that_do_not_fit():
    x = tf.zeros([2, 2])
    for axes, message in (
        (-1, "at least 0"),
        (3, "must not be larger"),
        ([1], "length 2"),
        ([[0], [0, 1]], "Different number of contraction axes"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.tensordot(x, x, axes)


EQUATIONS = [
    "ij,jk->ik", "ij,jk", "bij,bjk->bik", "bij,bkj->bki", "i,j->ij", "i,i->", "ij->ji", "ij->j",
    "ij,ij->i", "ij,jk,kl->li", "...ij,...jk->...ik", "ijk,k->ij", "abc,bad->cd", "ij,kl->ijkl",
    "i,ij,i->j", "ii",
]  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("known", [True, False])
def test_einsum(equation, known):
    sizes = dict(zip("abcdijkl", [2, 3, 4, 5, 3, 4, 5, 2]))
    terms = equation.split("->")[0].split(",")
    arrays = [
        random(*([2] * ("..." in term)), *[sizes[a] for a in term.replace("...", "")])
        for term in terms
    ]
    tensors = [tf.placeholder(tf.float32, a.shape if known else [None] * a.ndim) for a in arrays]
    if equation == "i,ij,i->j" and not known:
        pytest.skip("TF multiplies three inputs with one axis in common for static shapes only")
    result = run(tf.einsum(equation, *tensors), dict(zip(tensors, arrays)))
    np.testing.assert_allclose(result, np.einsum(equation, *arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("ij,jk->i1", "Indices have incorrect format"),
        ("ij", "expecting 1"),
        ("iij,jk->ik", "an axis appears more than once"),
        ("ij,jk->im", "Invalid equation"),
        ("i.j,jk->ik", 'period "." found'),
    ],
)
def test_einsum_refuses_what_it_cannot_read(equation, message):
    arguments = [
        tf.zeros([2, 2, 2]) if equation[:3] == "iij" else tf.zeros([2, 2]),
        tf.zeros([2, 2]),
    ]
    if "." in equation:
        message = "period|Ellipsis|expecting"
        equation += "..."
    with pytest.raises(ValueError, match=message):
        tf.einsum(equation, *arguments)
