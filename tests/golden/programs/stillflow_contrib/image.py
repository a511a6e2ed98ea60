"""tf.contrib.image: transforms, warps, splines, components, matching, stereograms."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

IMAGES = (np.sin(np.arange(2 * 6 * 7 * 3) * 0.7) * 100).reshape(2, 6, 7, 3)
ROUNDING = "products of small matrices are rounded otherwise"
TURNS = "sines and cosines are rounded otherwise"


@program(rtol=1e-5, atol=1e-4, reason=TURNS)
def rotated(tf):
    x = tf.placeholder(tf.float32, [2, 6, 7, 3])
    fetches = {}
    for way in ("NEAREST", "BILINEAR"):
        fetches[way] = tf.contrib.image.rotate(x, [0.3, -2.0], way)
        fetches[f"{way}_one"] = tf.contrib.image.rotate(x[0], np.pi / 2, way.lower())
        fetches[f"{way}_gray"] = tf.contrib.image.rotate(x[0, :, :, 0], 1.0, way, name="turn")
    return Run(fetches, {x: IMAGES})


@program(rtol=1e-5, atol=1e-4, reason=TURNS)
def rotated_of_each_type(tf):
    types = (tf.uint8, tf.int32, tf.int64, tf.float16, tf.float64)
    fetches = {}
    for dtype in types:
        image = tf.constant(np.abs(IMAGES).astype(dtype.as_numpy_dtype))
        for way in ("NEAREST", "BILINEAR"):
            fetches[f"{dtype.name}_{way}"] = tf.contrib.image.rotate(image, 0.4, way)
    return Run(fetches)


@program
def translated(tf):
    x = tf.placeholder(tf.float32, [None, None, None, 3])
    moves = tf.constant([[1.0, 2.0], [-0.5, 0.25]])
    fetches = {way: tf.contrib.image.translate(x, moves, way) for way in ("NEAREST", "BILINEAR")}
    fetches["one"] = tf.contrib.image.translate(x, [1.5, -2.5])
    return Run(fetches, {x: IMAGES})


@program
def transformed_to_another_size(tf):
    x = tf.placeholder(tf.float32, [2, 6, 7, 3])
    tilt = [1.1, 0.2, -0.7, 0.3, 0.9, 0.4, 0.01, 0.02]
    zoom = [0.5, 0, 0, 0, 0.5, 0, 0, 0]
    nowhere = [1, 0, 0, 0, 1, 0, -0.5, 0]
    fetches = {}
    for way in ("NEAREST", "BILINEAR"):
        fetches[way] = tf.contrib.image.transform(x, [tilt, zoom], way, [4, 9])
        fetches[f"{way}_nowhere"] = tf.contrib.image.transform(x, nowhere, way)
    size = tf.placeholder(tf.int32, [2])
    fetches["any_size"] = tf.contrib.image.transform(x, zoom, output_shape=size)
    return Run(fetches, {x: IMAGES, size: [3, 2]})


@program(rtol=1e-4, atol=1e-3, reason=ROUNDING)
def gradients_of_transforms(tf):
    x = tf.placeholder(tf.float32, [2, 6, 7, 3])
    turned = tf.contrib.image.rotate(x, [0.3, 1.0], "BILINEAR")
    moved = tf.contrib.image.translate(x, [1.0, 2.0])
    sized = tf.contrib.image.transform(x, [0.5, 0, 0, 0, 0.5, 0, 0, 0], "BILINEAR", [4, 3])
    fetches = {
        name: tf.gradients(tf.square(y), x)[0]
        for name, y in (("turned", turned), ("moved", moved), ("sized", sized))
    }
    return Run(fetches, {x: IMAGES})


@program(rtol=1e-5, atol=1e-5, reason=ROUNDING)
def transforms_composed(tf):
    turn = tf.contrib.image.angles_to_projective_transforms([0.3, 0.5], 6.0, 7.0, name="turn")
    move = tf.contrib.image.translations_to_projective_transforms([1.0, 2.0])
    matrices = tf.contrib.image.flat_transforms_to_matrices(turn)
    fetches = {
        "turn": turn,
        "move": move,
        "matrices": matrices,
        "flat": tf.contrib.image.matrices_to_flat_transforms(matrices * 2),
        "composed": tf.contrib.image.compose_transforms(turn[0], move, turn[1]),
    }
    return Run(fetches)


@program
def refusals_of_transforms(tf):
    image = tf.contrib.image
    x = tf.zeros([2, 6, 7, 3])
    unknown = tf.placeholder(tf.float32)
    return Run(
        facts={
            "type": raised(image.rotate, tf.zeros([3, 3], tf.uint16), 1.0),
            "rank": raised(image.rotate, tf.zeros([3]), 1.0),
            "angles": raised(image.rotate, x, [[1.0]]),
            "unknown": raised(image.rotate, unknown, 1.0),
            "moves": raised(image.translate, x, [[[1.0, 2.0]]]),
            "size": raised(image.transform, x, [1.0] * 8, "NEAREST", [1, 2, 3]),
            "transforms": raised(image.transform, x, [[[1.0] * 8]]),
            "components": raised(image.connected_components, tf.zeros([3])),
            "warp_rank": raised(image.dense_image_warp, x[0], x[0]),
        }
    )


@program(rtol=1e-4, atol=1e-3, reason=ROUNDING)
def dense_warps(tf):
    x = tf.placeholder(tf.float32, [2, 6, 7, 3])
    flow = tf.placeholder(tf.float32, [2, 6, 7, 2])
    warped = tf.contrib.image.dense_image_warp(x, flow)
    slopes = tf.gradients(tf.square(warped), [x, flow])
    flows = (np.cos(np.arange(2 * 6 * 7 * 2) * 0.3) * 3).reshape(2, 6, 7, 2)
    return Run({"warped": warped, "slopes": slopes}, {x: IMAGES, flow: flows})


@program(rtol=1e-3, atol=1e-3, reason="systems of equations are solved in another order")
def splines_of_every_order(tf):
    points = tf.constant(np.sin(np.arange(20) * 1.7).reshape(2, 5, 2))
    values = tf.constant(np.cos(np.arange(30) * 0.9).reshape(2, 5, 3))
    places = tf.constant(np.linspace(-1, 1, 24).reshape(2, 6, 2))
    fetches = {}
    for order in (1, 2, 3, 4, 6):
        spline = tf.contrib.image.interpolate_spline(points, values, places, order)
        fetches[f"order_{order}"] = spline
    smooth = tf.contrib.image.interpolate_spline(points, values, places, 2, 0.1, name="smooth")
    fetches["smooth"] = smooth
    fetches["slopes"] = tf.gradients(smooth, [values, places])
    return Run(fetches)


@program(rtol=1e-3, atol=1e-2, reason="systems of equations are solved in another order")
def sparse_warps(tf):
    x = tf.placeholder(tf.float32, [2, 6, 7, 3])
    start = tf.constant([[[1.0, 1.0], [4.0, 5.0], [2.0, 4.0]]] * 2)
    end = tf.constant([[[1.5, 1.0], [3.0, 5.0], [2.0, 3.0]]] * 2)
    fetches = {}
    for points in (0, 1, 3):
        warped = tf.contrib.image.sparse_image_warp(x, start, end, num_boundary_points=points)
        fetches[f"warped_{points}"], fetches[f"flow_{points}"] = warped
    return Run(fetches, {x: IMAGES})


@program
def components_of_images(tf):
    image = np.array([[1, 1, 0, 2, 2], [0, 1, 2, 2, 0], [3, 0, 0, 2, 3], [3, 3, 3, 3, 3]])
    ring = np.array([[1, 1, 1, 1, 1], [1, 0, 0, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 0, 1]])
    given = {
        "one": (tf.int64, image),
        "batch": (tf.uint8, np.stack([image, ring])),
        "bool": (tf.bool, ring > 0),
        "float": (tf.float32, image * 0.5),
        "none": (tf.int32, np.zeros([2, 3, 3])),
        "all": (tf.int16, np.ones([3, 3])),
        "words": (tf.string, [["a", "a", ""], ["b", "a", "b"]]),
    }
    fetches, feeds = {}, {}
    for name, (dtype, value) in given.items():
        x = tf.placeholder(dtype, np.shape(value))
        fetches[name], feeds[x] = tf.contrib.image.connected_components(x), value
    return Run(fetches, feeds)


@program
def greedy_matches(tf):
    match = tf.contrib.image.bipartite_match
    distances = tf.placeholder(tf.float32, [4, 5])
    equal = tf.constant(np.floor(np.arange(20) % 3).reshape(4, 5).astype(np.float32))
    given = np.abs(np.sin(np.arange(20) * 1.3)).reshape(4, 5)
    fetches = {
        "all": match(distances, -1.0),
        "some_rows": match(distances, [2.0], name="two"),
        "top": match(distances, 4.0, 2),
        "equal": match(equal, -1.0),
    }
    return [
        Run(fetches, {distances: given}),
        Run({"x": match(distances, 5.0)}, {distances: given}, fails=True),
    ]


@program
def stereogram(tf):
    depths = (np.sin(np.arange(30 * 40) * 0.05).reshape(30, 40) * 3).astype(np.float32)
    image = tf.contrib.image.single_image_random_dot_stereograms(
        depths,
        output_image_shape=[100, 60, 1],
        output_data_window=[90, 50],
        convergence_dots_size=4,
    )
    return Run({"image": tf.shape(image), "brightest": tf.reduce_max(image) > 200})
