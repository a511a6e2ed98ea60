"""Regions of plans as ONNX models: one small rule for each operation, in milliseconds.

`to_onnx` exports a whole graph through `torch.export`, which takes half a minute for MobileNet. An
engine needs a model while the program waits, so these rules write ONNX operators directly. They
hold only operations whose errors do not depend on values; the rest stays with the plan.
"""

from stillflow.export.onnx_models.regions.converter import Converter as Converter
from stillflow.runtime.engines.region import onnx_converter

onnx_converter.provide(Converter())
