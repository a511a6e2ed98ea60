"""Checks of values, shapes and types: `tf.assert_equal`, `tf.debugging`."""
