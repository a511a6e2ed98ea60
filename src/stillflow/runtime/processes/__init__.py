"""Processes of one program: their ranks, and collective operations on torch.distributed."""
