/* The gradients of crops that were resized by linear interpolation:
   src/stillflow/ops/image/native_kernels.py.

   A place that is outside of the image has -1 as its lower neighbour. Sums are added up in
   TensorFlow's order: box by box, row by row, pixel by pixel. */
#include "pixels.h"
#include "weights.h"

enum {
    DEEP = 16,    /* channels that one thread takes at a time */
    FEW = 1 << 17 /* so many numbers take less time than waking up another thread */
};

typedef struct {
    const float *grads; /* [boxes, rows, columns, channels] */
    const void *images; /* [batch, height, width, channels] */
    int64_t height, width, channels;
    const int64_t *sources; /* the image that each box is in */
    int64_t boxes;
    const Weights *rows, *columns; /* one row of them for each box */
    float *results;
    int64_t slices; /* of channels */
    int bytes;      /* whether the numbers of images are uint8 */
} Crops;

INLINE void spread(const float *restrict grads, float *restrict left, float *restrict right,
                   float share, float across, int64_t channels) {
    float back = 1 - across;
    for (int64_t c = 0; c < channels; c++) left[c] += back * (share * grads[c]);
    for (int64_t c = 0; c < channels; c++) right[c] += across * (share * grads[c]);
}

/* What some channels of one image get. */
FOR_EACH_PROCESSOR static void gather_slice(void *data, int64_t chunk) {
    const Crops *all = data;
    int64_t image = chunk / all->slices, first = chunk % all->slices * DEEP;
    int64_t channels = all->channels, width = all->width;
    int64_t count = channels - first < DEEP ? channels - first : DEEP;
    float *out = all->results + image * all->height * width * channels + first;
    for (int64_t i = 0; i < all->height * width; i++)
        memset(out + i * channels, 0, (size_t)count * sizeof *out);
    for (int64_t box = 0; box < all->boxes; box++) {
        if (all->sources[box] != image) continue;
        int64_t row = box * all->rows->step, column = box * all->columns->step;
        const int64_t *left = all->columns->lower + column, *right = all->columns->upper + column;
        const float *across = all->columns->fraction + column;
        for (int64_t y = 0; y < all->rows->count; y++) {
            int64_t top = all->rows->lower[row + y], bottom = all->rows->upper[row + y];
            if (top < 0) continue;
            float down = all->rows->fraction[row + y];
            const float *grads = all->grads + first +
                                 (box * all->rows->count + y) * all->columns->count * channels;
            float *upper = out + top * width * channels, *lower = out + bottom * width * channels;
            for (int64_t x = 0; x < all->columns->count; x++, grads += channels) {
                if (left[x] < 0) continue;
                int64_t to = left[x] * channels, and_to = right[x] * channels;
                spread(grads, upper + to, upper + and_to, 1 - down, across[x], count);
                spread(grads, lower + to, lower + and_to, down, across[x], count);
            }
        }
    }
}

/* The gradient of images [batch, height, width, channels], no dimension of which is 0. */
PUBLIC void crop_gradient_of_images(const float *grads, int64_t batch, int64_t height,
                                    int64_t width, int64_t channels, const int64_t *sources,
                                    int64_t boxes, const Weights *rows, const Weights *columns,
                                    float *results, int64_t threads) {
    int64_t slices = (channels + DEEP - 1) / DEEP;
    Crops all = {grads, NULL, height, width, channels, sources, boxes, rows, columns, results,
                 slices, 0};
    if (boxes * rows->count * columns->count * channels < FEW) threads = 1;
    in_parallel(gather_slice, &all, batch * slices, threads);
}

/* What a pixel adds to the gradient of the ends of its box along one dimension. */
typedef struct {
    float start, end;
} Ends;

typedef struct {
    float reached; /* how far the end moves the pixel */
    float size;    /* of the image, less 1 */
    int one;       /* whether it is the only pixel, which both ends move by a half */
} Reach;

