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

/* Adds the gradients and Hessians of examples to the sums of their node and bucket.

   Buckets beyond the last one are counted in the following nodes, or nowhere.
   width: numbers of an example, the first of which counts.
   sums: double [nodes * buckets, 2].
   Returns whether all nodes and buckets are there. */
PUBLIC int64_t sum_stats(const int32_t *node_ids, const float *gradients, const float *hessians,
                         int64_t width, const int32_t *bucket_ids, int64_t examples,
                         int64_t nodes, int64_t buckets, double *sums) {
    for (int64_t i = 0; i < examples; i++) {
        int64_t node = node_ids[i], bucket = bucket_ids[i], place = node * buckets + bucket;
        if (node < 0 || node >= nodes || bucket < 0) return 0;
        if (place >= nodes * buckets) continue;
        sums[2 * place] += gradients[i * width];
        sums[2 * place + 1] += hessians[i * width];
    }
    return 1;
}
