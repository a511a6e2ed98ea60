/* Features of speech in whole numbers: src/stillflow_contrib/ops/audio/fixed_frontend.py, which says what
   each step is.

   Several windows are transformed side by side, each in a lane of its own. */
#include "native.h"

#include <math.h>
#include <stdlib.h>

enum { LANES = 16 };
enum { WINDOW_BITS = 12, NOISE_BITS = 14, FRACTION_BITS = 15, SNR_BITS = 12, GAIN_BITS = 6 };
enum { LOG_BITS = 16, LOG_SEGMENT_BITS = 7, LOG_OF_TWO = 45426 };

/* fixed_frontend.py fills it: numbers of 64 bits, and addresses. */
typedef struct {
    int64_t window_size, window_step, transform_size, channels, smoothing_bits, correction_bits;
    int64_t even_smoothing, odd_smoothing, least_signal, with_gain, gain_shift, with_log;
    int64_t scale_shift;
    const int64_t *window;             /* [window_size] */
    const int64_t *twiddles, *halves;  /* [transform_size / 2, 2], [transform_size / 4, 2] */
    const int64_t *weights;            /* [transform_size / 2 + 1, channels] */
    const int64_t *first, *behind;     /* the frequencies of each channel */
    const int64_t *gains, *logarithms; /* [bits, 3], [segments + 1] */
} Frontend;

/* Complex numbers of 16 bits, one of each window. */
typedef struct {
    int16_t real[LANES], imaginary[LANES];
} Numbers;

#define INLINE static inline __attribute__((always_inline))
#define EACH_LANE for (int lane = 0; lane < LANES; lane++)
#define ROUNDED(value) ((int16_t)(((value) + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS))

INLINE void divide(Numbers *x, int32_t by) {
    int32_t share = 0x7FFF / by;
    EACH_LANE x->real[lane] = ROUNDED(x->real[lane] * share);
    EACH_LANE x->imaginary[lane] = ROUNDED(x->imaginary[lane] * share);
}

INLINE void multiply(Numbers *x, const int64_t *by) {
    int32_t real = (int32_t)by[0], imaginary = (int32_t)by[1];
    EACH_LANE {
        int32_t a = x->real[lane], b = x->imaginary[lane];
        x->real[lane] = ROUNDED(a * real - b * imaginary);
        x->imaginary[lane] = ROUNDED(a * imaginary + b * real);
    }
}

/* Joins the transforms of every fourth number. */
INLINE void join_four(Numbers *out, int64_t part, int64_t k) {
    Numbers *a = out + k, *b = a + part, *c = b + part, *d = c + part;
    EACH_LANE {
        int32_t real = a->real[lane] + c->real[lane], across = a->real[lane] - c->real[lane];
        int32_t odd = b->real[lane] + d->real[lane], turned = b->real[lane] - d->real[lane];
        int32_t imaginary = a->imaginary[lane] + c->imaginary[lane];
        int32_t across_too = a->imaginary[lane] - c->imaginary[lane];
        int32_t odd_too = b->imaginary[lane] + d->imaginary[lane];
        int32_t turned_too = b->imaginary[lane] - d->imaginary[lane];
        a->real[lane] = (int16_t)(real + odd);
        a->imaginary[lane] = (int16_t)(imaginary + odd_too);
        b->real[lane] = (int16_t)(across + turned_too);
        b->imaginary[lane] = (int16_t)(across_too - turned);
        c->real[lane] = (int16_t)(real - odd);
        c->imaginary[lane] = (int16_t)(imaginary - odd_too);
        d->real[lane] = (int16_t)(across - turned_too);
        d->imaginary[lane] = (int16_t)(across_too + turned);
    }
}

INLINE void join_two(Numbers *out, int64_t part, int64_t k) {
    Numbers *a = out + k, *b = a + part;
    EACH_LANE {
        int32_t real = a->real[lane], imaginary = a->imaginary[lane];
        a->real[lane] = (int16_t)(real + b->real[lane]);
        a->imaginary[lane] = (int16_t)(imaginary + b->imaginary[lane]);
        b->real[lane] = (int16_t)(real - b->real[lane]);
        b->imaginary[lane] = (int16_t)(imaginary - b->imaginary[lane]);
    }
}

INLINE void join(Numbers *out, int64_t part, int64_t radix, int64_t step, const int64_t *twiddles) {
    for (int64_t k = 0; k < part; k++) {
        for (int64_t i = 0; i < radix; i++) {
            Numbers *each = out + i * part + k;
            divide(each, (int32_t)radix);
            if (i) multiply(each, twiddles + 2 * i * k * step);
        }
        if (radix == 4)
            join_four(out, part, k);
        else
            join_two(out, part, k);
    }
}

