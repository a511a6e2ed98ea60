"""The modules of Horovod 0.21 for TensorFlow and Keras, on torch.distributed.

`facade/horovod_names.py` serves them under Horovod's names where Horovod itself is not installed.
"""