INLINE Reach reach(int64_t size, int64_t count, int64_t place) {
    float ratio = count > 1 ? (float)(size - 1) / (float)(count - 1) : 0;
    Reach result = {(float)place * ratio, (float)(size - 1), count <= 1};
    return result;
}

INLINE void move(Ends *ends, float slope, const Reach *by) {
    if (by->one) {
        ends->start = (float)((double)ends->start + (double)slope * 0.5 * (double)by->size);
        ends->end = (float)((double)ends->end + (double)slope * 0.5 * (double)by->size);
    } else {
        ends->start += slope * (by->size - by->reached);
        ends->end += slope * by->reached;
    }
}

/* One pixel of a crop: its neighbours, and how far it is from the upper left one. */
typedef struct {
    int64_t top_left, top_right, bottom_left, bottom_right;
    float down, across;
    Reach row, column;
} Place;

INLINE void move_by_pixel(const void *image, const float *grads, int64_t channels, int bytes,
                          const Place *at, Ends *vertical, Ends *horizontal) {
    float down = at->down, across = at->across;
    for (int64_t c = 0; c < channels; c++) {
        float top_left = number(image, at->top_left + c, bytes);
        float top_right = number(image, at->top_right + c, bytes);
        float bottom_left = number(image, at->bottom_left + c, bytes);
        float bottom_right = number(image, at->bottom_right + c, bytes);
        float slope_y = (1 - across) * (bottom_left - top_left) +
                        across * (bottom_right - top_right);
        float slope_x = (1 - down) * (top_right - top_left) +
                        down * (bottom_right - bottom_left);
        move(vertical, slope_y * grads[c], &at->row);
        move(horizontal, slope_x * grads[c], &at->column);
    }
}

INLINE void sum_box(const Crops *all, int64_t box, int bytes) {
    int64_t row = box * all->rows->step, column = box * all->columns->step;
    int64_t channels = all->channels, line = all->width * channels;
    const char *image = (const char *)all->images + all->sources[box] * all->height * line *
                                                        (bytes ? 1 : (int64_t)sizeof(float));
    const float *grads = all->grads + box * all->rows->count * all->columns->count * channels;
    Ends vertical = {0, 0}, horizontal = {0, 0};
    for (int64_t y = 0; y < all->rows->count; y++) {
        int64_t top = all->rows->lower[row + y] * line, bottom = all->rows->upper[row + y] * line;
        for (int64_t x = 0; x < all->columns->count; x++, grads += channels) {
            int64_t left = all->columns->lower[column + x] * channels;
            int64_t right = all->columns->upper[column + x] * channels;
            if (top < 0 || left < 0) continue;
            Place at = {top + left, top + right, bottom + left, bottom + right,
                        all->rows->fraction[row + y], all->columns->fraction[column + x],
                        reach(all->height, all->rows->count, y),
                        reach(all->width, all->columns->count, x)};
            move_by_pixel(image, grads, channels, bytes, &at, &vertical, &horizontal);
        }
    }
    float *out = all->results + box * 4;
    out[0] = vertical.start, out[1] = horizontal.start;
    out[2] = vertical.end, out[3] = horizontal.end;
}

static void sum_a_box(void *data, int64_t box) {
    const Crops *all = data;
    if (all->bytes)
        sum_box(all, box, 1);
    else
        sum_box(all, box, 0);
}

/* The gradient of boxes, [boxes, 4], in images without a dimension of 0.

   bytes: whether the numbers of images are uint8, else float32. */
PUBLIC void crop_gradient_of_boxes(const float *grads, const void *images, int64_t bytes,
                                   int64_t height, int64_t width, int64_t channels,
                                   const int64_t *sources, int64_t boxes, const Weights *rows,
                                   const Weights *columns, float *results, int64_t threads) {
    Crops all = {grads, images, height, width, channels, sources, boxes, rows, columns, results,
                 0, (int)bytes};
    if (boxes * rows->count * columns->count * channels < FEW) threads = 1;
    in_parallel(sum_a_box, &all, boxes, threads);
}
