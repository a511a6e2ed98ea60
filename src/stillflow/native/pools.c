/* Pools over windows that are given by their edges: src/stillflow/ops/nn/native_kernels.py.

   Volumes have their channels last; images are volumes of one plane. Of equal maxima the first in
   a window counts, and nothing is larger than what is not a number. */
#include "native.h"

enum { LANES = 64 }; /* channels taken together */
enum { LARGEST, AVERAGE, LARGEST_GRADIENT, AVERAGE_GRADIENT, SECOND_GRADIENT };

/* nn/native_kernels.py fills it. */
typedef struct {
    int64_t batch, channels, sizes[3], counts[3];
    int64_t edges[]; /* along each axis the first places of the windows, then the last ones */
} Windows;

typedef struct {
    const Windows *windows;
    const void *images, *grads;
    void *out;
    int64_t how;
} Pool;

typedef struct {
    int64_t first[3], last[3], places;
} Box;

#define INLINE static inline __attribute__((always_inline))

INLINE Box box_of(const Windows *all, const int64_t number[3]) {
    Box box = {.places = 1};
    const int64_t *edges = all->edges;
    for (int64_t axis = 0; axis < 3; axis++) {
        box.first[axis] = edges[number[axis]];
        box.last[axis] = edges[all->counts[axis] + number[axis]];
        box.places *= box.last[axis] - box.first[axis] + 1;
        edges += 2 * all->counts[axis];
    }
    return box;
}

#define EACH_PLACE(box, sizes, statement)                                        \
    for (int64_t i_ = (box).first[0]; i_ <= (box).last[0]; i_++)                 \
        for (int64_t j_ = (box).first[1]; j_ <= (box).last[1]; j_++) {           \
            int64_t line = (i_ * (sizes)[1] + j_) * (sizes)[2], at = line + (box).first[2]; \
            for (; at <= line + (box).last[2]; at++) statement                   \
        }

