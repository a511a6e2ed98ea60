"""Operations of boosted trees of contrib: quantiles of features, gathered in resources."""
