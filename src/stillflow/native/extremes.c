/* Where rows have their largest numbers, and how often that is where a label says:
   src/stillflow/ops/math/hits.py.

   torch would look for NaNs in a second call: of few rows every call takes longer than to run. */
#include "native.h"

#include <math.h>

/* The first place of the largest of sign * values; a NaN is passed over. */
static inline int64_t place_of_largest(const float *values, int64_t size, float sign) {
    float best = -INFINITY;
    int64_t place = 0;
    for (int64_t i = 0; i < size; i++)
        if (sign * values[i] > best) {
            best = sign * values[i];
            place = i;
        }
    return place;
}

/* The first place of the largest number of each row, or of the smallest. */
PUBLIC void find_extremes(const float *values, int64_t rows, int64_t columns, int64_t smallest,
                          int64_t *places) {
    for (int64_t i = 0; i < rows; i++)
        places[i] = place_of_largest(values + i * columns, columns, smallest ? -1 : 1);
}

/* In how many rows the largest number is at the place of a label.

   labels: int64, or float32 of as many rows and columns, which are largest at the place. */
PUBLIC int64_t count_hits(const float *values, int64_t rows, int64_t columns, const void *labels,
                          int64_t are_rows) {
    const int64_t *places = labels;
    const float *others = labels;
    int64_t hits = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t label = are_rows ? place_of_largest(others + i * columns, columns, 1) : places[i];
        hits += place_of_largest(values + i * columns, columns, 1) == label;
    }
    return hits;
}
