"""Sources of operations over PyTorch, where their kernels are not the plainest form.

Kernels check their arguments in TensorFlow's words and choose between ways to compute; a model that
people own does what the operation means. Each function here is a part of the op's card, as its
kernel is; the modules are read only when something is exported.
"""
