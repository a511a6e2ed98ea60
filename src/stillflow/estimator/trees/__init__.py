"""Estimators of boosted trees."""
