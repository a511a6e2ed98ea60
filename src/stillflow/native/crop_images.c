/* Crops of images, resized: src/stillflow/ops/image/cropping.py.

   In float32 and in that module's order: the places of pixels are the same to the bit. */
#include "pixels.h"

#include <math.h>

enum { FEW = 1 << 17 /* so many numbers take less time than waking up another thread */ };

typedef struct {
    const void *images; /* [batch, height, width, channels] */
    int64_t bytes, height, width, channels;
    const float *boxes; /* [count, 4]: top, left, bottom, right; the image has a size of 1 */
    const int32_t *sources;
    int64_t rows, columns, nearest;
    float outside;
    float *results; /* [count, rows, columns, channels] */
} Crops;

/* The neighbours of a pixel along one dimension; `lower` is -1 outside of the image. */
typedef struct {
    int64_t lower, upper;
    float fraction;
} Place;

INLINE Place place_of(float start, float end, int64_t size, int64_t count, int64_t number) {
    float last = (float)(size - 1), at;
    if (count > 1)
        at = start * last + (float)number * ((end - start) * last / (float)(count - 1));
    else
        at = (float)(0.5 * (double)(start + end) * (double)(size - 1));
    if (!(at >= 0 && at <= last)) return (Place){-1, -1, 0};
    float floor = floorf(at);
    int64_t lower = (int64_t)floor, upper = (int64_t)ceilf(at);
    return (Place){lower < size ? lower : size - 1, upper < size ? upper : size - 1, at - floor};
}

#define BETWEEN(start, end, fraction) ((start) + ((end) - (start)) * (fraction))

/* The numbers of one pixel, whose neighbours begin at these places. */
INLINE void mix(const void *image, const int64_t at[4], float down, float across, int64_t channels,
                int bytes, float *restrict out) {
    for (int64_t c = 0; c < channels; c++) {
        float top_left = number(image, at[0] + c, bytes);
        float top_right = number(image, at[1] + c, bytes);
        float bottom_left = number(image, at[2] + c, bytes);
        float bottom_right = number(image, at[3] + c, bytes);
        float top = BETWEEN(top_left, top_right, across);
        float bottom = BETWEEN(bottom_left, bottom_right, across);
        out[c] = BETWEEN(top, bottom, down);
    }
}

INLINE void crop(const Crops *all, int64_t number_of_crop, int bytes, int64_t channels) {
    const float *box = all->boxes + 4 * number_of_crop;
    int64_t width = all->width, line = width * channels;
    const char *image = (const char *)all->images +
        all->sources[number_of_crop] * all->height * line * (bytes ? 1 : (int64_t)sizeof(float));
    float *out = all->results + number_of_crop * all->rows * all->columns * channels;
    for (int64_t y = 0; y < all->rows; y++) {
        Place row = place_of(box[0], box[2], all->height, all->rows, y);
        for (int64_t x = 0; x < all->columns; x++, out += channels) {
            Place column = place_of(box[1], box[3], width, all->columns, x);
            if (row.lower < 0 || column.lower < 0) {
                for (int64_t c = 0; c < channels; c++) out[c] = all->outside;
                continue;
            }
            if (all->nearest) {
                int64_t nearest = (row.fraction >= 0.5f ? row.upper : row.lower) * line +
                                  (column.fraction >= 0.5f ? column.upper : column.lower) * channels;
                for (int64_t c = 0; c < channels; c++) out[c] = number(image, nearest + c, bytes);
                continue;
            }
            int64_t at[4] = {row.lower * line + column.lower * channels,
                             row.lower * line + column.upper * channels,
                             row.upper * line + column.lower * channels,
                             row.upper * line + column.upper * channels};
            mix(image, at, row.fraction, column.fraction, channels, bytes, out);
        }
    }
}

/* Compiled for three channels, too, as colours have. */
INLINE void crop_any(const Crops *all, int64_t chunk, int bytes) {
    if (all->channels == 3)
        crop(all, chunk, bytes, 3);
    else
        crop(all, chunk, bytes, all->channels);
}

FOR_EACH_PROCESSOR static void crop_bytes(void *data, int64_t chunk) { crop_any(data, chunk, 1); }

FOR_EACH_PROCESSOR static void crop_floats(void *data, int64_t chunk) { crop_any(data, chunk, 0); }

/* Cuts boxes out of images, no dimension of which is 0; returns 1, having done nothing, if one is of
   an image that there is not.

   bytes: whether the numbers of images are uint8, else float32.
   nearest: whether pixels are those next to a place, else mixed of four. */
PUBLIC int64_t crop_images(const void *images, int64_t bytes, int64_t batch, int64_t height,
                           int64_t width, int64_t channels, const float *boxes,
                           const int32_t *sources, int64_t count, int64_t rows, int64_t columns,
                           int64_t nearest, double outside, float *results, int64_t threads) {
    Crops all = {images, bytes, height, width, channels, boxes, sources, rows, columns, nearest,
                 (float)outside, results};
    for (int64_t i = 0; i < count; i++)
        if (sources[i] < 0 || sources[i] >= batch) return 1;
    if (count * rows * columns * channels < FEW) threads = 1;
    in_parallel(bytes ? crop_bytes : crop_floats, &all, count, threads);
    return 0;
}
