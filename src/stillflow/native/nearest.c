/* Images resized by taking the pixel next to each place, and the gradient of that:
   src/stillflow/ops/image/nearest.py. */
#include "copies.h"

enum {
    ROWS = 16,    /* so many rows of a result one thread makes at a time */
    FEW = 1 << 19 /* so many bytes take less time than waking up another thread */
};

typedef struct {
    const char *images; /* [batch, height, width], each a pixel */
    int64_t height, width, bytes;
    const int64_t *rows, *columns; /* of the image, for those of the result or of the gradient */
    int64_t down, across;          /* how many there are */
    char *out;
} Picking;

static int64_t blocks(const Picking *all) { return (all->down + ROWS - 1) / ROWS; }

FOR_EACH_PROCESSOR static void pick_rows(void *data, int64_t chunk) {
    const Picking *all = data;
    int64_t image = chunk / blocks(all), first = chunk % blocks(all) * ROWS, bytes = all->bytes;
    int64_t end = first + ROWS < all->down ? first + ROWS : all->down;
    int64_t line = all->across * bytes;
    for (int64_t y = first; y < end; y++) {
        char *out = all->out + (image * all->down + y) * line;
        const char *in = all->images + (image * all->height + all->rows[y]) * all->width * bytes;
        if (y > first && all->rows[y] == all->rows[y - 1])
            memcpy(out, out - line, (size_t)line);
        else
            for (int64_t x = 0; x < all->across; x++)
                copy_bytes(out + x * bytes, in + all->columns[x] * bytes, bytes);
    }
}

/* Resizes images of pixels of so many bytes. */
PUBLIC void resize_nearest(const void *images, int64_t batch, int64_t height, int64_t width,
                           int64_t bytes, const int64_t *rows, int64_t down,
                           const int64_t *columns, int64_t across, void *out, int64_t threads) {
    Picking all = {images, height, width, bytes, rows, columns, down, across, out};
    if (batch * down * across * bytes < FEW) threads = 1;
    in_parallel(pick_rows, &all, batch * blocks(&all), threads);
}

typedef struct {
    const float *grads; /* [batch, down, across, channels] */
    int64_t height, width, channels;
    const int64_t *rows, *columns;
    int64_t down, across;
    float *out;
} Spreading;

static inline __attribute__((always_inline)) void add_row(const Spreading *all,
                                                          const float *restrict grads,
                                                          float *restrict out, int64_t channels) {
    for (int64_t x = 0; x < all->across; x++, grads += channels) {
        float *pixel = out + all->columns[x] * channels;
        for (int64_t c = 0; c < channels; c++) pixel[c] += grads[c];
    }
}

/* One row of the image, from all rows of the gradient in their order. */
FOR_EACH_PROCESSOR static void gather_row(void *data, int64_t chunk) {
    const Spreading *all = data;
    int64_t image = chunk / all->height, row = chunk % all->height, channels = all->channels;
    float *out = all->out + chunk * all->width * channels;
    memset(out, 0, (size_t)(all->width * channels) * sizeof *out);
    for (int64_t y = 0; y < all->down; y++) {
        if (all->rows[y] != row) continue;
        const float *grads = all->grads + (image * all->down + y) * all->across * channels;
        if (channels == 1)
            add_row(all, grads, out, 1);
        else if (channels == 3)
            add_row(all, grads, out, 3);
        else
            add_row(all, grads, out, channels);
    }
}

/* The gradient of images [batch, height, width, channels] of float32. */
PUBLIC void resize_nearest_gradient(const float *grads, int64_t batch, int64_t height,
                                    int64_t width, int64_t channels, const int64_t *rows,
                                    int64_t down, const int64_t *columns, int64_t across,
                                    float *out, int64_t threads) {
    Spreading all = {grads, height, width, channels, rows, columns, down, across, out};
    if (batch * down * across * channels * (int64_t)sizeof(float) < FEW) threads = 1;
    in_parallel(gather_row, &all, batch * height, threads);
}
