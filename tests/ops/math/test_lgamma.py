"""The logarithm of the gamma function against its values in double precision."""

import math

import numpy as np
import torch

import stillflow as tf


def stated_error():
    """Return the largest error, in units in the last place, that the library of the kernel states.

    SLEEF's vector loops are within 1.0; without them it is lgammaf of the C library, for which
    glibc's manual gives 7 on x86-64.
    """
    return 7.0 if torch.backends.cpu.get_cpu_capability() == "DEFAULT" else 1.0


def test_float32_is_as_near_as_its_kernel_states():
    x = np.concatenate([np.linspace(3, 20, 4000), np.geomspace(20, 1e6, 2000)]).astype(np.float32)
    exact = np.array([math.lgamma(value) for value in x])
    with tf.Session() as session:
        found = session.run(tf.lgamma(x))
    unit = np.spacing(exact.astype(np.float32))
    # TensorFlow's is 1.97 units off at 9.393577; the exact value, rounded, 0.5.
    assert np.max(np.abs(found - exact) / unit) < stated_error()
