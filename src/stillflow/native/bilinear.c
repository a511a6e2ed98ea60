/* Images resized by linear interpolation, and the gradient of images:
   src/stillflow/ops/nn/interpolation.py.

   All in float32, along the rows first, as TensorFlow computes it: any other order rounds otherwise. */
#include "pixels.h"
#include "weights.h"

enum {
    ROWS = 16,    /* so many rows of a result one thread makes at a time */
    FEW = 1 << 19 /* so many numbers take less time than waking up another thread */
};

typedef struct {
    const void *images; /* [batch, height, width, channels] */
    int64_t height, width, channels;
    const Weights *rows, *columns;
    float *results;
} Resizing;

/* A row of a result. */
typedef struct {
    const void *top, *bottom; /* the rows of the image that it lies between */
    float down;               /* how far it is from the upper one */
    const int64_t *left, *right;
    const float *across;
    int64_t count, width; /* of the row, and of the image */
    float *out;
} Row;

#define BETWEEN(start, end, fraction) ((start) + ((end) - (start)) * (fraction))

/* A row from some pixel on, number by number. */
INLINE void make_numbers(const Row *row, int64_t first, int64_t channels, int bytes) {
    float down = row->down;
    for (int64_t x = first; x < row->count; x++) {
        int64_t left = row->left[x] * channels, right = row->right[x] * channels;
        float across = row->across[x];
        float *out = row->out + x * channels;
        for (int64_t c = 0; c < channels; c++) {
            float upper_left = number(row->top, left + c, bytes);
            float upper_right = number(row->top, right + c, bytes);
            float lower_left = number(row->bottom, left + c, bytes);
            float lower_right = number(row->bottom, right + c, bytes);
            float upper = BETWEEN(upper_left, upper_right, across);
            float lower = BETWEEN(lower_left, lower_right, across);
            out[c] = BETWEEN(upper, lower, down);
        }
    }
}

/* A row of 3 or 4 channels. Of three the fourth number is the next pixel's, so that it ends before
   the last pixel of the image or of the row: returns how many pixels are made. */
INLINE int64_t make_pixels(const Row *row, int64_t channels, int bytes) {
    float down = row->down;
    int64_t x = 0;
    for (; x < row->count - 1; x++) {
        int64_t left = row->left[x], right = row->right[x];
        if (left >= row->width - 1 || right >= row->width - 1) break;
        left *= channels, right *= channels;
        float across = row->across[x];
        Pixel upper_left = pixel(row->top, left, bytes);
        Pixel upper_right = pixel(row->top, right, bytes);
        Pixel lower_left = pixel(row->bottom, left, bytes);
        Pixel lower_right = pixel(row->bottom, right, bytes);
        Pixel upper = BETWEEN(upper_left, upper_right, across);
        Pixel lower = BETWEEN(lower_left, lower_right, across);
        Pixel made = BETWEEN(upper, lower, down);
        memcpy(row->out + x * channels, &made, sizeof made);
    }
    return x;
}

INLINE void make_row(const Resizing *all, int64_t result, int64_t y, int bytes) {
    const Weights *rows = all->rows, *columns = all->columns;
    int64_t channels = all->channels, place = result * rows->step + y;
    int64_t line = all->width * channels * (bytes ? 1 : (int64_t)sizeof(float));
    const char *image = (const char *)all->images + result * all->height * line;
    Row row = {
        image + rows->lower[place] * line,
        image + rows->upper[place] * line,
        rows->fraction[place],
        columns->lower + result * columns->step,
        columns->upper + result * columns->step,
        columns->fraction + result * columns->step,
        columns->count,
        all->width,
        all->results + (result * rows->count + y) * columns->count * channels,
    };
    if (channels == 1)
        make_numbers(&row, 0, 1, bytes);
    else if (channels == 3)
        make_numbers(&row, make_pixels(&row, 3, bytes), 3, bytes);
    else if (channels == 4)
        make_numbers(&row, make_pixels(&row, 4, bytes), 4, bytes);
    else
        make_numbers(&row, 0, channels, bytes);
}

