"""ONNX forms of operations that few exported models have, which take more than an expression."""

from stillflow.export.onnx_models import models as models
from stillflow_contrib.onnx_models import complex_numbers as complex_numbers
from stillflow_contrib.onnx_models import images as images
from stillflow_contrib.onnx_models import lists as lists
from stillflow_contrib.onnx_models import matrices as matrices
from stillflow_contrib.onnx_models import quantization as quantization
from stillflow_contrib.onnx_models import ragged as ragged
from stillflow_contrib.onnx_models import recurrent as recurrent
from stillflow_contrib.onnx_models import sampling as sampling
from stillflow_contrib.onnx_models import sets as sets
from stillflow_contrib.onnx_models import sparse as sparse
from stillflow_contrib.onnx_models import suppression as suppression
from stillflow_contrib.onnx_models import texts as texts
