"""The modules of Horovod 0.21 for TensorFlow and Keras, on torch.distributed.

They are served under Horovod's names where Horovod itself is not installed (`served.py`).
"""
