/* Items of one tensor or of another: src/stillflow/ops/arrays/native_kernels.py.

   Torch looks at one element after the other; a processor blends as many as fit into a register. */
#include "native.h"

enum { PART = 1 << 14 /* items that one thread takes at a time */ };

typedef struct {
    const uint8_t *condition;
    const void *x, *y;
    int64_t x_step, y_step; /* 1, or 0 where one item stands for all */
    int64_t width;          /* items for each condition */
    int64_t item;           /* its bytes */
    int64_t size;
    void *out;
} Choice;

#define INLINE static inline __attribute__((always_inline))

#define BLEND(type)                                                                            \
    INLINE void blend_##type(const Choice *all, int64_t first, int64_t end) {                  \
        const uint8_t *condition = all->condition;                                             \
        const type *x = all->x, *y = all->y;                                                   \
        type *out = all->out;                                                                  \
        if (all->x_step && all->y_step)                                                        \
            for (int64_t i = first; i < end; i++) {                                            \
                type a = x[i], b = y[i];                                                       \
                out[i] = condition[i] ? a : b;                                                 \
            }                                                                                  \
        else if (all->x_step)                                                                  \
            for (int64_t i = first; i < end; i++) {                                            \
                type a = x[i], b = *y;                                                         \
                out[i] = condition[i] ? a : b;                                                 \
            }                                                                                  \
        else if (all->y_step)                                                                  \
            for (int64_t i = first; i < end; i++) {                                            \
                type a = *x, b = y[i];                                                         \
                out[i] = condition[i] ? a : b;                                                 \
            }                                                                                  \
        else                                                                                   \
            for (int64_t i = first; i < end; i++) out[i] = condition[i] ? *x : *y;             \
    }

BLEND(uint8_t)
BLEND(uint16_t)
BLEND(uint32_t)
BLEND(uint64_t)

FOR_EACH_PROCESSOR static void choose_part(void *data, int64_t part) {
    const Choice *all = data;
    int64_t first = part * PART, end = first + PART < all->size ? first + PART : all->size;
    if (all->item == 1)
        blend_uint8_t(all, first, end);
    else if (all->item == 2)
        blend_uint16_t(all, first, end);
    else if (all->item == 4)
        blend_uint32_t(all, first, end);
    else
        blend_uint64_t(all, first, end);
}

/* Copies a run of items; of one that stands for all, as many. */
static void copy_row(char *out, const char *from, int64_t step, int64_t at, int64_t width,
                     int64_t item) {
    if (step) {
        memcpy(out, from + at * item, (size_t)(width * item));
        return;
    }
    for (int64_t i = 0; i < width; i++) memcpy(out + i * item, from, (size_t)item);
}

static void choose_rows(void *data, int64_t part) {
    const Choice *all = data;
    int64_t width = all->width, rows = all->size / width;
    int64_t each = PART / width + 1, first = part * each;
    for (int64_t row = first; row < rows && row < first + each; row++) {
        int yes = all->condition[row];
        copy_row((char *)all->out + row * width * all->item, yes ? all->x : all->y,
                 yes ? all->x_step : all->y_step, row * width, width, all->item);
    }
}

/* Takes items of x where a condition holds, else those of y.

   steps: 1 for a tensor of as many items as the result, 0 for a single one.
   width: how many items of the result each condition is for.
   item: bytes of one, 1, 2, 4 or 8. */
PUBLIC void choose_items(const uint8_t *condition, const void *x, int64_t x_step, const void *y,
                         int64_t y_step, int64_t width, int64_t item, int64_t size, void *out,
                         int64_t threads) {
    Choice all = {condition, x, y, x_step, y_step, width, item, size, out};
    if (width == 1)
        in_parallel(choose_part, &all, (size + PART - 1) / PART, threads);
    else
        in_parallel(choose_rows, &all, size / width / (PART / width + 1) + 1, threads);
}
