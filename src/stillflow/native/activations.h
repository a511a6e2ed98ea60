/* Activations of gates, by polynomials that the compiler can take many of at a time. */
#ifndef STILLFLOW_ACTIVATIONS_H
#define STILLFLOW_ACTIVATIONS_H

#include "native.h"

#include <math.h>

/* For many numbers at a time: no division here traps, so that both sides of a choice may be
   computed, and what is written in one turn of a loop is not read in another. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#define TURNS_APART _Pragma("GCC ivdep")
#else
#define TURNS_APART
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE float between(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x; /* NaN stays */
}

/* e^x from e^(n ln 2) e^rest, |rest| <= ln 2 / 2. */
INLINE float exponential(float x) {
    const float to_whole = 12582912; /* added, it leaves no bits behind the point */
    x = between(x, -87.0f, 88.0f);
    float n = x * 1.44269504f + to_whole, rest, value;
    uint32_t bits;
    memcpy(&bits, &n, sizeof bits);
    n -= to_whole;
    rest = x - n * 0.693359375f - n * -2.12194440e-4f;
    value = 1.9875691500e-4f;
    value = value * rest + 1.3981999507e-3f;
    value = value * rest + 8.3334519073e-3f;
    value = value * rest + 4.1665795894e-2f;
    value = value * rest + 1.6666665459e-1f;
    value = value * rest + 5.0000001201e-1f;
    value = value * rest * rest + rest + 1;
    bits = (bits + 127) << 23;
    memcpy(&n, &bits, sizeof n);
    return value * n;
}

/* ln x = e ln 2 + ln m, of a mantissa between the root of 1/2 and that of 2. */
INLINE float logarithm(float x) {
    int is_tiny = x < 1.17549435e-38f;
    float scaled = is_tiny ? x * 8388608 : x, m, square, value;
    int32_t bits;
    memcpy(&bits, &scaled, sizeof bits);
    int32_t shifted = bits - 0x3f3504f3; /* the root of 1/2 */
    float e = (float)(shifted >> 23) - (is_tiny ? 23.0f : 0.0f);
    bits = (shifted & 0x007fffff) + 0x3f3504f3;
    memcpy(&m, &bits, sizeof m);
    m -= 1;
    square = m * m;
    value = 7.0376836292e-2f;
    value = value * m - 1.1514610310e-1f;
    value = value * m + 1.1676998740e-1f;
    value = value * m - 1.2420140846e-1f;
    value = value * m + 1.4249322787e-1f;
    value = value * m - 1.6668057665e-1f;
    value = value * m + 2.0000714765e-1f;
    value = value * m - 2.4999993993e-1f;
    value = value * m + 3.3333331174e-1f;
    value = value * m * square - 2.12194440e-4f * e - 0.5f * square;
    value = m + value + 0.693359375f * e;
    value = x < INFINITY ? value : x; /* NaN stays */
    return x > 0 ? value : x == 0 ? -INFINITY : NAN;
}

INLINE float sigmoid(float x) { return 1 / (1 + exponential(-x)); }

INLINE float hyperbolic_tangent(float x) {
    float square = x * x, near = -5.70498872745e-3f;
    near = near * square + 2.06390887954e-2f;
    near = near * square - 5.37397155531e-2f;
    near = near * square + 1.33314422036e-1f;
    near = near * square - 3.33332819422e-1f;
    near = near * square * x + x;
    float far = 1 - 2 / (exponential(2 * x) + 1);
    return square < 0.390625f ? copysignf(near, x) : far; /* -0 stays */
}

#endif
