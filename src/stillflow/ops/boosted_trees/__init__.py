"""Operations of boosted trees: ensembles, their growth and predictions, statistics, quantiles."""
