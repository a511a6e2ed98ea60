/* Patches of images, and blocks of images moved to their channels and back:
   src/stillflow/ops/arrays/native_kernels.py. */
#include "copies.h"

enum {
    ROWS = 8,     /* rows of patches, or groups of blocks, that one thread makes at a time */
    FEW = 1 << 19 /* so many bytes take less time than waking up another thread */
};

/* How patches lie along one dimension of an image. */
typedef struct {
    int64_t size, count, window, stride, rate;
    int64_t before; /* how far the first one begins outside */
} Along;

typedef struct {
    const char *images; /* [batch, rows, columns], each a pixel */
    const Along *rows, *columns;
    int64_t bytes; /* of a pixel */
    char *out;
    int64_t lines; /* rows of patches in all images */
} Patches;

/* One row of a patch from some column of the image on, with zeros for what is outside. */
static inline void take_line(const Along *columns, const char *row, int64_t from, int64_t bytes,
                             char *out) {
    if (columns->rate == 1 && from >= 0 && from + columns->window <= columns->size) {
        copy_bytes(out, row + from * bytes, columns->window * bytes);
        return;
    }
    for (int64_t i = 0; i < columns->window; i++, from += columns->rate, out += bytes) {
        if (from >= 0 && from < columns->size)
            copy_bytes(out, row + from * bytes, bytes);
        else
            memset(out, 0, (size_t)bytes);
    }
}

FOR_EACH_PROCESSOR static void take_lines(void *data, int64_t chunk) {
    const Patches *all = data;
    const Along *rows = all->rows, *columns = all->columns;
    int64_t bytes = all->bytes, line = columns->window * bytes;
    int64_t end = (chunk + 1) * ROWS < all->lines ? (chunk + 1) * ROWS : all->lines;
    for (int64_t place = chunk * ROWS; place < end; place++) {
        const char *image =
            all->images + place / rows->count * rows->size * columns->size * bytes;
        char *out = all->out + place * columns->count * rows->window * line;
        int64_t top = place % rows->count * rows->stride - rows->before;
        for (int64_t x = 0; x < columns->count; x++) {
            int64_t left = x * columns->stride - columns->before;
            for (int64_t i = 0; i < rows->window; i++, out += line) {
                int64_t y = top + i * rows->rate;
                if (y >= 0 && y < rows->size)
                    take_line(columns, image + y * columns->size * bytes, left, bytes, out);
                else
                    memset(out, 0, (size_t)line);
            }
        }
    }
}

/* Patches of images of pixels of so many bytes, one after the other. */
PUBLIC void extract_patches(const void *images, int64_t batch, const Along *rows,
                            const Along *columns, int64_t bytes, void *out, int64_t threads) {
    int64_t lines = batch * rows->count;
    Patches all = {images, rows, columns, bytes, out, lines};
    int64_t size = lines * columns->count * rows->window * columns->window * bytes;
    if (size < FEW) threads = 1;
    in_parallel(take_lines, &all, (lines + ROWS - 1) / ROWS, threads);
}

typedef struct {
    const char *in; /* [groups, rows, columns], each a block of bytes */
    char *out;      /* [groups, columns, rows] */
    int64_t groups, rows, columns, bytes;
} Blocks;

FOR_EACH_PROCESSOR static void turn_groups(void *data, int64_t chunk) {
    const Blocks *all = data;
    int64_t rows = all->rows, columns = all->columns, bytes = all->bytes;
    int64_t end = (chunk + 1) * ROWS < all->groups ? (chunk + 1) * ROWS : all->groups;
    for (int64_t group = chunk * ROWS; group < end; group++) {
        const char *in = all->in + group * rows * columns * bytes;
        char *out = all->out + group * rows * columns * bytes;
        for (int64_t column = 0; column < columns; column++)
            for (int64_t row = 0; row < rows; row++, out += bytes)
                copy_bytes(out, in + (row * columns + column) * bytes, bytes);
    }
}

/* Writes groups of `rows` times `columns` blocks as `columns` times `rows`. */
PUBLIC void transpose_blocks(const void *in, int64_t groups, int64_t rows, int64_t columns,
                             int64_t bytes, void *out, int64_t threads) {
    Blocks all = {in, out, groups, rows, columns, bytes};
    if (groups * rows * columns * bytes < FEW) threads = 1;
    in_parallel(turn_groups, &all, (groups + ROWS - 1) / ROWS, threads);
}
