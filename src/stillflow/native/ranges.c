/* Rows of numbers in arithmetic progression: src/stillflow/ops/ragged/ranges.py, whose plain way
   has the same steps. */
#include "native.h"

#include <math.h>

enum { INT32, INT64, FLOAT, DOUBLE };

static const double MOST_STEPS = 0x1p62;

static inline uint64_t magnitude(int64_t from, int64_t to) {
    return from < to ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
}

static inline int64_t whole_steps(int64_t start, int64_t limit, int64_t delta) {
    uint64_t span = magnitude(start, limit), size = magnitude(0, delta);
    return span ? (int64_t)((span - 1) / size + 1) : 0;
}

#define LENGTHS(type, steps)                                                             \
    {                                                                                    \
        const type *starts = from, *limits = to, *deltas = by;                           \
        for (int64_t i = 0; i < rows; i++) {                                             \
            type start = starts[i], limit = limits[i];         \
            type delta = deltas[i];                                         \
            int is_away = delta > 0 ? limit < start : limit > start;                     \
            if (!is_away) {                                                              \
                double span = fabs((double)limit - (double)start);                       \
                if (!(span / fabs((double)delta) < MOST_STEPS)) return 1;                \
                total += (uint64_t)(steps);                                              \
            }                                                                            \
            splits[i + 1] = (int64_t)total;                                              \
        }                                                                                \
    }

/* Where the rows end, after the 0 where the first one begins.

   No delta is 0. Returns 0, or 1 for a row that is too long. */
PUBLIC int64_t find_range_splits(int64_t kind, const void *from, const void *to, const void *by,
                                 int64_t rows, int64_t *splits) {
    uint64_t total = 0;
    splits[0] = 0;
    if (kind == INT32) LENGTHS(int32_t, whole_steps(start, limit, delta))
    if (kind == INT64) LENGTHS(int64_t, whole_steps(start, limit, delta))
    if (kind == FLOAT) LENGTHS(float, ceilf(fabsf((limit - start) / delta)))
    if (kind == DOUBLE) LENGTHS(double, ceil(fabs((limit - start) / delta)))
    return 0;
}

/* Integers wrap around; others have the rounding errors of all the sums before them. */
#define VALUES(type, sum_type)                                                           \
    {                                                                                    \
        const type *starts = from, *deltas = by;                                         \
        type *values = out;                                                              \
        for (int64_t i = 0; i < rows; i++) {                                             \
            sum_type value = (sum_type)starts[i];                           \
            sum_type delta = (sum_type)deltas[i];                           \
            for (int64_t j = splits[i]; j < splits[i + 1]; j++, value += delta)          \
                values[j] = (type)value;                                                 \
        }                                                                                \
    }

/* The numbers of all rows, which lie as `find_range_splits` has found. */
PUBLIC void fill_ranges(int64_t kind, const void *from, const void *by, int64_t rows,
                        const int64_t *splits, void *out) {
    if (kind == INT32) VALUES(int32_t, uint32_t)
    if (kind == INT64) VALUES(int64_t, uint64_t)
    if (kind == FLOAT) VALUES(float, float)
    if (kind == DOUBLE) VALUES(double, double)
}
