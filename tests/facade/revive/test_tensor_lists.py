"""NumPy takes lists of symbolic tensors, as it did when TensorFlow 1 was young."""

from __future__ import annotations


def test_arrays_of_tensors(launcher):
    out, _ = launcher.program("""
        import numpy as np, tensorflow as tf
        t, u = tf.zeros([2, 3]), tf.ones([2, 3])
        made = np.array([t, u])
        print(made.dtype, made.shape, made[1] is u, np.asarray([t, 1.0]).shape)
        print(np.array([[t], [u]]).shape, np.array([np.ones(3), t]).shape)
        print(np.concatenate([[t], [u, t]]).shape, np.reshape([t, u], [2, 1])[1, 0] is u)
        for refused in (lambda: np.array(t), lambda: np.stack([t, u])):
            try:
                refused()
            except NotImplementedError as error:
                print(str(error))
        """)
    assert out.splitlines() == [
        "object (2,) True (2,)",
        "(2, 1) (2,)",
        "(3,) True",
        "Cannot convert a symbolic Tensor (zeros:0) to a numpy array.",
        "Cannot convert a symbolic Tensor (zeros:0) to a numpy array.",
    ]


def test_sums_of_tensors_are_tensors(launcher):
    out, _ = launcher.program("""
        import numpy as np, tensorflow as tf
        s, t = tf.constant(3.0), tf.constant([1.0, 2.0])
        total = np.sum([s, s, 2.0])
        with tf.Session() as session:
            print(session.run([total, np.sum((t, t), 0), np.prod([s, s])]))
            print(np.sum([1.0, 2.0]), session.run(np.cumsum([s, s]).tolist()))
        """)
    lines = out.splitlines()
    assert lines == ["[8.0, array([2., 4.], dtype=float32), 9.0]", "3.0 [3.0, 6.0]"]
