"""Every card's samples on a CUDA device, real or simulated, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.sampling import arrays_of, build

import stillflow as tf
from stillflow.graph import card as cards
from stillflow.ops.samples import Sample

ALL = {name: card for name, card in sorted(cards.load_all().items()) if card.samples_part}


# Vectors with an arbitrary sign: results that depend on them are compared elsewhere.
SIGNS = ("SelfAdjointEig", "SelfAdjointEigV2", "Svd")


def without_signs(name, array):
    return np.abs(array) if name.removeprefix("Batch") in SIGNS else array


def results(card, sample, **config):
    """Return a sample's results in a session with this configuration."""
    built = build(card, arrays_of(card, sample), sample.attrs, "sizes", sample.fixed)
    with tf.Session(graph=built.graph, config=tf.ConfigProto(**config)) as session:
        return session.run(built.outputs, built.feeds)


@pytest.mark.parametrize("name", [name for name, card in ALL.items() if card.signature.outputs])
def test_gives_what_the_cpu_gives(name, cuda):
    card = ALL[name]
    for sample in card.samples_part():
        if not isinstance(sample, Sample):
            continue
        on_cpu = results(card, sample, device_count={"GPU": 0})
        on_gpu = results(card, sample)
        for expected, found in zip(on_cpu, on_gpu, strict=True):
            if not hasattr(expected, "dtype"):
                continue  # a handle
            assert found.shape == expected.shape and found.dtype == expected.dtype
            if card.foldable and expected.dtype != object:
                wide = np.complex128 if np.iscomplexobj(expected) else np.float64
                np.testing.assert_allclose(
                    without_signs(name, found.astype(wide)),
                    without_signs(name, expected.astype(wide)),
                    rtol=1e-3,
                    atol=1e-4,
                )
