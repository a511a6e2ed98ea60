"""Operands that kernels reject, with their own messages: their shapes are unknown before."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program


def refusals(tf, op, given, *changes, **attrs):
    """Run one node for each set of operands that `op` rejects, with the others as given."""
    runs = []
    for changed in changes:
        values = {**given, **changed}
        fed = {
            name: tf.placeholder(tf.as_dtype(np.asarray(value).dtype))
            for name, value in values.items()
        }
        made = getattr(tf.raw_ops, op)(**fed, **attrs)
        first = made[0] if isinstance(made, (tuple, list)) else made
        feeds = {fed[name]: value for name, value in values.items()}
        runs.append(Run({"out": first}, feeds, fails=True))
    return runs


def zeros(*sizes):
    return np.zeros(sizes, np.float32)


SQUARE = np.float32([[2, 1], [1, 3]])
COLUMN = np.float32([[1], [2]])


@program
def square_matrices(tf):
    names = ("Lu", "MatrixDeterminant")  # code after an error reads no other memory
    return [run for name in names
            for run in refusals(tf, name, {"input": SQUARE}, {"input": zeros(2, 3)})]


@program
def least_squares(tf):
    given = {"matrix": SQUARE, "rhs": COLUMN, "l2_regularizer": np.float64(0)}
    wrong = ({"l2_regularizer": np.float64([0])},
             {"l2_regularizer": np.float64(-1)}, {"matrix": zeros(2, 2)},
             {"matrix": zeros(2, 3)})
    return [*refusals(tf, "MatrixSolveLs", given, *wrong, fast=True),
            *refusals(tf, "MatrixSolveLs", given, wrong[1], fast=False)]


@program
def bands(tf):
    given = {"input": SQUARE, "num_lower": np.int64(1), "num_upper": np.int64(1)}
    wrong = ({"input": zeros(2)}, {"num_lower": np.int64([1])}, {"num_upper": np.int64([1])},
             {"num_lower": np.int64(5)})
    return refusals(tf, "MatrixBandPart", given, *wrong)


@program
def lengths_of_transforms(tf):
    real, spectrum = np.ones([2, 4], np.float32), np.ones([2, 4], np.complex64)
    wrong = ({"fft_length": np.int32([-1])}, {"fft_length": np.int32([8])})
    return [*refusals(tf, "RFFT", {"input": real, "fft_length": np.int32([4])}, *wrong),
            *refusals(tf, "IRFFT", {"input": spectrum, "fft_length": np.int32([4])}, *wrong),
            *refusals(tf, "FFT2D", {"input": spectrum}, {"input": spectrum[0]})]


@program
def nearly_equal_numbers(tf):
    given = {"x": zeros(3), "y": zeros(3)}
    return refusals(tf, "ApproximateEqual", given, {"y": zeros(3, 1)}, {"x": zeros(4)})


@program
def bounds(tf):
    given = {"t": zeros(2, 2), "clip_value_min": np.float32(0), "clip_value_max": np.float32(1)}
    return refusals(tf, "ClipByValue", given, {"clip_value_min": zeros(2)})


@program
def gradients_of_activations(tf):
    names = ("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad")
    pairs = {name: {"gradients": zeros(2, 3), "features": zeros(3, 3)} for name in names}
    pairs["EluGrad"] = pairs["SeluGrad"] = {"gradients": zeros(2, 3), "outputs": zeros(2)}
    return [run for name in names for run in refusals(tf, name, pairs[name], {})]


@program
def convolutions(tf):
    image, window, one = zeros(1, 4, 4, 2), zeros(2, 2, 2, 2), [1, 1, 1, 1]
    how = {"strides": one, "padding": "SAME"}
    wrong = ({"input": zeros(4, 4, 2)}, {"filter": zeros(2, 2)})
    given = {"input": image, "filter": window}
    runs = [run for name in ("Conv2D", "DepthwiseConv2dNative")
            for run in refusals(tf, name, given, *wrong, **how)]
    runs += refusals(tf, "Dilation2D", {"input": image, "filter": window[0]}, *wrong,
                     {"filter": zeros(2, 2, 3)}, rates=one, **how)
    grads = {"out_backprop": zeros(1, 4, 4, 2)}
    for_input = {"input_sizes": np.int32([1, 4, 4, 2]), "filter": window, **grads}
    for_filter = {"input": image, "filter_sizes": np.int32([2, 2, 2, 2]), **grads}
    short = {"out_backprop": zeros(4, 4, 2)}
    runs += refusals(tf, "Conv2DBackpropInput", for_input, short, **how)
    return runs + refusals(tf, "Conv2DBackpropFilter", for_filter, short, **how)


@program
def pools(tf):
    image, best = zeros(1, 4, 4, 2), zeros(1, 2, 2, 2)
    how = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    given = {"orig_input": image, "orig_output": best, "grad": best}
    wrong = [{name: zeros(2, 2)} for name in given]
    runs = refusals(tf, "MaxPoolGrad", given, *wrong, **how)
    means = {"orig_input_shape": np.int32([1, 4, 4, 2]), "grad": best}
    return runs + refusals(tf, "AvgPoolGrad", means, {"grad": zeros(2, 2)}, **how)


@program
def normalizations(tf):
    given = {"x": zeros(1, 2, 2, 3), "scale": zeros(3), "offset": zeros(3), "mean": zeros(0),
             "variance": zeros(0)}
    wrong = ({"x": zeros(2, 3)}, {"scale": zeros(1, 3)}, {"mean": zeros(0, 1)})
    runs = refusals(tf, "FusedBatchNorm", given, *wrong)
    runs += refusals(tf, "BiasAdd", {"value": zeros(2, 3), "bias": zeros(3)}, {"value": zeros(3)},
                     {"bias": zeros(1, 3)})
    runs += refusals(tf, "LRN", {"input": zeros(1, 1, 1, 3)}, {}, depth_radius=-2)
    return runs + refusals(
        tf, "InTopKV2", {"predictions": zeros(2, 3), "targets": np.int32([0, 1]),
                         "k": np.int32(1)}, {"k": np.int32([1])}, {"predictions": zeros(3)})


@program
def sizes_of_images(tf):
    names = ("ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor")
    given = {"images": zeros(1, 2, 2, 3), "size": np.int32([3, 3])}
    wrong = ({"images": zeros(2, 2, 3)}, {"size": np.int32([[3, 3]])}, {"size": np.int32([3])},
             {"size": np.int32([3, 0])})
    runs = [run for name in names for run in refusals(tf, name, given, *wrong)]
    given = {"grads": zeros(1, 2, 2, 3), "original_image": zeros(1, 3, 3, 3)}
    wrong = ({"grads": zeros(2, 2)}, {"original_image": zeros(2, 2)})
    return runs + [run for name in ("ResizeBilinearGrad", "ResizeBicubicGrad")
                   for run in refusals(tf, name, given, *wrong)]


@program
def cropped_images(tf):
    boxes, place = zeros(1, 4), np.int32([0])
    given = {"image": zeros(1, 3, 3, 2), "boxes": boxes, "box_ind": place,
             "crop_size": np.int32([2, 2])}
    wrong = [{"boxes": zeros(1, 1, 4)}, {"box_ind": np.int32([[0]])}, {"boxes": zeros(1, 3)}]
    runs = refusals(tf, "CropAndResize", given, {"image": zeros(3, 3)}, *wrong)
    del given["crop_size"]
    grads = {"grads": zeros(1, 2, 2, 2)}
    runs += refusals(tf, "CropAndResizeGradBoxes", {**given, **grads}, {"grads": zeros(2)}, *wrong)
    del given["image"]
    grads["image_size"] = np.int32([1, 3, 3, 2])
    return runs + refusals(tf, "CropAndResizeGradImage", {**given, **grads}, {"grads": zeros(2)},
                           *wrong[:2], T=tf.float32)


@program
def suppressed_boxes(tf):
    given = {"boxes": zeros(2, 4), "scores": zeros(2), "max_output_size": np.int32(2),
             "iou_threshold": np.float32(0.5), "score_threshold": np.float32(0)}
    wrong = ({"boxes": zeros(4)}, {"scores": zeros(3)}, {"boxes": zeros(2, 3)},
             {"iou_threshold": np.float32([0.5])}, {"score_threshold": np.float32([0.5])},
             {"max_output_size": np.int32([2])}, {"iou_threshold": np.float32("nan")})
    return refusals(tf, "NonMaxSuppressionV3", given, *wrong)


@program
def colours(tf):
    runs = [run for name in ("RGBToHSV", "HSVToRGB")
            for run in refusals(tf, name, {"images": zeros(2, 3)}, {"images": zeros(2, 4)},
                                {"images": zeros()})]
    given = {"images": zeros(1, 1, 3), "contrast_factor": np.float32(1)}
    return runs + refusals(tf, "AdjustContrastv2", given, {"contrast_factor": np.float32([1])})


@program
def contents_of_files(tf):
    given = {"contents": np.array([b"a"], object)}
    names = ("DecodeBmp", "DecodePng", "DecodeGif", "DecodeJpeg", "ExtractJpegShape")
    runs = [run for name in names for run in refusals(tf, name, given, {})]
    picture = {"image": np.zeros([2, 2], np.uint8)}
    return runs + [run for name in ("EncodePng", "EncodeJpeg")
                   for run in refusals(tf, name, picture, {})]


@program
def distorted_boxes(tf):
    given = {"image_size": np.int32([3, 3, 3]), "bounding_boxes": zeros(1, 1, 4)}
    wrong = ({"image_size": np.int32([[3]])}, {"image_size": np.int32([3])},
             {"bounding_boxes": zeros(1, 4)}, {"bounding_boxes": zeros(1, 1, 3)})
    return refusals(tf, "SampleDistortedBoundingBox", given, *wrong, seed=1, seed2=2)


@program
def recurrent_cells(tf):
    given = {"x": zeros(2, 3), "h_prev": zeros(2, 4), "w_ru": zeros(7, 8), "w_c": zeros(7, 4),
             "b_ru": zeros(8), "b_c": zeros(4)}
    wrong = ({"h_prev": zeros(3, 4)}, {"w_ru": zeros(6, 8)}, {"w_ru": zeros(7, 7)},
             {"w_c": zeros(7, 3)}, {"b_ru": zeros(7)}, {"b_c": zeros(3)})
    runs = refusals(tf, "GRUBlockCell", given, *wrong)
    given = {"seq_len_max": np.int64(1), "x": zeros(2, 2, 3), "cs_prev": zeros(2, 4),
             "h_prev": zeros(2, 4), "w": zeros(7, 16), "wci": zeros(4), "wcf": zeros(4),
             "wco": zeros(4), "b": zeros(16)}
    wrong = ({"x": zeros(2, 3)}, {"cs_prev": zeros(4)}, {"h_prev": zeros(2, 3)}, {"w": zeros(7)},
             {"wcf": zeros()}, {"wco": zeros(3)}, {"b": zeros(4)}, {"w": zeros(6, 16)})
    return runs + refusals(tf, "BlockLSTM", given, *wrong)


@program
def paths_of_labels(tf):
    given = {"inputs": zeros(3, 2, 4), "sequence_length": np.int32([3, 3])}
    wrong = ({"inputs": zeros(3, 2)}, {"sequence_length": np.int32([[3, 3]])},
             {"sequence_length": np.int32([3])})
    return [*refusals(tf, "CTCGreedyDecoder", given, *wrong),
            *refusals(tf, "CTCBeamSearchDecoder", given, *wrong, beam_width=2, top_paths=1)]


@program
def sounds(tf):
    sound = np.ones([30, 2], np.float32)
    runs = refusals(tf, "AudioSpectrogram", {"input": sound}, {}, {"input": zeros(3)},
                    window_size=8, stride=4)
    runs += refusals(tf, "AudioSpectrogram", {"input": sound}, {}, window_size=1, stride=4)
    given = {"audio": sound, "sample_rate": np.int32(8000)}
    wrong = ({"audio": zeros(3)}, {"sample_rate": np.int32([1])}, {"sample_rate": np.int32(-1)})
    runs += refusals(tf, "EncodeWav", given, *wrong)
    given = {"spectrogram": zeros(1, 2, 65), "sample_rate": np.int32(8000)}
    return runs + refusals(tf, "Mfcc", given, {"spectrogram": zeros(2)}, wrong[1])


@program
def axes_of_scans(tf):
    changes = [{"axis": np.int32(axis)} for axis in (-7, -3, 2, 5)]
    given = {"x": SQUARE, "axis": np.int32(0)}
    return [*refusals(tf, "Cumsum", given, *changes), *refusals(tf, "Cumprod", given, *changes)]


@program
def strides_of_spectrograms(tf):
    given, other = {"input": zeros(30, 1)}, {"input": zeros(20, 1)}
    return refusals(tf, "AudioSpectrogram", given, other, window_size=7, stride=-2)


@program
def ranks_and_sizes_at_run_time(tf):
    ones, vector = np.int32([1]), np.int32([[1]])
    five = np.zeros([1, 2, 2, 1, 1], np.float32)
    return [
        *refusals(tf, "ListDiff", {"x": ones, "y": ones}, {"x": ones[0]}, {"y": vector}),
        *refusals(tf, "SpaceToDepth", {"input": zeros(2, 2)}, {}, {"input": five}, block_size=2),
        *refusals(tf, "DepthToSpace", {"input": zeros(2, 2)}, {}, {"input": five}, block_size=2),
        *refusals(tf, "UnravelIndex", {"indices": ones, "dims": ones}, {"dims": ones[0]}),
        *_sums_of_other_sizes(tf),
    ]


def _sums_of_other_sizes(tf):
    runs = []
    for sizes in ([(2, 2), (2, 2), (2, 2), (), (2, 2)], [(2,), (2, 2), (3,)], [(2, 3), (3, 2)]):
        given = [tf.placeholder(tf.float32) for _ in sizes]
        feeds = {tensor: zeros(*size) for tensor, size in zip(given, sizes)}
        runs.append(Run({"out": tf.add_n(given)}, feeds, fails=True))
    return runs


@program
def segments_that_are_too_many(tf):
    rows, ids = zeros(2, 1), {"segment_ids": np.int32([0, 2 ** 31 - 1])}
    below = {"segment_ids": np.int32([0, -3])}
    runs = []
    for name in ("SegmentSum", "SegmentMax", "SegmentMean"):
        runs += refusals(tf, name, {"data": rows}, ids, below)
    for name in ("SparseSegmentMean", "SparseSegmentSum"):
        given = {"data": rows, "indices": np.int32([0, 1])}
        runs += refusals(tf, name, given, ids)
        numbered, beyond = {**given, "num_segments": np.int32(4)}, {"segment_ids": np.int32([0, 4])}
        runs += refusals(tf, name + "WithNumSegments", numbered, ids, beyond)
    return runs
