/* Quantized numbers, resized and moved to another range: src/stillflow/ops/quantization. */
#include "native.h"

#define INLINE static inline __attribute__((always_inline))

FOR_EACH_PROCESSOR static void narrow(const int32_t *values, int64_t count, int64_t scale,
                                      int64_t offset, uint8_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t whole = (int64_t)((uint64_t)(int64_t)values[i] * (uint64_t)scale) >> 32;
        whole = (whole + offset) >> 16;
        whole = whole < 0 ? 0 : whole;
        out[i] = (uint8_t)(whole > 255 ? 255 : whole);
    }
}

/* Numbers of 32 bits as 8 bits: (value * scale / 2^32 + offset) / 2^16, rounded down. */
PUBLIC void narrow_to_bytes(const int32_t *values, int64_t count, int64_t scale, int64_t offset,
                            uint8_t *out) {
    narrow(values, count, scale, offset, out);
}

/* Where outputs lie among the inputs along one dimension; fractions are whole numbers. */
typedef struct {
    const int64_t *lower, *upper, *fraction;
    int64_t size, count;
} Axis;

#define RESIZE(name, type, wide, read, bits)                                                   \
    INLINE void resize_##name(const type *top, const type *bottom, const Axis *columns,        \
                              wide down, int64_t channels, type *restrict out) {               \
        const wide one = (wide)1 << (bits);                                                    \
        for (int64_t x = 0; x < columns->count; x++, out += channels) {                        \
            int64_t left = columns->lower[x] * channels, right = columns->upper[x] * channels; \
            wide across = (wide)columns->fraction[x];                                          \
            for (int64_t c = 0; c < channels; c++) {                                           \
                wide a = read(top[left + c]), b = read(bottom[left + c]);                      \
                wide upper = a * one + ((wide)read(top[right + c]) - a) * across;              \
                wide lower = b * one + ((wide)read(bottom[right + c]) - b) * across;           \
                out[c] = (type)((upper + (lower - upper) / one * down + one / 2) / one);       \
            }                                                                                  \
        }                                                                                      \
    }

#define AS_IT_IS(value) (value)
#define IN_SINGLE(value) ((int64_t)(float)(value)) /* as TensorFlow reads numbers of 32 bits */
RESIZE(bytes, uint8_t, int32_t, AS_IT_IS, 7)
RESIZE(integers, int32_t, int64_t, IN_SINGLE, 30)

FOR_EACH_PROCESSOR static void resize(const void *images, int64_t bytes, int64_t batch,
                                      int64_t channels, const Axis *rows, const Axis *columns,
                                      void *results) {
    int64_t line = columns->size * channels, width = columns->count * channels;
    for (int64_t i = 0; i < batch * rows->count; i++) {
        int64_t y = i % rows->count, first = i / rows->count * rows->size;
        int64_t top = (first + rows->lower[y]) * line, bottom = (first + rows->upper[y]) * line;
        int64_t down = rows->fraction[y];
        if (bytes) {
            const uint8_t *image = images;
            uint8_t *out = (uint8_t *)results + i * width;
            if (channels == 3)
                resize_bytes(image + top, image + bottom, columns, (int32_t)down, 3, out);
            else
                resize_bytes(image + top, image + bottom, columns, (int32_t)down, channels, out);
        } else {
            const int32_t *image = images;
            resize_integers(image + top, image + bottom, columns, down, channels,
                            (int32_t *)results + i * width);
        }
    }
}

/* Resizes images [batch, height, width, channels] of uint8, or else of int32. */
PUBLIC void resize_quantized(const void *images, int64_t bytes, int64_t batch, int64_t channels,
                             const Axis *rows, const Axis *columns, void *results) {
    resize(images, bytes, batch, channels, rows, columns, results);
}
