"""Recurrent networks: cells applied to sequences."""
