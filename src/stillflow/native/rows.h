/* Images whose channels come last, as a matrix: a row for each place, a column for each channel.

   Rows are shared out among threads in parts of a fixed size, so that sums of the parts, put
   together in order, are the same on any number of threads. */
#ifndef STILLFLOW_ROWS_H
#define STILLFLOW_ROWS_H

#include "native.h"

enum {
    PART = 32768, /* numbers that one thread takes at a time */
    WIDE = 256    /* where there are fewer channels, several rows make one of them */
};

typedef struct {
    int64_t rows, columns; /* as the matrix is read: the columns are a multiple of the channels */
    int64_t of_part;       /* rows */
} Rows;

static inline Rows rows_of(int64_t rows, int64_t channels) {
    Rows all = {rows, channels, 0};
    while (all.rows % 2 == 0 && all.columns * 2 <= WIDE) {
        all.rows /= 2;
        all.columns *= 2;
    }
    all.of_part = PART / all.columns + 1;
    return all;
}

static inline int64_t parts_of(const Rows *all) {
    return (all->rows + all->of_part - 1) / all->of_part;
}

static inline int64_t end_of_part(const Rows *all, int64_t part) {
    int64_t end = (part + 1) * all->of_part;
    return end < all->rows ? end : all->rows;
}

/* Fills a row of which the first `channels` are there. */
static inline void repeat_channels(const Rows *all, int64_t channels, float *row) {
    for (int64_t j = channels; j < all->columns; j++) row[j] = row[j - channels];
}

#endif
