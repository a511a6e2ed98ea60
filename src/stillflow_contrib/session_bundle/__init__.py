"""`tf.contrib.session_bundle`: how models were exported before there was the SavedModel."""