FOR_EACH_PROCESSOR static void join_parts(Numbers *out, int64_t part, int64_t radix, int64_t step,
                                          const int64_t *twiddles) {
    if (radix == 4)
        join(out, part, 4, step, twiddles);
    else
        join(out, part, 2, step, twiddles);
}

/* The transform of every `step`-th of some numbers; their count is a power of two. */
static void transform(const Numbers *in, Numbers *out, int64_t size, int64_t step,
                      const int64_t *twiddles) {
    int64_t radix = size % 4 == 0 ? 4 : 2, part = size / radix;
    if (size == 1) {
        *out = *in;
        return;
    }
    for (int64_t i = 0; i < radix; i++)
        transform(in + i * step, out + i * part, part, step * radix, twiddles);
    join_parts(out, part, radix, step, twiddles);
}

/* The energies of the frequencies, of the transform of pairs of real numbers. */
FOR_EACH_PROCESSOR static void find_energies(const Frontend *all, Numbers *packed,
                                             int64_t *energies) {
    int64_t half = all->transform_size / 2;
    for (int64_t k = 0; k < half; k++) divide(packed + k, 2);
    EACH_LANE {
        int64_t low = (int16_t)(packed->real[lane] + packed->imaginary[lane]);
        int64_t high = (int16_t)(packed->real[lane] - packed->imaginary[lane]);
        energies[lane] = low * low, energies[half * LANES + lane] = high * high;
    }
    for (int64_t k = 1; k <= half / 2; k++) {
        const Numbers *here = packed + k, *there = packed + half - k;
        int16_t total[LANES], total_too[LANES];
        Numbers turned;
        EACH_LANE {
            int32_t mirrored = (int16_t)-there->imaginary[lane];
            total[lane] = (int16_t)(here->real[lane] + there->real[lane]);
            total_too[lane] = (int16_t)(here->imaginary[lane] + mirrored);
            turned.real[lane] = (int16_t)(here->real[lane] - there->real[lane]);
            turned.imaginary[lane] = (int16_t)(here->imaginary[lane] - mirrored);
        }
        multiply(&turned, all->halves + 2 * (k - 1));
        int64_t *low = energies + k * LANES, *high = energies + (half - k) * LANES;
        EACH_LANE {
            int32_t a = total[lane], b = total_too[lane];
            int32_t c = turned.real[lane], d = turned.imaginary[lane];
            int64_t real = (int16_t)((a + c) >> 1), imaginary = (int16_t)((b + d) >> 1);
            low[lane] = real * real + imaginary * imaginary;
            real = (int16_t)((a - c) >> 1), imaginary = (int16_t)((d - b) >> 1);
            high[lane] = real * real + imaginary * imaginary;
        }
    }
}

static inline int bits_of(int64_t value) { return value ? 64 - __builtin_clzll((uint64_t)value) : 0; }

/* A window's samples, weighted and made as large as 16 bits allow; returns by how many bits. */
static int64_t take_window(const Frontend *all, const int16_t *audio, int lane, Numbers *out) {
    int32_t largest = 0;
    for (int64_t i = 0; i < all->window_size; i++) {
        int16_t value = (int16_t)((audio[i] * (int32_t)all->window[i]) >> WINDOW_BITS);
        int16_t size = (int16_t)(value < 0 ? -value : value);
        largest = size > largest ? size : largest;
        int16_t *to = i % 2 ? out[i / 2].imaginary : out[i / 2].real;
        to[lane] = value;
    }
    int shift = 15 - bits_of(largest);
    for (int64_t i = 0; i < all->window_size; i++) {
        int16_t *at = (i % 2 ? out[i / 2].imaginary : out[i / 2].real) + lane;
        *at = (int16_t)((uint32_t)(int32_t)*at << shift);
    }
    return shift;
}

static int64_t rounded_root(int64_t value) {
    int64_t root = (int64_t)sqrt((double)value);
    root -= root * root > value;
    root += (root + 1) * (root + 1) <= value;
    if (value < 1LL << 32 && root == 0xFFFF) return root;
    return root + (value - root * root > root);
}

static int64_t word(int64_t value) { return value & 0xFFFFFFFFLL; }

