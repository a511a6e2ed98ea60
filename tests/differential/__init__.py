"""Random programs under Stillflow and under TensorFlow 1.15.5, and how they differ (README.md)."""
