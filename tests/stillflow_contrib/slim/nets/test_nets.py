"""Networks of `tf.contrib.slim.nets`: their names, and that checkpoints hold their variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.slim.nets import inception_cells


def test_a_layer_is_read_from_its_text() -> None:
    with tf.Graph().as_default():
        stages = inception_cells.stages_named("Conv2d_1a_1x1@3x3=8/2!VALID~0.5")
        net, end_points = inception_cells.features(
            tf.zeros([1, 9, 9, 3]), [("SAME", stages)], "Conv2d_1a_1x1", lambda depth: depth
        )
        assert list(end_points) == ["Conv2d_1a_1x1"]
        assert net.shape.as_list() == [1, 4, 4, 8]
        assert tf.global_variables("Conv2d_1a_1x1/weights")[0].shape.as_list() == [3, 3, 3, 8]


def test_branches_are_joined() -> None:
    with tf.Graph().as_default():
        cell = ("Conv2d_0a_1x1=2", "MaxPool_0a_3x3 Conv2d_0b_1x3=3|Conv2d_0c_3x1=4")
        net, _ = inception_cells.features(
            tf.zeros([1, 5, 5, 3]), [("SAME", {"Mixed": cell})], "Mixed", lambda depth: depth
        )
        assert net.shape.as_list() == [1, 5, 5, 9]
        assert [v.op.name for v in tf.global_variables("Mixed/Branch_1/.*weights")] == [
            "Mixed/Branch_1/Conv2d_0b_1x3/weights",
            "Mixed/Branch_1/Conv2d_0c_3x1/weights",
        ]


def test_names_of_the_networks() -> None:
    nets = tf.contrib.slim.nets
    assert nets.vgg.vgg_d is nets.vgg.vgg_16
    assert nets.inception.inception_v3.default_image_size == 299
    assert nets.resnet_v1.resnet_v1_50.__name__ == "resnet_v1_50"


@pytest.mark.parametrize("output_stride, size", [(None, 3), (8, 5), (4, 9)])
def test_dilation_takes_the_place_of_strides(output_stride: int | None, size: int) -> None:
    nets = tf.contrib.slim.nets.resnet_v2
    blocks = [nets.resnet_v2_block(f"block{n}", 1, 2, 2) for n in (1, 2)]
    with tf.Graph().as_default(), tf.contrib.slim.arg_scope(nets.resnet_arg_scope()):
        net, _ = nets.resnet_v2(
            tf.zeros([1, 33, 33, 3]), blocks, global_pool=False, output_stride=output_stride
        )
        assert net.shape.as_list()[1] == size


def test_a_network_loads_the_variables_that_it_saved(tmp_path: Path) -> None:
    nets = tf.contrib.slim.nets.inception
    images = np.linspace(0, 1, 2 * 32 * 32 * 3, dtype=np.float32).reshape(2, 32, 32, 3)
    found = []
    for restored in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.contrib.slim.arg_scope(nets.inception_v2_arg_scope()):
                options = {"depth_multiplier": 0.1, "min_depth": 2}
                net, _ = nets.inception_v2(tf.constant(images), 3, False, **options)
            saver = tf.train.Saver()
            if restored:
                saver.restore(session, str(tmp_path / "net"))
            else:
                session.run(tf.global_variables_initializer())
                saver.save(session, str(tmp_path / "net"))
            found.append(session.run(net))
    np.testing.assert_array_equal(*found)
