/* Where rows have their largest numbers, and how often that is where a label says:
   src/stillflow/ops/math/row_extremes.py.

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

/* For each row whether fewer than `k` numbers are larger than the one at a place.

   places: integers of 4 or 8 bytes; a row loses if its place is outside, or anything not finite. */
PUBLIC void are_in_top(const float *values, int64_t rows, int64_t columns, const void *places,
                       int64_t bytes, int64_t k, uint8_t *hits) {
    for (int64_t i = 0; i < rows; i++) {
        const float *row = values + i * columns;
        int64_t place = bytes == 4 ? ((const int32_t *)places)[i] : ((const int64_t *)places)[i];
        int32_t larger = 0, strange = 0;
        float own = place >= 0 && place < columns ? row[place] : NAN;
        for (int64_t j = 0; j < columns; j++) {
            larger += row[j] > own;
            strange |= !(fabsf(row[j]) < INFINITY);
        }
        hits[i] = own == own && !strange && larger < k;
    }
}
