"""Ops that call functions of the graph's library."""
