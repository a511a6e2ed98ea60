/* Sums of gradients by bucket: src/stillflow/ops/boosted_trees/stats.py. */
#include "native.h"

/* Adds values, float [examples, stats], to the sums of their node and of the bucket of each
   feature.

   features: int32 [examples, dimensions], at most `missing`, which is also that of -1.
   sums: double [nodes, dimensions, missing + 1, stats].
   Returns whether all buckets are there. */
PUBLIC int64_t aggregate_stats(const int32_t *nodes, const float *values, const int32_t *features,
                               int64_t examples, int64_t dimensions, int64_t missing,
                               int64_t stats, double *sums) {
    int64_t width = (missing + 1) * stats;
    for (int64_t i = 0; i < examples; i++, values += stats) {
        double *of_node = sums + nodes[i] * dimensions * width;
        for (int64_t j = 0; j < dimensions; j++, of_node += width) {
            int64_t bucket = *features++;
            if (bucket == -1) bucket = missing;
            if (bucket < 0 || bucket > missing) return 0;
            double *sum = of_node + bucket * stats;
            for (int64_t k = 0; k < stats; k++) sum[k] += values[k];
        }
    }
    return 1;
}
