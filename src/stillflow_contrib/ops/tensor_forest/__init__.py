"""Operations of random forests that grow while examples come: trees, statistics, growth."""
