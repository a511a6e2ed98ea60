"""The ops with which optimizers change variables: ApplyAdam, SparseApplyMomentum, ..."""
