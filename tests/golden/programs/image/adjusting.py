"""Colours, contrast and boxes of images, at random and not."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

IMAGE = np.abs(np.sin(np.arange(2 * 12 * 13 * 3) * 0.7)).reshape(2, 12, 13, 3)
BYTES = (IMAGE * 255).astype(np.uint8)
SCENE = [[[0.1, 0.2, 0.7, 0.9], [0.5, 0.5, 0.9, 0.6]]]


@program(rtol=1e-4, atol=1e-5, reason="means are summed in another order")
def adjusted(tf):
    x = tf.placeholder(tf.float32, [None, 12, 13, 3])
    b = tf.placeholder(tf.uint8, [None, 12, 13, 3])
    fetches = {}
    for name, image in (("float", x), ("bytes", b)):
        fetches[name] = [
            tf.image.adjust_brightness(image, 0.2), tf.image.adjust_contrast(image, 1.7),
            tf.image.adjust_hue(image, -0.3), tf.image.adjust_saturation(image, 1.4),
            tf.image.adjust_gamma(image, 0.6, 1.1), tf.image.rgb_to_grayscale(image),
            tf.image.grayscale_to_rgb(image[..., :1]),
        ]  # fmt: skip
    fetches["spaces"] = [
        tf.image.rgb_to_hsv(x), tf.image.hsv_to_rgb(x), tf.image.rgb_to_yiq(x),
        tf.image.yiq_to_rgb(x), tf.image.rgb_to_yuv(x), tf.image.yuv_to_rgb(x),
    ]  # fmt: skip
    fetches["standard"] = tf.image.per_image_standardization(x)
    return Run(fetches, {x: IMAGE, b: BYTES})


@program(rtol=1e-4, atol=1e-4, reason="means are summed in another order")
def at_random(tf):
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [12, 13, 3])
    fetches = {
        "brightness": tf.image.random_brightness(x, 0.4),
        "contrast": tf.image.random_contrast(x, 0.3, 1.8, seed=2),
        "hue": tf.image.random_hue(x, 0.4, seed=3),
        "saturation": tf.image.random_saturation(x, 0.3, 1.8),
    }
    return Run(fetches, {x: IMAGE[0]}, steps=3)


@program(rtol=1e-4, atol=1e-4, reason="quotients of small differences")
def colour_gradient(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    return Run({"slopes": tf.gradients(tf.image.rgb_to_hsv(x), x)}, {x: IMAGE.reshape(-1, 3)})


@program
def types(tf):
    fetches = {}
    kinds = (tf.uint8, tf.int32, tf.float32, tf.float64)
    for start in kinds:
        values = IMAGE[0, 0] * (1 if start.is_floating else 100)
        image = tf.constant(values.astype(start.as_numpy_dtype))
        fetches[start.name] = [
            tf.image.convert_image_dtype(image, end, saturate)
            for end in kinds
            for saturate in (False, True)
            if not (start.is_floating and end == tf.int32)
        ]
    return Run(fetches)


@program(rtol=1e-4, atol=1e-4, reason="sums are taken in another order")
def differences(tf):
    a = tf.placeholder(tf.float32, [None, 12, 13, 3])
    b = tf.placeholder(tf.float32, [None, 12, 13, 3])
    fetches = {
        "psnr": tf.image.psnr(a, b, 1.0),
        "ssim": tf.image.ssim(a, b, 1.0),
        "scales": tf.image.ssim_multiscale(a, b, 1.0, (0.4, 0.6), filter_size=5),
        "variation": tf.image.total_variation(a),
        "sobel": tf.image.sobel_edges(a),
        "gradients": tf.image.image_gradients(a),
    }
    return Run(fetches, {a: IMAGE, b: IMAGE[::-1] * 0.9})


@program
def boxes_at_random(tf):
    tf.set_random_seed(5)
    fetches = {}
    for index, options in enumerate(({}, {"seed": 3, "seed2": 8}, {"area_range": [0.5, 0.9]})):
        options.setdefault("seed", 11)
        fetches[f"box{index}"] = tf.image.sample_distorted_bounding_box(
            [70, 91, 3], SCENE, min_object_covered=0.3, **options
        )
    return Run(fetches, steps=5)


@program
def best_boxes(tf):
    rng = np.random.RandomState(0)
    start = rng.uniform(0, 1, (30, 2))
    boxes = np.concatenate([start, start + rng.uniform(0.1, 0.5, (30, 2))], 1).astype(np.float32)
    scores = rng.uniform(0, 1, 30).astype(np.float32)
    ties = np.round(scores * 4).astype(np.float32)
    image = tf.image
    fetches = {
        "plain": image.non_max_suppression(boxes, scores, 10, 0.3),
        "threshold": image.non_max_suppression(boxes, scores, 30, 0.3, 0.5),
        "ties": image.non_max_suppression(boxes, ties, 30, 0.3),
        "padded": image.non_max_suppression_padded(boxes, scores, 25, 0.2, 0.1, True),
        "soft": image.non_max_suppression_with_scores(boxes, scores, 25, 1.0, 0.1, 0.4),
        "overlaps": image.non_max_suppression_overlaps(
            np.outer(scores, scores), scores, 9, 0.5, 0.1
        ),
        "one-sided overlaps": image.non_max_suppression_overlaps(
            rng.uniform(0, 1, (30, 30)).astype(np.float32), scores, 9, 0.5
        ),
        "combined": image.combined_non_max_suppression(
            boxes[None, :, None], scores.reshape(1, 30, 1), 5, 8, 0.3
        ),
        "drawn": image.draw_bounding_boxes(IMAGE.astype(np.float32), SCENE * 2),
        "coloured": image.draw_bounding_boxes(
            IMAGE.astype(np.float32), SCENE * 2, colors=[[1.0, 2.0, 3.0]]
        ),
        "glimpse": image.extract_glimpse(IMAGE.astype(np.float32), [4, 5], [[0.0, 0.1]] * 2),
    }
    return Run(fetches)
