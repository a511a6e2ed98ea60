/* Images resized by linear interpolation: src/stillflow/ops/nn/interpolation.py.

   All in float32, along the rows first, as TensorFlow computes it: any other order rounds otherwise. */
#include "native.h"

enum {
    ROWS = 16,       /* so many rows of a result one thread makes at a time */
    FEW = 1 << 14,   /* so many numbers take less time than waking up another thread */
    LANES = 4        /* numbers taken together: a pixel of 3 channels and the start of the next */
};

/* Where the outputs along one dimension lie among the inputs: class Weights in interpolation.py. */
typedef struct {
    const int64_t *lower, *upper; /* the neighbours, all of them inputs */
    const float *fraction;        /* how far an output is from the lower one */
    int64_t count;
} Weights;

typedef struct {
    const void *images; /* [batch, height, width, channels] */
    int64_t height, width, channels;
    const Weights *rows, *columns;
    float *results;
} Resizing;

typedef float Pixel __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t Whole __attribute__((vector_size(LANES * sizeof(int32_t))));

#define INLINE static inline __attribute__((always_inline))

INLINE float number(const void *values, int64_t place, int bytes) {
    return bytes ? (float)((const uint8_t *)values)[place] : ((const float *)values)[place];
}

INLINE Pixel pixel(const void *values, int64_t place, int bytes) {
    Pixel result;
    if (bytes) {
        const uint8_t *at = (const uint8_t *)values + place;
        Whole found = {at[0], at[1], at[2], at[3]};
        return __builtin_convertvector(found, Pixel);
    }
    memcpy(&result, (const float *)values + place, sizeof result);
    return result;
}

#define BETWEEN(start, end, fraction) ((start) + ((end) - (start)) * (fraction))

/* Some pixels of a row, number by number.

   top, bottom: where the rows of the image begin that the new one lies between. */
INLINE void make_numbers(const Resizing *all, int64_t top, int64_t bottom, float down, float *out,
                         int64_t first, int64_t channels, int bytes) {
    const Weights *columns = all->columns;
    for (int64_t x = first; x < columns->count; x++) {
        int64_t left = columns->lower[x] * channels, right = columns->upper[x] * channels;
        float across = columns->fraction[x];
        for (int64_t c = 0; c < channels; c++) {
            float upper_left = number(all->images, top + left + c, bytes);
            float upper_right = number(all->images, top + right + c, bytes);
            float lower_left = number(all->images, bottom + left + c, bytes);
            float lower_right = number(all->images, bottom + right + c, bytes);
            float upper = BETWEEN(upper_left, upper_right, across);
            float lower = BETWEEN(lower_left, lower_right, across);
            out[x * channels + c] = BETWEEN(upper, lower, down);
        }
    }
}

/* The same for 3 or 4 channels, pixel by pixel. Of three channels the fourth number is the next
   pixel's, so that the last ones of the image and of the result are left: returns how many are
   made. */
INLINE int64_t make_pixels(const Resizing *all, int64_t top, int64_t bottom, float down, float *out,
                           int64_t channels, int bytes) {
    const Weights *columns = all->columns;
    int64_t x = 0;
    for (; x < columns->count - 1 && columns->upper[x] < all->width - 1; x++) {
        int64_t left = columns->lower[x] * channels, right = columns->upper[x] * channels;
        float across = columns->fraction[x];
        Pixel upper_left = pixel(all->images, top + left, bytes);
        Pixel upper_right = pixel(all->images, top + right, bytes);
        Pixel lower_left = pixel(all->images, bottom + left, bytes);
        Pixel lower_right = pixel(all->images, bottom + right, bytes);
        Pixel upper = BETWEEN(upper_left, upper_right, across);
        Pixel lower = BETWEEN(lower_left, lower_right, across);
        Pixel made = BETWEEN(upper, lower, down);
        memcpy(out + x * channels, &made, sizeof made);
    }
    return x;
}

INLINE void make_row(const Resizing *all, int64_t image, int64_t y, int bytes) {
    const Weights *rows = all->rows, *columns = all->columns;
    int64_t channels = all->channels, line = all->width * channels;
    int64_t top = (image * all->height + rows->lower[y]) * line;
    int64_t bottom = (image * all->height + rows->upper[y]) * line;
    float down = rows->fraction[y];
    float *out = all->results + (image * rows->count + y) * columns->count * channels;
    if (channels == 1)
        make_numbers(all, top, bottom, down, out, 0, 1, bytes);
    else if (channels == 3)
        make_numbers(all, top, bottom, down, out,
                     make_pixels(all, top, bottom, down, out, 3, bytes), 3, bytes);
    else if (channels == 4)
        make_numbers(all, top, bottom, down, out,
                     make_pixels(all, top, bottom, down, out, 4, bytes), 4, bytes);
    else
        make_numbers(all, top, bottom, down, out, 0, channels, bytes);
}

INLINE int64_t blocks(const Weights *rows) { return (rows->count + ROWS - 1) / ROWS; }

INLINE void make_rows(const Resizing *all, int64_t chunk, int bytes) {
    int64_t image = chunk / blocks(all->rows), first = chunk % blocks(all->rows) * ROWS;
    for (int64_t y = first; y < first + ROWS && y < all->rows->count; y++)
        make_row(all, image, y, bytes);
}

FOR_EACH_PROCESSOR static void make_rows_of_bytes(void *data, int64_t chunk) {
    make_rows(data, chunk, 1);
}

FOR_EACH_PROCESSOR static void make_rows_of_floats(void *data, int64_t chunk) {
    make_rows(data, chunk, 0);
}

/* Resizes images [batch, height, width, channels], none of which is 0.

   bytes: whether their numbers are uint8, else float32. */
PUBLIC void resize_bilinear(const void *images, int64_t bytes, int64_t batch, int64_t height,
                            int64_t width, int64_t channels, const Weights *rows,
                            const Weights *columns, float *results, int64_t threads) {
    Resizing all = {images, height, width, channels, rows, columns, results};
    if (batch * rows->count * columns->count * channels < FEW) threads = 1;
    in_parallel(bytes ? make_rows_of_bytes : make_rows_of_floats, &all, batch * blocks(rows),
                threads);
}
