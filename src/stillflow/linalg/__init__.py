"""tf.linalg: matrices known by their structure, `LinearOperator`s; compositions over dense ops."""
