"""`tf.contrib.quantization`: operations on quantized tensors, and on others."""
