/* Grey-scale dilation: src/stillflow/ops/nn/native_kernels.py. */
#include "native.h"

#include <float.h>

enum {
    ROWS = 4,     /* rows of windows that one thread takes at a time */
    FEW = 1 << 16 /* so many sums take less time than waking up another thread */
};

/* How windows lie along one dimension of an image. */
typedef struct {
    int64_t size, count, window, stride, rate;
    int64_t before; /* how far the first one begins outside */
} Along;

typedef struct {
    const float *images; /* [batch, rows, columns, depth] */
    const float *filter; /* [window rows, window columns, depth] */
    const Along *rows, *columns;
    int64_t depth, lines; /* rows of windows in all images */
    float *best;          /* [batch, rows, columns, depth] of the windows */
    int32_t *which;       /* the element of the filter that gave the best, or NULL */
} Dilation;

/* Takes over sums that are larger; of equal ones the first one stays. */
static inline void take_larger(const float *image, const float *filter, int64_t depth, float *best) {
    for (int64_t i = 0; i < depth; i++) {
        float sum = image[i] + filter[i];
        best[i] = sum > best[i] ? sum : best[i];
    }
}

static inline void note_larger(const float *image, const float *filter, int64_t depth,
                               int32_t place, float *best, int32_t *which) {
    for (int64_t i = 0; i < depth; i++) {
        float sum = image[i] + filter[i];
        which[i] = sum > best[i] ? place : which[i];
        best[i] = sum > best[i] ? sum : best[i];
    }
}

static inline void dilate_window(const Dilation *all, const float *image, int64_t top, int64_t left,
                                 float *best, int32_t *which) {
    const Along *rows = all->rows, *columns = all->columns;
    int64_t depth = all->depth;
    for (int64_t i = 0; i < depth; i++) best[i] = -FLT_MAX;
    if (which) memset(which, 0, (size_t)depth * sizeof *which);
    for (int64_t i = 0; i < rows->window; i++) {
        int64_t y = top + i * rows->rate;
        if (y < 0 || y >= rows->size) continue;
        for (int64_t j = 0; j < columns->window; j++) {
            int64_t x = left + j * columns->rate, place = i * columns->window + j;
            if (x < 0 || x >= columns->size) continue;
            const float *pixel = image + (y * columns->size + x) * depth;
            const float *filter = all->filter + place * depth;
            if (which)
                note_larger(pixel, filter, depth, (int32_t)place, best, which);
            else
                take_larger(pixel, filter, depth, best);
        }
    }
}

FOR_EACH_PROCESSOR static void dilate_lines(void *data, int64_t chunk) {
    const Dilation *all = data;
    const Along *rows = all->rows, *columns = all->columns;
    int64_t end = (chunk + 1) * ROWS < all->lines ? (chunk + 1) * ROWS : all->lines;
    for (int64_t line = chunk * ROWS; line < end; line++) {
        const float *image =
            all->images + line / rows->count * rows->size * columns->size * all->depth;
        int64_t top = line % rows->count * rows->stride - rows->before;
        for (int64_t x = 0; x < columns->count; x++) {
            int64_t place = (line * columns->count + x) * all->depth;
            dilate_window(all, image, top, x * columns->stride - columns->before,
                          all->best + place, all->which ? all->which + place : NULL);
        }
    }
}

/* The largest sums of images and a filter in every window.

   which: receives the element of the filter that gave each, the first of equal ones; may be NULL. */
PUBLIC void dilate(const float *images, int64_t batch, const Along *rows, const Along *columns,
                   int64_t depth, const float *filter, float *best, int32_t *which,
                   int64_t threads) {
    Dilation all = {images, filter, rows, columns, depth, batch * rows->count, best, which};
    int64_t sums = all.lines * columns->count * rows->window * columns->window * depth;
    if (sums < FEW) threads = 1;
    in_parallel(dilate_lines, &all, (all.lines + ROWS - 1) / ROWS, threads);
}
