"""Operations of compiled libraries: C++ written for TensorFlow's API, with its cards and kernels.

`library` loads a shared library and makes a card of every operation that it registers; `interface`
speaks its plain C interface (`include/stillflow/abi.h`); `declarations` reads the texts of
REGISTER_OP; `inference` runs shape functions; `choice` finds the kernel for a node; `running`
calls kernels on run-time values.
"""