#define POOLS(type)                                                                            \
    /* The maxima of some channels in a window, and where they stand. */                       \
    INLINE void find_##type(const Windows *all, const type *image, const Box *box, int64_t n,  \
                            type *values, int32_t *places) {                                   \
        int64_t start = (box->first[0] * all->sizes[1] + box->first[1]) * all->sizes[2]        \
                      + box->first[2];                                                         \
        for (int64_t c = 0; c < n; c++)                                                        \
            values[c] = image[start * all->channels + c], places[c] = (int32_t)start;          \
        EACH_PLACE(*box, all->sizes, {                                                         \
            const type *row = image + at * all->channels;                                      \
            for (int64_t c = 0; c < n; c++) {                                                  \
                int wins = row[c] > values[c];                                                 \
                values[c] = wins ? row[c] : values[c];                                         \
                places[c] = wins ? (int32_t)at : places[c];                                    \
            }                                                                                  \
        })                                                                                     \
    }                                                                                          \
                                                                                               \
    INLINE void average_##type(const Windows *all, const type *image, const Box *box,          \
                               int64_t n, type *out) {                                         \
        for (int64_t c = 0; c < n; c++) out[c] = 0;                                            \
        EACH_PLACE(*box, all->sizes, {                                                         \
            for (int64_t c = 0; c < n; c++) out[c] += image[at * all->channels + c];           \
        })                                                                                     \
        for (int64_t c = 0; c < n; c++) out[c] /= (type)box->places;                           \
    }                                                                                          \
                                                                                               \
    /* Some channels of a window; `image` and `result` are those of the whole volume. */       \
    INLINE void pool_##type(const Windows *all, int64_t how, const Box *box, int64_t n,        \
                            const type *image, const type *pooled, type *made, type *result) { \
        type values[LANES];                                                                    \
        int32_t places[LANES];                                                                 \
        if (how == AVERAGE) {                                                                  \
            average_##type(all, image, box, n, made);                                          \
        } else if (how == AVERAGE_GRADIENT) {                                                  \
            for (int64_t c = 0; c < n; c++) values[c] = pooled[c] / (type)box->places;         \
            EACH_PLACE(*box, all->sizes, {                                                     \
                for (int64_t c = 0; c < n; c++) result[at * all->channels + c] += values[c];   \
            })                                                                                 \
        } else {                                                                               \
            find_##type(all, image, box, n, values, places);                                   \
            if (how == LARGEST)                                                                \
                for (int64_t c = 0; c < n; c++) made[c] = values[c];                           \
            if (how == LARGEST_GRADIENT)                                                       \
                for (int64_t c = 0; c < n; c++)                                                \
                    result[places[c] * all->channels + c] += pooled[c];                        \
            if (how == SECOND_GRADIENT) /* `result` has the gradients of the volume */         \
                for (int64_t c = 0; c < n; c++)                                                \
                    made[c] = result[places[c] * all->channels + c];                           \
        }                                                                                      \
    }                                                                                          \
                                                                                               \
    FOR_EACH_PROCESSOR                                                                         \
    static void pool_volume_##type(void *data, int64_t number) {                               \
        const Pool *pool = data;                                                               \
        const Windows *all = pool->windows;                                                    \
        const int64_t *size = all->sizes, *count = all->counts;                                \
        int64_t volume = number * size[0] * size[1] * size[2] * all->channels, index[3];       \
        int64_t at = number * count[0] * count[1] * count[2] * all->channels;                  \
        int second = pool->how == SECOND_GRADIENT;                                             \
        int to_volume = pool->how == LARGEST_GRADIENT || pool->how == AVERAGE_GRADIENT;        \
        const type *image = pool->images, *grads = pool->grads;                                \
        type *out = pool->out, *result = second ? (type *)grads : out;                         \
        for (index[0] = 0; index[0] < count[0]; index[0]++)                                    \
            for (index[1] = 0; index[1] < count[1]; index[1]++)                                \
                for (index[2] = 0; index[2] < count[2]; index[2]++) {                          \
                    Box box = box_of(all, index);                                              \
                    for (int64_t c = 0; c < all->channels; c += LANES) {                       \
                        int64_t n = all->channels - c < LANES ? all->channels - c : LANES;     \
                        const type *from = image + volume + c;                                 \
                        const type *pooled = to_volume ? grads + at + c : NULL;                \
                        type *made = to_volume ? NULL : out + at + c, *to = result + volume + c; \
                        if (n == LANES)                                                        \
                            pool_##type(all, pool->how, &box, LANES, from, pooled, made, to);  \
                        else if (n == 1)                                                       \
                            pool_##type(all, pool->how, &box, 1, from, pooled, made, to);      \
                        else if (n == 2)                                                       \
                            pool_##type(all, pool->how, &box, 2, from, pooled, made, to);      \
                        else if (n == 3)                                                       \
                            pool_##type(all, pool->how, &box, 3, from, pooled, made, to);      \
                        else                                                                   \
                            pool_##type(all, pool->how, &box, n, from, pooled, made, to);      \
                    }                                                                          \
                    at += all->channels;                                                       \
                }                                                                              \
    }

POOLS(float)
POOLS(double)
POOLS(int32_t)
POOLS(int64_t)

/* Pools all windows, or sends gradients through them.

   kind: of numbers: float, double, int32 or int64.
   images: volumes; of a gradient of averages nobody asks for them.
   grads: of the maxima or averages; of a second gradient, those of the volumes.
   out: maxima or averages; of a gradient volumes, which are zero; of a second one as the maxima. */
PUBLIC void pool_windows(const Windows *windows, int64_t kind, int64_t how, const void *images,
                         const void *grads, void *out, int64_t threads) {
    Pool pool = {windows, images, grads, out, how};
    const Work works[] = {pool_volume_float, pool_volume_double, pool_volume_int32_t,
                          pool_volume_int64_t};
    in_parallel(works[kind], &pool, windows->batch, threads);
}
