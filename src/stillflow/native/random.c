/* Draws from a Philox stream: src/stillflow/ops/random/native_kernels.py.

   The same numbers as those of draws.py and single_precision.py, whose comments say where the
   method and its coefficients come from: every operation is done in the same order and precision. */
#include "philox.h"

#include <math.h>

enum { WORDS, FLOATS, DOUBLES, NORMALS, TRUNCATED }; /* kinds of draws */
enum { PART = 1 << 12 };

typedef struct {
    Stream stream;
    int64_t kind, count, bits;
    void *out;
} Draws;

/* The words of blocks one after the other. */
static inline void fill_next(const Draws *all, int64_t first, uint32_t words[PER_BLOCK][BATCH]) {
    uint64_t places[BATCH];
    for (int i = 0; i < BATCH; i++) places[i] = (uint64_t)(first + i);
    fill_batch(&all->stream, places, words);
}

/* ---- from words to numbers */

static inline float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* In [0, 1), of the lowest `bits` bits of a word. */
static inline float unit_float(uint32_t word, int bits) {
    uint32_t mantissa = (word & ((1u << bits) - 1)) << (23 - bits);
    return as_float(mantissa | 127u << 23) - 1.0f;
}

static const double INVERSES[16] = {
    0x1.661ec79f8f3bep+0, 0x1.571ed4aaf883dp+0, 0x1.49539f0f010bp+0,  0x1.3c995b0b80385p+0,
    0x1.30d190c8864a5p+0, 0x1.25e227b0b8eap+0,  0x1.1bb4a4a1a343fp+0, 0x1.12358f08ae5bap+0,
    0x1.0953f419900a7p+0, 0x1p+0,               0x1.e608cfd9a47acp-1, 0x1.ca4b31f026aap-1,
    0x1.b2036576afce6p-1, 0x1.9c2d163a1aa2dp-1, 0x1.886e6037841edp-1, 0x1.767dcf5534862p-1,
};
static const double LOGARITHMS[16] = {
    -0x1.57bf7808caadep-2, -0x1.2bef0a7c06ddbp-2, -0x1.01eae7f513a67p-2, -0x1.b31d8a68224e9p-3,
    -0x1.6574f0ac07758p-3, -0x1.1aa2bc79c81p-3,   -0x1.a4e76ce8c0e5ep-4, -0x1.1973c5a611cccp-4,
    -0x1.252f438e10c1ep-5, 0x0p+0,                0x1.aa5aa5df25984p-5,  0x1.c5e53aa362eb4p-4,
    0x1.526e57720db08p-3,  0x1.bc2860d22477p-3,   0x1.1058bc8a07ee1p-2,  0x1.4043057b6ee09p-2,
};

/* log x for 0 < x < 1. */
static inline float log_of_unit(float x) {
    int32_t offset = (int32_t)(bits_of(x) - 0x3F330000u);
    int32_t exponent = offset >> 23, interval = offset >> 19 & 15;
    double mantissa = as_float(bits_of(x) - ((uint32_t)exponent << 23));
    double r = mantissa * INVERSES[interval] - 1.0, square = r * r;
    double rest = LOGARITHMS[interval] + exponent * 0x1.62e42fefa39efp-1 + r;
    double sum = r * 0x1.5575b0be00b6ap-2 + -0x1.ffffef20a4123p-2;
    return (float)((sum + square * -0x1.00ea348b88334p-2) * square + rest);
}

