"""Models behind the interfaces of TensorFlow Serving: gRPC and REST over sessions."""
