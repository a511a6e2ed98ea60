"""Gradients of a graph: `tf.gradients`, how they are added up, and `tf.hessians`."""