/* Sine and cosine of an angle from 0 to 2 pi. */
static inline void sin_cos(float angle, float *sine, float *cosine) {
    const double half_pi = 0x1.921fb54442d18p+0, upper = (float)0x1.921fb54442d18p+0;
    double x = angle, turns = rint(x * (1 / half_pi));
    int32_t quarter = (int32_t)turns;
    x = x - turns * upper - turns * (half_pi - upper);
    double square = x * x, cube = square * x, fourth = square * square;
    double s = x + cube * -0x1.555545995a603p-3;
    s += (square * -0x1.994eb3774cf24p-13 + 0x1.1107605230bc4p-7) * (cube * square);
    double c = square * -0x1.ffffffd0c621cp-2 + 1.0 + fourth * 0x1.55553e1068f19p-5;
    c += (square * 0x1.99343027bf8c3p-16 + -0x1.6c087e89a359dp-10) * (fourth * square);
    uint32_t a = bits_of((float)s), b = bits_of((float)c), swapped = (a ^ b) & -(uint32_t)(quarter & 1);
    *sine = as_float(a ^ swapped ^ ((uint32_t)quarter << 30 & 1u << 31));
    *cosine = as_float(b ^ swapped ^ (((uint32_t)quarter + 1) << 30 & 1u << 31));
}

/* Two standard normals of two words. */
static inline void two_normals(uint32_t first, uint32_t second, float *out) {
    float unit = unit_float(first, 23), sine, cosine;
    float radius = sqrtf(log_of_unit(unit > 1e-7f ? unit : 1e-7f) * -2.0f);
    sin_cos((float)(unit_float(second, 23) * 6.283185307179586), &sine, &cosine);
    out[0] = sine * radius, out[1] = cosine * radius;
}

/* ---- draws */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Writes the words of blocks one after the other, as many as there is room for. */
static inline void put_words(uint32_t words[PER_BLOCK][BATCH], uint32_t *out, int64_t room) {
    if (room >= BATCH * PER_BLOCK) /* of a size that a processor knows how to interleave */
        for (int i = 0; i < BATCH; i++)
            for (int j = 0; j < PER_BLOCK; j++) out[i * PER_BLOCK + j] = words[j][i];
    else
        for (int64_t i = 0; i < room; i++) out[i] = words[i % PER_BLOCK][i / PER_BLOCK];
}

FOR_EACH_PROCESSOR
static void draw_words(const Draws *all, int64_t first, int64_t end) {
    uint32_t words[PER_BLOCK][BATCH];
    for (; first < end; first += BATCH) {
        fill_next(all, first, words);
        put_words(words, (uint32_t *)all->out + first * PER_BLOCK, all->count - first * PER_BLOCK);
    }
}

FOR_EACH_PROCESSOR
static void draw_floats(const Draws *all, int64_t first, int64_t end) {
    uint32_t words[PER_BLOCK][BATCH];
    for (; first < end; first += BATCH) {
        fill_next(all, first, words);
        for (int j = 0; j < PER_BLOCK; j++)
            for (int i = 0; i < BATCH; i++)
                words[j][i] = bits_of(unit_float(words[j][i], (int)all->bits));
        put_words(words, (uint32_t *)all->out + first * PER_BLOCK, all->count - first * PER_BLOCK);
    }
}

FOR_EACH_PROCESSOR
static void draw_doubles(const Draws *all, int64_t first, int64_t end) {
    uint32_t words[PER_BLOCK][BATCH];
    for (; first < end; first += BATCH) {
        fill_next(all, first, words);
        double *out = (double *)all->out + first * 2;
        int64_t room = all->count - first * 2;
        for (int64_t i = 0; i < least(BATCH * 2, room); i++)
            out[i] = unit_double(words[i % 2 * 2][i / 2], words[i % 2 * 2 + 1][i / 2]);
    }
}

/* The normals of the blocks at some places of the stream. */
static inline void fill_normals(const Draws *all, const uint64_t places[BATCH],
                                float normals[BATCH][PER_BLOCK]) {
    uint32_t words[PER_BLOCK][BATCH];
    fill_batch(&all->stream, places, words);
    for (int i = 0; i < BATCH; i++) {
        two_normals(words[0][i], words[1][i], normals[i]);
        two_normals(words[2][i], words[3][i], normals[i] + 2);
    }
}

