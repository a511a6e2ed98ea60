"""Resizing, cropping and turning images, with gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

IMAGE = (np.sin(np.arange(2 * 7 * 9 * 3) * 0.7) * 100).reshape(2, 7, 9, 3)
SIZES = ((3, 4), (7, 9), (12, 20), (1, 1), (14, 5))


def _matrix(tf, dtype, align):
    x = tf.placeholder(dtype, [2, 7, 9, 3])
    fetches = {}
    for method in range(4):
        for height, width in SIZES:
            name = f"{method}_{height}_{width}"
            fetches[name] = tf.image.resize_images(x, [height, width], method, align)
    return Run(fetches, {x: IMAGE.astype(dtype.as_numpy_dtype)})


@program(rtol=1e-5, atol=1e-4, reason="weighted sums are taken in another order")
def floats(tf):
    return [_matrix(tf, tf.float32, align) for align in (False, True)]


@program(rtol=1e-5, atol=1e-4, reason="weighted sums are taken in another order")
def other_types(tf):
    types = (tf.uint8, tf.int32, tf.float64, tf.float16)
    return [_matrix(tf, dtype, False) for dtype in types]


@program(rtol=1e-5, atol=1e-4, reason="weighted sums are taken in another order")
def gradients(tf):
    x = tf.placeholder(tf.float32, [2, 7, 9, 3])
    y = tf.placeholder(tf.float32, [None, None, None, 3])
    fetches = {}
    for name in ("resize_bilinear", "resize_bicubic", "resize_nearest_neighbor"):
        for image in (x, y):
            for options in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
                if name == "resize_nearest_neighbor" and "half_pixel_centers" in options:
                    continue
                resized = getattr(tf.image, name)(image, [5, 12], **options)
                key = f"{name}_{image is x}_" + "".join(options)
                fetches[key] = [resized, tf.gradients(tf.square(resized), image)[0]]
    return Run(fetches, {x: IMAGE, y: IMAGE})


@program(rtol=1e-5, atol=1e-4, reason="weighted sums are taken in another order")
def boxes_cropped_and_resized(tf):
    x = tf.placeholder(tf.float32, [2, 7, 9, 3])
    boxes = tf.constant([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.3, 1.3, 0.5], [0.9, 0.8, 0.1, 0.2]])
    fetches = {}
    for method in ("bilinear", "nearest"):
        for size in ([4, 5], [1, 1]):
            crops = tf.image.crop_and_resize(x, boxes, [0, 1, 0], size, method, 0.5)
            fetches[f"{method}_{size[0]}"] = crops
            fetches[f"{method}_{size[0]}_slopes"] = tf.gradients(tf.square(crops), [x, boxes])
    return Run(fetches, {x: IMAGE})


@program
def refused_sizes(tf):
    x = tf.constant(IMAGE, tf.float32)
    return Run(
        facts={
            "rank": raised(tf.image.resize_images, x[0, 0], [2, 2]),
            "size": raised(tf.image.resize_images, x, [2, 2, 2]),
            "method": raised(tf.image.resize_images, x, [2, 2], 7),
            "offset": raised(tf.image.crop_to_bounding_box, x, -1, 0, 2, 2),
            "large": raised(tf.image.crop_to_bounding_box, x, 0, 0, 8, 2),
            "pad": raised(tf.image.pad_to_bounding_box, x, 0, 0, 3, 20),
            "fraction": raised(tf.image.central_crop, x, 1.5),
        }
    )


@program(rtol=1e-5, atol=1e-4, reason="weighted sums are taken in another order")
def to_a_size(tf):
    known = tf.placeholder(tf.float32, [2, 7, 9, 3])
    image = tf.placeholder(tf.float32, [None, None, 3])
    height = tf.placeholder(tf.int32, [])
    fetches = {}
    for name, x in (("known", known), ("unknown", image)):
        fetches[name] = [
            tf.image.resize_image_with_crop_or_pad(x, 10, 5),
            tf.image.resize_image_with_pad(x, 10, 6),
            tf.image.resize_image_with_crop_or_pad(x, height, 11),
            tf.image.central_crop(x, 0.5),
            tf.image.pad_to_bounding_box(x, 1, 2, 12, 14),
            tf.image.crop_to_bounding_box(x, 1, 2, 3, 4),
            tf.image.resize_images(x, [4, 4], preserve_aspect_ratio=True),
        ]
    return Run(fetches, {known: IMAGE, image: IMAGE[0], height: 4})


@program
def flips_and_turns(tf):
    known = tf.placeholder(tf.float32, [2, 7, 9, 3])
    image = tf.placeholder(tf.float32, [None, None, 3])
    k = tf.placeholder(tf.int32, [])
    fetches = {}
    for name, x in (("known", known), ("unknown", image)):
        fetches[name] = [
            tf.image.flip_left_right(x), tf.image.flip_up_down(x), tf.image.transpose_image(x),
            tf.image.rot90(x), tf.image.rot90(x, k), tf.image.random_flip_left_right(x, seed=3),
            tf.image.random_flip_up_down(x, seed=4),
        ]  # fmt: skip
    return Run(fetches, {known: IMAGE, image: IMAGE[0], k: 3}, steps=3)


METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
           "mitchellcubic")  # fmt: skip


@program(rtol=1e-5, atol=1e-3, reason="weighted sums are taken in another order")
def second_version(tf):
    x = tf.placeholder(tf.float32, [2, 7, 9, 3])
    y = tf.placeholder(tf.uint8, [None, None, None, 3])
    resize = tf.compat.v2.image.resize
    fetches = {}
    for method in METHODS:
        for antialias in (False, True):
            name = f"{method}_{antialias}"
            sizes = [resize(x, size, method, antialias=antialias) for size in SIZES]
            fetches[name] = [*sizes, resize(y, [5, 4], method, antialias=antialias)]
    pad = tf.compat.v2.image.resize_with_pad
    fetches["kept"] = resize(x, [5, 20], preserve_aspect_ratio=True)
    fetches["padded"] = [pad(x, 10, 5), pad(x[0], 4, 12, "lanczos3", True)]
    facts = {"method": raised(resize, x, [3, 4], "none"), "rank": raised(resize, x[0, 0], [3, 4])}
    return Run(fetches, {x: IMAGE, y: np.abs(IMAGE).astype(np.uint8)}, facts=facts)


@program(rtol=1e-5, atol=1e-4, reason="weighted sums are taken in another order")
def scaled_and_moved(tf):
    x = tf.placeholder(tf.float32, [2, 7, 9, 3])
    fetches = {}
    for kernel in ("lanczos1", "lanczos3", "gaussian", "box", "triangle", "keyscubic"):
        for scale, move in (([0.6, 1.7], [0.4, -1.2]), ([2.0, 0.3], [-3.0, 5.0])):
            made = tf.raw_ops.ScaleAndTranslate(
                images=x, size=[8, 5], scale=scale, translation=move, kernel_type=kernel
            )
            fetches[f"{kernel}_{scale[0]}"] = [made, tf.gradients(tf.square(made), x)[0]]
    bad = {"images": x, "size": [2, 2], "scale": [1.0, 1.0], "translation": [0.0, 0.0]}
    runs = [Run(fetches, {x: IMAGE})]
    for key, value in (("scale", [0.0, 1.0]), ("scale", [1.0]), ("size", [0, 1])):
        made = tf.raw_ops.ScaleAndTranslate(**dict(bad, **{key: value}))
        runs.append(Run({"x": made}, {x: IMAGE}, fails=True))
    return runs


@program(rtol=1e-5, atol=1e-4, reason="weighted sums are taken in another order")
def second_version_of_the_rest(tf):
    v2 = tf.compat.v2.image
    x = tf.placeholder(tf.float32, [2, 7, 9, 3])
    boxes = tf.constant([[0.1, 0.2, 0.8, 0.9], [0.9, 0.8, 0.1, 0.2]])
    drawn = tf.constant([[[0.1, 0.1, 0.8, 0.7]], [[0.2, 0.0, 0.9, 0.6]]])
    tf.set_random_seed(3)
    fetches = {
        "crops": v2.crop_and_resize(x, boxes, [0, 1], [3, 4]),
        "glimpse": v2.extract_glimpse(x, [12, 4], [[0.1, 0.2], [-0.4, 0.9]], noise="zero"),
        "drawn": v2.draw_bounding_boxes(x, drawn, [[200.0, 0.0, 100.0]]),
        "usual": v2.draw_bounding_boxes(x, drawn, None),
        "sampled": v2.sample_distorted_bounding_box([40, 50, 3], drawn, seed=4),
    }
    return Run(fetches, {x: IMAGE})
