/* Maxima of images whose channels come last, and their gradients: src/stillflow/ops/nn/native_kernels.py.

   The place of a maximum is kept as its number within the window, in one byte. Of equal maxima the
   first counts. As in TensorFlow a NaN is never greater, so that it is a maximum's place only where
   it comes first, and never its value: that is finite at the lower end. */
#include "native.h"

#include <float.h>

enum {
    LANES = 32,    /* channels taken together */
    PLACES = 256,  /* that a byte tells apart */
    PART = 16384   /* numbers of the images that one thread takes at a time */
};

/* How windows slide over images; nn/native_kernels.py fills it. Each window has a place on its image. */
typedef struct {
    int64_t batch, height, width, channels;
    int64_t rows, columns; /* of the maxima */
    int64_t window_height, window_width;
    int64_t down, across; /* the way from a window to the next */
    int64_t top, left;    /* padding before the image */
} Windows;

typedef struct {
    Windows windows;
    const float *in;
    float *out;
    uint8_t *best;          /* places of the maxima, NULL if nobody asks */
    int64_t rows_of_part;   /* of maxima, in one image */
    int64_t parts;          /* of an image */
    int64_t offset[PLACES]; /* from where a window begins to its places */
} Pool;

/* Which rows (or columns) of a window lie on the image, counted from where it begins. */
typedef struct {
    int64_t start, first, end;
} Span;

#define INLINE static inline __attribute__((always_inline))

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE Span span(int64_t number, int64_t step, int64_t before, int64_t window, int64_t size) {
    int64_t start = number * step - before;
    return (Span){start, start < 0 ? -start : 0, least(window, size - start)};
}

/* The maximum of one channel of a window among what is a number; the lowest one of none. */
static float take_number(const Windows *all, const float *corner, Span y, Span x) {
    float value = -FLT_MAX;
    for (int64_t i = y.first; i < y.end; i++) {
        const float *row = corner + (i - y.first) * all->width * all->channels;
        for (int64_t j = x.first; j < x.end; j++, row += all->channels)
            value = *row > value ? *row : value;
    }
    return value;
}

/* The maxima of `count` channels of a window: `corner` is the first of its places on the image. */
INLINE void take(const Windows *all, const float *corner, Span y, Span x, int64_t count, float *out,
                 uint8_t *best) {
    float value[LANES];
    int32_t at[LANES], place = (int32_t)(y.first * all->window_width + x.first);
    for (int64_t c = 0; c < count; c++) value[c] = corner[c], at[c] = place;
    for (int64_t i = y.first; i < y.end; i++) {
        const float *row = corner + (i - y.first) * all->width * all->channels;
        place = (int32_t)(i * all->window_width + x.first);
        for (int64_t j = x.first; j < x.end; j++, place++, row += all->channels)
            for (int64_t c = 0; c < count; c++) {
                int wins = row[c] > value[c];
                value[c] = wins ? row[c] : value[c];
                at[c] = wins ? place : at[c];
            }
    }
    int wrong = 0; /* the first is no number, or all are infinite */
    for (int64_t c = 0; c < count; c++) out[c] = value[c], wrong |= !(value[c] >= -FLT_MAX);
    for (int64_t c = 0; wrong && c < count; c++)
        if (!(value[c] >= -FLT_MAX)) out[c] = take_number(all, corner + c, y, x);
    if (best)
        for (int64_t c = 0; c < count; c++) best[c] = (uint8_t)at[c];
}

FOR_EACH_PROCESSOR
static void take_maxima(void *data, int64_t part) {
    const Pool *pool = data;
    const Windows all = pool->windows;
    int64_t number = part / pool->parts, first = part % pool->parts * pool->rows_of_part;
    int64_t target = (number * all.rows + first) * all.columns * all.channels;
    const float *image = pool->in + number * all.height * all.width * all.channels;
    float *out = pool->out + target;
    uint8_t *best = pool->best ? pool->best + target : NULL;
    for (int64_t row = first; row < least(first + pool->rows_of_part, all.rows); row++) {
        Span y = span(row, all.down, all.top, all.window_height, all.height);
        for (int64_t column = 0; column < all.columns; column++) {
            Span x = span(column, all.across, all.left, all.window_width, all.width);
            int64_t place = (y.start + y.first) * all.width + x.start + x.first;
            const float *corner = image + place * all.channels;
            int64_t left = all.channels;
            for (; left >= LANES; left -= LANES, corner += LANES, out += LANES) {
                take(&all, corner, y, x, LANES, out, best);
                best += best ? LANES : 0;
            }
            if (left) take(&all, corner, y, x, left, out, best);
            out += left, best += best ? left : 0;
        }
    }
}

/* Sends the gradients of some rows of maxima to rows of the image that no other windows look at. */
static void spread_gradient(void *data, int64_t part) {
    const Pool *pool = data;
    const Windows all = pool->windows;
    int64_t number = part / pool->parts, first = part % pool->parts * pool->rows_of_part;
    int64_t last = least(first + pool->rows_of_part, all.rows), line = all.width * all.channels;
    int64_t source = (number * all.rows + first) * all.columns * all.channels;
    int64_t start = first ? first * all.down - all.top : 0;
    int64_t end = last < all.rows ? last * all.down - all.top : all.height;
    const float *grad = pool->in + source;
    const uint8_t *best = pool->best + source;
    float *image = pool->out + number * all.height * line;
    memset(image + start * line, 0, (size_t)((end - start) * line) * sizeof *image);
    for (int64_t row = first; row < last; row++)
        for (int64_t column = 0; column < all.columns; column++) {
            int64_t corner = (row * all.down - all.top) * line
                           + (column * all.across - all.left) * all.channels;
            for (int64_t c = 0; c < all.channels; c++)
                image[corner + c + pool->offset[best[c]]] += grad[c];
            grad += all.channels, best += all.channels;
        }
}

/* Shares the rows of maxima out; a part has all of an image where windows share rows. */
static void run(Work work, Pool *pool, int64_t threads, int shared) {
    const Windows *all = &pool->windows;
    int64_t rows = PART / (all->down * all->width * all->channels) + 1;
    pool->rows_of_part = shared ? all->rows : least(rows, all->rows);
    pool->parts = (all->rows + pool->rows_of_part - 1) / pool->rows_of_part;
    in_parallel(work, pool, all->batch * pool->parts, threads);
}

/* The maxima of images, and their places if `best` is not NULL. */
PUBLIC void max_pool(const Windows *windows, const float *images, float *maxima, uint8_t *best,
                     int64_t threads) {
    Pool pool = {.windows = *windows, .in = images, .out = maxima, .best = best};
    run(take_maxima, &pool, threads, 0);
}

/* The gradient of `max_pool` for the images, from its places and the gradient of the maxima. */
PUBLIC void max_pool_gradient(const Windows *windows, const float *grad, uint8_t *best,
                              float *images, int64_t threads) {
    Pool pool = {.windows = *windows, .in = grad, .out = images, .best = best};
    int64_t places = windows->window_height * windows->window_width;
    for (int64_t i = 0; i < places; i++) {
        int64_t row = i / windows->window_width, column = i % windows->window_width;
        pool.offset[i] = (row * windows->width + column) * windows->channels;
    }
    run(spread_gradient, &pool, threads, windows->window_height > windows->down);
}
