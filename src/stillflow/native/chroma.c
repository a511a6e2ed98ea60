/* Part of a JPEG with interpolated chroma: src/stillflow/files/jpeg_edges.py.

   The arithmetic is libjpeg's; what is outside of the columns that were decoded has the chroma of
   the last sample inside. */
#include "native.h"

typedef struct {
    const uint8_t *samples; /* Y, Cb and Cr of each pixel, [rows, columns] */
    int64_t rows, columns;
    int64_t first, end;   /* of the columns that were decoded */
    int64_t rows_to_each; /* sample of chroma: 1 or 2 */
} Planes;

static inline uint8_t clipped(int32_t value) {
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

enum { CHUNK = 256 /* columns, an even number, that are interpolated at a time */ };

/* Chroma of the samples from `from` on, two columns each, those of another row added to it if rows
   are interpolated; outside of the columns that were decoded the last ones inside are repeated. */
static inline void add_rows(const Planes *all, const uint8_t *near, const uint8_t *far,
                            int64_t from, int64_t count, int32_t *out) {
    int64_t last = all->end - 1 - ((all->end - 1 - all->first) & 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = from + 2 * i;
        at = 3 * (at < all->first ? all->first : at > last ? last : at);
        out[i] = all->rows_to_each == 1 ? near[at] : 3 * near[at] + far[at];
    }
}

/* Chroma of `count` columns, an even number, from the samples around them: one before the first. */
static inline void add_columns(const Planes *all, const int32_t *sums, int64_t count,
                               int32_t *out) {
    int32_t left = all->rows_to_each == 1 ? 1 : 8, right = all->rows_to_each == 1 ? 2 : 7;
    int32_t bits = all->rows_to_each == 1 ? 2 : 4;
    for (int64_t i = 0; i < count / 2; i++) {
        out[2 * i] = ((3 * sums[i + 1] + sums[i] + left) >> bits) - 128;
        out[2 * i + 1] = ((3 * sums[i + 1] + sums[i + 2] + right) >> bits) - 128;
    }
}

static inline void colour(const uint8_t *luma, const int32_t *cb, const int32_t *cr, int64_t count,
                          uint8_t *out) {
    const int32_t half = 1 << 15;
    for (int64_t x = 0; x < count; x++) {
        int32_t y = luma[3 * x];
        out[3 * x] = clipped(y + ((91881 * cr[x] + half) >> 16));
        out[3 * x + 1] = clipped(y + ((-22554 * cb[x] - 46802 * cr[x] + half) >> 16));
        out[3 * x + 2] = clipped(y + ((116130 * cb[x] + half) >> 16));
    }
}

FOR_EACH_PROCESSOR
static void interpolate_row(const Planes *all, int64_t row, int64_t left, int64_t width,
                            uint8_t *out) {
    int64_t near = row, far = row, stride = 3 * all->columns;
    if (all->rows_to_each == 2) {
        near = row & ~(int64_t)1, far = row & 1 ? near + 2 : near - 2;
        if (far < 0 || far >= all->rows) far = near;
    }
    int32_t sums[CHUNK / 2 + 2], chroma[2][CHUNK];
    for (int64_t x = left - ((left - all->first) & 1); x < left + width; x += CHUNK) {
        int64_t begin = x < left ? left : x, end = x + CHUNK < left + width ? x + CHUNK : left + width;
        int64_t count = (end - x + 1) & ~(int64_t)1;
        for (int plane = 1; plane < 3; plane++) {
            add_rows(all, all->samples + near * stride + plane, all->samples + far * stride + plane,
                     x - 2, count / 2 + 2, sums);
            add_columns(all, sums, count, chroma[plane - 1]);
        }
        colour(all->samples + row * stride + 3 * begin, chroma[0] + (begin - x),
               chroma[1] + (begin - x), end - begin, out + 3 * (begin - left));
    }
}

/* The part of an image that begins at `top` and `left`, as colours. */
PUBLIC void interpolate_chroma(const uint8_t *samples, int64_t rows, int64_t columns,
                               int64_t first, int64_t end, int64_t rows_to_each, int64_t top,
                               int64_t left, int64_t height, int64_t width, uint8_t *out) {
    Planes all = {samples, rows, columns, first, end, rows_to_each};
    for (int64_t i = 0; i < height; i++)
        interpolate_row(&all, top + i, left, width, out + 3 * i * width);
}
