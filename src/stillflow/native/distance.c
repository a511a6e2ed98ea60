/* How far sequences are apart: src/stillflow/ops/arrays/edit_distance.py. */
#include "native.h"

#include <stdlib.h>

typedef struct {
    const int64_t *items, *ends;
    int64_t *out, failed;
} Pairs;

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The least number of insertions, deletions and replacements; -1 without memory. */
static int64_t distance(const int64_t *one, int64_t length, const int64_t *other, int64_t width) {
    int64_t *row = malloc((size_t)(width + 1) * sizeof *row);
    if (!row) return -1;
    for (int64_t j = 0; j <= width; j++) row[j] = j;
    for (int64_t i = 0; i < length; i++) {
        int64_t diagonal = row[0];
        row[0] = i + 1;
        for (int64_t j = 1; j <= width; j++) {
            int64_t change = 1 + least(diagonal, least(row[j], row[j - 1]));
            int64_t best = one[i] == other[j - 1] ? diagonal : change;
            diagonal = row[j];
            row[j] = best;
        }
    }
    int64_t result = row[width];
    free(row);
    return result;
}

static void take_pair(void *data, int64_t pair) {
    Pairs *all = data;
    const int64_t *ends = all->ends + 2 * pair;
    all->out[pair] = distance(all->items + ends[0], ends[1] - ends[0], all->items + ends[1],
                              ends[2] - ends[1]);
    if (all->out[pair] < 0) __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
}

/* The distances of pairs of sequences.

   items: the elements of all sequences, one after the other.
   ends: where the first one begins, and where each ends.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t edit_distances(const int64_t *items, const int64_t *ends, int64_t pairs,
                              int64_t *out, int64_t threads) {
    Pairs all = {items, ends, out, 0};
    in_parallel(take_pair, &all, pairs, threads);
    return all.failed;
}
