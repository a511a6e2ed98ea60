"""Layers put together: models, and how they are trained."""
