"""Inputs of runs that go on at the same time, computed together: Batch, Unbatch, BatchFunction."""
