"""Parts of tf.lite.experimental."""
