"""Sources of operations over PyTorch, where their kernels are not the plainest form.

Kernels check their arguments with TensorFlow's messages and choose between ways to compute; an
exported model only computes the operation's result. Each function here is a part of the op's card,
as its kernel is; the modules are read only when something is exported.
"""