FOR_EACH_PROCESSOR
static void draw_normals(const Draws *all, int64_t first, int64_t end) {
    uint64_t places[BATCH];
    float normals[BATCH][PER_BLOCK];
    for (; first < end; first += BATCH) {
        for (int i = 0; i < BATCH; i++) places[i] = (uint64_t)(first + i);
        fill_normals(all, places, normals);
        int64_t room = least(BATCH * PER_BLOCK, all->count - first * PER_BLOCK);
        memcpy((float *)all->out + first * PER_BLOCK, normals, (size_t)room * sizeof(float));
    }
}

/* Adds those within two deviations to the ones a group has; returns how many these are then. */
static inline int take_inside(float group[PER_BLOCK], int found, const float more[PER_BLOCK]) {
    for (int j = 0; j < PER_BLOCK && found < PER_BLOCK; j++)
        if (fabsf(more[j]) < 2) group[found++] = more[j];
    return found;
}

/* Four normals are a group, which has blocks of its own to draw from again. */
FOR_EACH_PROCESSOR
static void draw_truncated(const Draws *all, int64_t first, int64_t end) {
    float groups[PART][PER_BLOCK], more[BATCH][PER_BLOCK];
    uint8_t found[PART];
    int32_t pending[PART];
    int64_t count = end - first;
    for (int32_t i = 0; i < count; i++) pending[i] = i, found[i] = 0;
    for (uint64_t round = 0; count; round++) {
        int64_t left = 0;
        for (int64_t start = 0; start < count; start += BATCH) {
            uint64_t places[BATCH];
            for (int i = 0; i < BATCH; i++) {
                int64_t group = pending[start + i < count ? start + i : start];
                places[i] = (uint64_t)(first + group) * RESERVED + round;
            }
            fill_normals(all, places, more);
            for (int i = 0; i < BATCH && start + i < count; i++) {
                int32_t group = pending[start + i];
                found[group] = (uint8_t)take_inside(groups[group], found[group], more[i]);
                if (found[group] < PER_BLOCK) pending[left++] = group;
            }
        }
        count = left;
    }
    int64_t room = least((end - first) * PER_BLOCK, all->count - first * PER_BLOCK);
    memcpy((float *)all->out + first * PER_BLOCK, groups, (size_t)room * sizeof(float));
}

static void draw_part(void *data, int64_t part) {
    const Draws *all = data;
    int64_t per_block = all->kind == DOUBLES ? 2 : PER_BLOCK;
    int64_t blocks = (all->count + per_block - 1) / per_block;
    int64_t first = part * PART, end = least(first + PART, blocks);
    switch (all->kind) {
    case WORDS: draw_words(all, first, end); break;
    case FLOATS: draw_floats(all, first, end); break;
    case DOUBLES: draw_doubles(all, first, end); break;
    case NORMALS: draw_normals(all, first, end); break;
    default: draw_truncated(all, first, end);
    }
}

/* Draws numbers from a position of a stream.

   key, low, high: the position: the key, and the counter's lower and upper half.
   kind: what to draw: 32-bit words, floats or doubles in [0, 1), standard normals of single
     precision, or such within two deviations.
   bits: of a word that become a float.
   out: receives `count` of them. */
PUBLIC void draw_many(int64_t key, int64_t low, int64_t high, int64_t kind, int64_t bits,
                      int64_t count, void *out, int64_t threads) {
    Draws all = {{(uint64_t)key, (uint64_t)low, (uint64_t)high}, kind, count, bits, out};
    int64_t per_block = kind == DOUBLES ? 2 : PER_BLOCK;
    in_parallel(draw_part, &all, (count + per_block * PART - 1) / (per_block * PART), threads);
}

/* The same for so few that nobody else need run beside. */
PUBLIC void draw_few(int64_t key, int64_t low, int64_t high, int64_t kind, int64_t bits,
                     int64_t count, void *out, int64_t threads) {
    draw_many(key, low, high, kind, bits, count, out, threads);
}
