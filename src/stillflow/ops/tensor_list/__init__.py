"""Lists of tensors as values: TensorListPushBack, TensorListStack and the like."""