INLINE int64_t blocks(const Weights *rows) { return (rows->count + ROWS - 1) / ROWS; }

INLINE void make_rows(const Resizing *all, int64_t chunk, int bytes) {
    int64_t result = chunk / blocks(all->rows), first = chunk % blocks(all->rows) * ROWS;
    for (int64_t y = first; y < first + ROWS && y < all->rows->count; y++)
        make_row(all, result, y, bytes);
}

FOR_EACH_PROCESSOR static void make_rows_of_bytes(void *data, int64_t chunk) {
    make_rows(data, chunk, 1);
}

FOR_EACH_PROCESSOR static void make_rows_of_floats(void *data, int64_t chunk) {
    make_rows(data, chunk, 0);
}

/* Resizes images [batch, height, width, channels], no dimension of which is 0.

   bytes: whether their numbers are uint8, else float32.
   count: how many results there are. */
PUBLIC void resize_bilinear(const void *images, int64_t bytes, int64_t height, int64_t width,
                            int64_t channels, int64_t count, const Weights *rows,
                            const Weights *columns, float *results, int64_t threads) {
    Resizing all = {images, height, width, channels, rows, columns, results};
    if (count * rows->count * columns->count * channels < FEW) threads = 1;
    in_parallel(bytes ? make_rows_of_bytes : make_rows_of_floats, &all, count * blocks(rows),
                threads);
}

typedef struct {
    const float *grads; /* [batch, rows->count, columns->count, channels] */
    int64_t height, width, channels;
    const Weights *rows, *columns; /* the same for all images */
    float *results;
} Spreading;

INLINE void add(float *restrict out, const float *restrict grads, float down, float across,
                int64_t channels) {
    for (int64_t c = 0; c < channels; c++) out[c] += grads[c] * down * across;
}

/* What the pixels of a row of the image get from a row of the gradient.

   top, bottom: whether it is the one above that row, and the one below. */
INLINE void spread_row(const Weights *columns, const float *grads, float down, int top, int bottom,
                       float *out, int64_t channels) {
    for (int64_t x = 0; x < columns->count; x++, grads += channels) {
        float *left = out + columns->lower[x] * channels;
        float *right = out + columns->upper[x] * channels;
        float across = columns->fraction[x];
        if (top) {
            add(left, grads, 1 - down, 1 - across, channels);
            add(right, grads, 1 - down, across, channels);
        }
        if (bottom) {
            add(left, grads, down, 1 - across, channels);
            add(right, grads, down, across, channels);
        }
    }
}

/* One row of the image, from all rows of the gradient in their order. */
FOR_EACH_PROCESSOR static void gather_row(void *data, int64_t chunk) {
    const Spreading *all = data;
    const Weights *rows = all->rows, *columns = all->columns;
    int64_t image = chunk / all->height, row = chunk % all->height, channels = all->channels;
    float *out = all->results + chunk * all->width * channels;
    memset(out, 0, (size_t)(all->width * channels) * sizeof *out);
    for (int64_t y = 0; y < rows->count; y++) {
        int top = rows->lower[y] == row, bottom = rows->upper[y] == row;
        if (!top && !bottom) continue;
        const float *grads =
            all->grads + (image * rows->count + y) * columns->count * channels;
        if (channels == 1)
            spread_row(columns, grads, rows->fraction[y], top, bottom, out, 1);
        else
            spread_row(columns, grads, rows->fraction[y], top, bottom, out, channels);
    }
}

/* The gradient of images [batch, height, width, channels], no dimension of which is 0. */
PUBLIC void resize_bilinear_gradient(const float *grads, int64_t batch, int64_t height,
                                     int64_t width, int64_t channels, const Weights *rows,
                                     const Weights *columns, float *results, int64_t threads) {
    Spreading all = {grads, height, width, channels, rows, columns, results};
    if (batch * rows->count * columns->count * channels < FEW) threads = 1;
    in_parallel(gather_row, &all, batch * height, threads);
}
