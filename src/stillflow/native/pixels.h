/* Numbers of images, of uint8 or else of float32, as float32. */
#ifndef STILLFLOW_PIXELS_H
#define STILLFLOW_PIXELS_H

#include "native.h"

enum { LANES = 4 }; /* numbers taken together: a pixel of 3 channels and the start of the next */

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

#endif
