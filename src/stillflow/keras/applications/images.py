"""Inputs of networks for pictures, and the meanings of their outputs."""

from __future__ import annotations

from stillflow._export import export
from stillflow.keras.applications.library import function

decode_predictions = function("imagenet_utils", "decode_predictions")
densenet_input = function("densenet", "preprocess_input")
imagenet_utils_input = function("imagenet_utils", "preprocess_input")
inception_resnet_v2_input = function("inception_resnet_v2", "preprocess_input")
inception_v3_input = function("inception_v3", "preprocess_input")
mobilenet_input = function("mobilenet", "preprocess_input")
mobilenet_v2_input = function("mobilenet_v2", "preprocess_input")
nasnet_input = function("nasnet", "preprocess_input")
resnet_input = function("resnet", "preprocess_input")
resnet_v2_input = function("resnet_v2", "preprocess_input")
vgg16_input = function("vgg16", "preprocess_input")
vgg19_input = function("vgg19", "preprocess_input")
xception_input = function("xception", "preprocess_input")

export(
    "keras.applications.densenet.decode_predictions",
    "keras.applications.imagenet_utils.decode_predictions",
    "keras.applications.inception_resnet_v2.decode_predictions",
    "keras.applications.inception_v3.decode_predictions",
    "keras.applications.mobilenet.decode_predictions",
    "keras.applications.mobilenet_v2.decode_predictions",
    "keras.applications.nasnet.decode_predictions",
    "keras.applications.resnet.decode_predictions",
    "keras.applications.resnet_v2.decode_predictions",
    "keras.applications.vgg16.decode_predictions",
    "keras.applications.vgg19.decode_predictions",
    "keras.applications.xception.decode_predictions",
    "keras.applications.resnet50.decode_predictions",
)(decode_predictions)
export("keras.applications.densenet.preprocess_input")(densenet_input)
export("keras.applications.imagenet_utils.preprocess_input")(imagenet_utils_input)
export("keras.applications.inception_resnet_v2.preprocess_input")(inception_resnet_v2_input)
export("keras.applications.inception_v3.preprocess_input")(inception_v3_input)
export("keras.applications.mobilenet.preprocess_input")(mobilenet_input)
export("keras.applications.mobilenet_v2.preprocess_input")(mobilenet_v2_input)
export("keras.applications.nasnet.preprocess_input")(nasnet_input)
export(
    "keras.applications.resnet.preprocess_input",
    "keras.applications.resnet50.preprocess_input",
)(resnet_input)
export("keras.applications.resnet_v2.preprocess_input")(resnet_v2_input)
export("keras.applications.vgg16.preprocess_input")(vgg16_input)
export("keras.applications.vgg19.preprocess_input")(vgg19_input)
export("keras.applications.xception.preprocess_input")(xception_input)
