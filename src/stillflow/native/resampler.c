/* Images looked up between their pixels, with zeros around: src/stillflow_contrib/ops/image/resampling.py. */
#include "native.h"

#include <math.h>

typedef struct {
    const float *images; /* [batch, height, width, channels] */
    int64_t height, width, channels;
    const float *places; /* [batch, count, 2]: x and y */
    int64_t count;
    const float *grads; /* of the results, [batch, count, channels] */
    float *out;         /* the results, or the gradients of images, which are zeros before */
    float *of_places;   /* gradients of places */
} Sampling;

/* The four pixels around a place: where they stand in the image, -1 for those outside. */
typedef struct {
    int64_t at[2][2]; /* [down][right] */
    float dx, dy;     /* how near the place is to the first ones */
} Corners;

/* Returns whether a place sees anything of the image. */
static inline int find_corners(const Sampling *all, const float *place, Corners *corners) {
    float x = place[0], y = place[1];
    if (!(x > -1 && y > -1 && x < (float)all->width && y < (float)all->height)) return 0;
    int64_t left = (int64_t)floorf(x), top = (int64_t)floorf(y);
    corners->dx = (float)(left + 1) - x, corners->dy = (float)(top + 1) - y;
    for (int down = 0; down < 2; down++)
        for (int right = 0; right < 2; right++) {
            int64_t row = top + down, column = left + right;
            int seen = row >= 0 && column >= 0 && row < all->height && column < all->width;
            corners->at[down][right] = seen ? (row * all->width + column) * all->channels : -1;
        }
    return 1;
}

static inline float value(const float *image, int64_t at, int64_t channel) {
    return at < 0 ? 0 : image[at + channel];
}

static void sample_image(void *data, int64_t number) {
    const Sampling *all = data;
    const float *image = all->images + number * all->height * all->width * all->channels;
    const float *place = all->places + number * all->count * 2;
    float *out = all->out + number * all->count * all->channels;
    for (int64_t i = 0; i < all->count; i++, place += 2, out += all->channels) {
        Corners c;
        if (!find_corners(all, place, &c)) {
            memset(out, 0, (size_t)all->channels * sizeof *out);
            continue;
        }
        float first = c.dx * c.dy, last = (1 - c.dx) * (1 - c.dy);
        float below = c.dx * (1 - c.dy), right = (1 - c.dx) * c.dy;
        for (int64_t k = 0; k < all->channels; k++)
            out[k] = first * value(image, c.at[0][0], k) + last * value(image, c.at[1][1], k) +
                     below * value(image, c.at[1][0], k) + right * value(image, c.at[0][1], k);
    }
}

PUBLIC void sample_images(const float *images, int64_t batch, int64_t height, int64_t width,
                          int64_t channels, const float *places, int64_t count, float *out,
                          int64_t threads) {
    Sampling all = {images, height, width, channels, places, count, NULL, out, NULL};
    in_parallel(sample_image, &all, batch, threads);
}

static inline void add(float *image, int64_t at, int64_t channel, float number) {
    if (at >= 0) image[at + channel] += number;
}

static void sample_gradient(void *data, int64_t number) {
    const Sampling *all = data;
    int64_t size = all->height * all->width * all->channels;
    const float *image = all->images + number * size;
    const float *place = all->places + number * all->count * 2;
    const float *grad = all->grads + number * all->count * all->channels;
    float *out = all->out + number * size, *of_place = all->of_places + number * all->count * 2;
    for (int64_t i = 0; i < all->count; i++, place += 2, of_place += 2, grad += all->channels) {
        Corners c;
        float by_x = 0, by_y = 0;
        if (find_corners(all, place, &c)) {
            float first = c.dx * c.dy, last = (1 - c.dx) * (1 - c.dy);
            float below = c.dx * (1 - c.dy), right = (1 - c.dx) * c.dy;
            for (int64_t k = 0; k < all->channels; k++) {
                float a = value(image, c.at[0][0], k), d = value(image, c.at[1][1], k);
                float b = value(image, c.at[0][1], k), e = value(image, c.at[1][0], k);
                by_x += grad[k] * ((1 - c.dy) * (d - e) + c.dy * (b - a));
                by_y += grad[k] * ((1 - c.dx) * (d - b) + c.dx * (e - a));
                add(out, c.at[0][0], k, grad[k] * first);
                add(out, c.at[1][1], k, grad[k] * last);
                add(out, c.at[1][0], k, grad[k] * below);
                add(out, c.at[0][1], k, grad[k] * right);
            }
        }
        of_place[0] = by_x, of_place[1] = by_y;
    }
}

PUBLIC void sample_images_gradient(const float *images, int64_t batch, int64_t height,
                                   int64_t width, int64_t channels, const float *places,
                                   int64_t count, const float *grads, float *out,
                                   float *of_places, int64_t threads) {
    Sampling all = {images, height, width, channels, places, count, grads, out, of_places};
    in_parallel(sample_gradient, &all, batch, threads);
}
