"""Networks for pictures, trained on ImageNet or not."""

from __future__ import annotations

from stillflow._export import export
from stillflow.keras.applications.library import function

DenseNet121 = function("densenet", "DenseNet121")
DenseNet169 = function("densenet", "DenseNet169")
DenseNet201 = function("densenet", "DenseNet201")
InceptionResNetV2 = function("inception_resnet_v2", "InceptionResNetV2")
InceptionV3 = function("inception_v3", "InceptionV3")
MobileNet = function("mobilenet", "MobileNet")
MobileNetV2 = function("mobilenet_v2", "MobileNetV2")
NASNetLarge = function("nasnet", "NASNetLarge")
NASNetMobile = function("nasnet", "NASNetMobile")
ResNet50 = function("resnet", "ResNet50")
ResNet101 = function("resnet", "ResNet101")
ResNet152 = function("resnet", "ResNet152")
ResNet50V2 = function("resnet_v2", "ResNet50V2")
ResNet101V2 = function("resnet_v2", "ResNet101V2")
ResNet152V2 = function("resnet_v2", "ResNet152V2")
VGG16 = function("vgg16", "VGG16")
VGG19 = function("vgg19", "VGG19")
Xception = function("xception", "Xception")

export("keras.applications.DenseNet121", "keras.applications.densenet.DenseNet121")(DenseNet121)
export("keras.applications.DenseNet169", "keras.applications.densenet.DenseNet169")(DenseNet169)
export("keras.applications.DenseNet201", "keras.applications.densenet.DenseNet201")(DenseNet201)
export(
    "keras.applications.InceptionResNetV2",
    "keras.applications.inception_resnet_v2.InceptionResNetV2",
)(InceptionResNetV2)
export("keras.applications.InceptionV3", "keras.applications.inception_v3.InceptionV3")(InceptionV3)
export("keras.applications.MobileNet", "keras.applications.mobilenet.MobileNet")(MobileNet)
export("keras.applications.MobileNetV2", "keras.applications.mobilenet_v2.MobileNetV2")(MobileNetV2)
export("keras.applications.NASNetLarge", "keras.applications.nasnet.NASNetLarge")(NASNetLarge)
export("keras.applications.NASNetMobile", "keras.applications.nasnet.NASNetMobile")(NASNetMobile)
export(
    "keras.applications.ResNet50",
    "keras.applications.resnet.ResNet50",
    "keras.applications.resnet50.ResNet50",
)(ResNet50)
export("keras.applications.ResNet101", "keras.applications.resnet.ResNet101")(ResNet101)
export("keras.applications.ResNet152", "keras.applications.resnet.ResNet152")(ResNet152)
export("keras.applications.ResNet50V2", "keras.applications.resnet_v2.ResNet50V2")(ResNet50V2)
export("keras.applications.ResNet101V2", "keras.applications.resnet_v2.ResNet101V2")(ResNet101V2)
export("keras.applications.ResNet152V2", "keras.applications.resnet_v2.ResNet152V2")(ResNet152V2)
export("keras.applications.VGG16", "keras.applications.vgg16.VGG16")(VGG16)
export("keras.applications.VGG19", "keras.applications.vgg19.VGG19")(VGG19)
export("keras.applications.Xception", "keras.applications.xception.Xception")(Xception)
