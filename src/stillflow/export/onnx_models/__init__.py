"""ONNX models of exported programs: the part of `stillflow.export.to_onnx` that needs ONNX."""
