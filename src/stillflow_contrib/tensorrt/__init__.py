"""`tf.contrib.tensorrt`: graphs made ready for TensorRT, which is not supported."""
