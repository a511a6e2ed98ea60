"""`tf.contrib.kernel_methods`: linear models of features that approximate a kernel."""