static int64_t with_even_gain(const Frontend *all, int64_t signal, int64_t noise) {
    int bits = bits_of(noise);
    const int64_t *parts = all->gains + 3 * bits;
    int64_t fraction = (bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3FF;
    int64_t slope = ((parts[2] * fraction >> 5) + parts[1] * 32) * fraction;
    int64_t gain = (int16_t)(((slope + (1 << 14)) >> 15) + parts[0]);
    if (noise <= 2) gain = all->gains[3 * noise];
    int64_t ratio = word((int64_t)((uint64_t)signal * (uint64_t)word(gain)) >> all->gain_shift);
    if (ratio < 2 << SNR_BITS)
        return word((int64_t)((uint64_t)ratio * (uint64_t)ratio)) >> (2 + 2 * SNR_BITS - GAIN_BITS);
    return (ratio >> (SNR_BITS - GAIN_BITS)) - (1 << GAIN_BITS);
}

static int64_t logarithm(const Frontend *all, int64_t signal) {
    int64_t shift = all->correction_bits, unit = LOG_BITS - LOG_SEGMENT_BITS;
    int64_t value = shift >= 0 ? word((int64_t)((uint64_t)signal << shift)) : signal >> -shift;
    if (value <= 1) return 0;
    int whole = bits_of(value) - 1;
    int64_t fraction = value - (1LL << whole);
    fraction = whole < LOG_BITS ? fraction << (LOG_BITS - whole) : fraction >> (whole - LOG_BITS);
    int64_t segment = fraction >> unit;
    int64_t low = all->logarithms[segment], high = all->logarithms[segment + 1];
    int64_t between = ((high - low) * (fraction - (segment << unit))) >> LOG_BITS;
    int64_t found = ((int64_t)whole << LOG_BITS) + fraction + low + between, half = 1 << (LOG_BITS - 1);
    int64_t natural = (LOG_OF_TWO * found + half) >> LOG_BITS;
    return (word((int64_t)((uint64_t)natural << all->scale_shift)) + half) >> LOG_BITS;
}

/* One channel of one window. `estimate` is the channel's noise so far. */
static uint16_t feature(const Frontend *all, int64_t channel, int64_t signal, int64_t *estimate) {
    int64_t smoothing = channel % 2 ? all->odd_smoothing : all->even_smoothing;
    int64_t scaled = word((int64_t)((uint64_t)signal << all->smoothing_bits));
    uint64_t kept = (uint64_t)*estimate * (uint64_t)((1 << NOISE_BITS) - smoothing);
    int64_t noise = word((int64_t)(((uint64_t)scaled * (uint64_t)smoothing + kept) >> NOISE_BITS));
    *estimate = noise;
    int64_t left = (scaled - (noise < scaled ? noise : scaled)) >> all->smoothing_bits;
    int64_t least = signal * all->least_signal >> NOISE_BITS;
    signal = left > least ? left : least;
    if (all->with_gain) signal = with_even_gain(all, signal, noise);
    if (all->with_log) signal = logarithm(all, signal);
    return (uint16_t)(signal < 0xFFFF ? signal : 0xFFFF);
}

FOR_EACH_PROCESSOR static void find_signals(const Frontend *all, const int64_t *energies,
                                            int64_t channel, int64_t *sums) {
    EACH_LANE sums[lane] = 0;
    for (int64_t k = all->first[channel]; k < all->behind[channel]; k++) {
        int64_t weight = all->weights[k * all->channels + channel];
        EACH_LANE sums[lane] += weight * energies[k * LANES + lane];
    }
}

/* Features of windows of sound, [frames, channels]; returns 1 without memory. */
PUBLIC int64_t speech_features(const Frontend *all, const int16_t *audio, int64_t frames,
                               uint16_t *out) {
    int64_t half = all->transform_size / 2, channels = all->channels;
    Numbers *in = malloc((size_t)half * 2 * sizeof *in), *packed = in + half;
    int64_t *energies = malloc((size_t)(half + 1) * LANES * sizeof *energies);
    int64_t *estimates = calloc((size_t)channels, sizeof *estimates);
    int failed = !in || !energies || !estimates;
    for (int64_t frame = 0; !failed && frame < frames; frame += LANES) {
        int64_t count = frames - frame < LANES ? frames - frame : LANES;
        int64_t shifts[LANES], sums[LANES];
        memset(in, 0, (size_t)half * sizeof *in);
        for (int lane = 0; lane < count; lane++)
            shifts[lane] =
                take_window(all, audio + (frame + lane) * all->window_step, lane, in);
        transform(in, packed, half, 1, all->twiddles);
        find_energies(all, packed, energies);
        for (int64_t c = 0; c < channels; c++) {
            find_signals(all, energies, c, sums);
            for (int lane = 0; lane < count; lane++)
                out[(frame + lane) * channels + c] = feature(
                    all, c, rounded_root(sums[lane]) >> shifts[lane], estimates + c);
        }
    }
    free(in), free(energies), free(estimates);
    return failed;
}
