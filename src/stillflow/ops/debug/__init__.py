"""What debuggers put into graphs: copies, counts and dumps of tensors."""
