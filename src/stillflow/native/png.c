/* Filters of PNG images: src/stillflow/files/png.py. */
#include "native.h"

#include <stdlib.h>

enum { FILTERS = 5 };

static inline int distance(int a, int b) { return a < b ? b - a : a - b; }

/* What a filter guesses of a byte from those to its left, above it, and above the left one. */
static inline uint8_t guess_of(int filter, int left, int up, int corner) {
    if (filter < 3) return (uint8_t)(filter == 1 ? left : filter == 2 ? up : 0);
    if (filter == 3) return (uint8_t)((left + up) / 2);
    int to_left = distance(up, corner), to_up = distance(left, corner);
    int to_corner = distance(left + up, 2 * corner);
    int is_left = (to_left <= to_up) & (to_left <= to_corner);
    return (uint8_t)(is_left ? left : to_up <= to_corner ? up : corner);
}

/* Filters a row, whose bytes and those of the row above have `step` zeros before them; returns the
   sum of the differences. */
static inline __attribute__((always_inline)) int64_t filter_row(
    int filter, const uint8_t *row, const uint8_t *above, int64_t size, int64_t step,
    uint8_t *out) {
    int32_t total = 0;
    for (int64_t i = 0; i < size; i++) {
        uint8_t guess = guess_of(filter, row[i - step], above[i], above[i - step]);
        out[i] = (uint8_t)(row[i] - guess);
        total += abs((int8_t)out[i]);
    }
    return total;
}

FOR_EACH_PROCESSOR
static int64_t filter_by(int filter, const uint8_t *row, const uint8_t *above, int64_t size,
                         int64_t step, uint8_t *out) {
    switch (filter) {
    case 0: return filter_row(0, row, above, size, step, out);
    case 1: return filter_row(1, row, above, size, step, out);
    case 2: return filter_row(2, row, above, size, step, out);
    case 3: return filter_row(3, row, above, size, step, out);
    default: return filter_row(4, row, above, size, step, out);
    }
}

/* Each row after the filter that leaves the smallest differences, the first of equals.

   rows: [count + 1, step + size] bytes; the first row and the first `step` bytes are zero.
   tried: a bit for each filter.
   out: receives [count, 1 + size], the number of the filter first.
   Returns 1 if there is no memory. */
PUBLIC int64_t filter_rows(const uint8_t *rows, int64_t count, int64_t size, int64_t step,
                           int64_t tried, uint8_t *out) {
    uint8_t *made = malloc((size_t)size);
    if (made == NULL) return 1;
    for (int64_t i = 0; i < count; i++, out += 1 + size) {
        const uint8_t *above = rows + i * (step + size) + step, *row = above + step + size;
        int64_t best = INT64_MAX;
        for (int filter = 0; filter < FILTERS; filter++) {
            if (!(tried >> filter & 1)) continue;
            int64_t total = filter_by(filter, row, above, size, step, made);
            if (total >= best) continue;
            best = total;
            out[0] = (uint8_t)filter;
            memcpy(out + 1, made, (size_t)size);
        }
    }
    free(made);
    return 0;
}
