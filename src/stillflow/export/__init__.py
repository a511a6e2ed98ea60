"""Models of TensorFlow 1 as PyTorch modules and as files of other formats.

import stillflow.export
model = stillflow.export.to_torch(session, ["x:0"], ["logits:0"], path="exported")
"""

from stillflow.export.onnx_export import to_onnx as to_onnx
from stillflow.export.problems import ExportError as ExportError
from stillflow.export.pt2_export import to_pt2 as to_pt2
from stillflow.export.torch_export import to_torch as to_torch
