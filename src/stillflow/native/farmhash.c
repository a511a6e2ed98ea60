/* Fingerprints of byte strings: src/stillflow/util/farmhash.py, whose functions these follow. */
#include "native.h"

static const uint64_t K0 = 0xC3A5C85C97CB3127u, K1 = 0xB492B66FBE98F273u, K2 = 0x9AE16A3B2F90404Fu;
enum { SEED = 81, BLOCK = 64 };

static inline uint64_t rotate(uint64_t word, int bits) { return word >> bits | word << (64 - bits); }
static inline uint64_t fold(uint64_t word) { return word ^ word >> 47; }

static inline uint64_t mix(uint64_t low, uint64_t high, uint64_t multiplier) {
    uint64_t first = fold((low ^ high) * multiplier);
    return fold((high ^ first) * multiplier) * multiplier;
}

static inline uint64_t multiplier_of(int64_t length) { return K2 + 2 * (uint64_t)length; }

/* Up to 16 bytes. */
static uint64_t hash_short(const uint8_t *text, int64_t length) {
    uint64_t multiplier = multiplier_of(length);
    if (length == 0) return K2;
    if (length < 4) {
        uint64_t start = text[0] + ((uint64_t)text[length / 2] << 8);
        uint64_t end = (uint64_t)length + ((uint64_t)text[length - 1] << 2);
        return fold((start * K2) ^ (end * K0)) * K2;
    }
    if (length < 8)
        return mix((uint64_t)length + ((uint64_t)load32(text) << 3), load32(text + length - 4),
                   multiplier);
    uint64_t start = load64(text) + K2, end = load64(text + length - 8);
    return mix(rotate(end, 37) * multiplier + start, (rotate(start, 25) + end) * multiplier,
               multiplier);
}

/* Two words of the first and the last 16 bytes. */
static void take_ends(const uint8_t *text, int64_t length, uint64_t scale, uint64_t *spread,
                      uint64_t *outer) {
    uint64_t start = load64(text) * scale, second = load64(text + 8);
    uint64_t last = load64(text + length - 8) * multiplier_of(length);
    *spread = rotate(start + second, 43) + rotate(last, 30) + load64(text + length - 16) * K2;
    *outer = start + rotate(second + K2, 18) + last;
}

/* Up to 64 bytes. */
static uint64_t hash_medium(const uint8_t *text, int64_t length) {
    uint64_t multiplier = multiplier_of(length), spread, outer;
    if (length <= 32) {
        take_ends(text, length, K1, &spread, &outer);
        return mix(spread, outer, multiplier);
    }
    take_ends(text, length, K2, &spread, &outer);
    uint64_t mixed = mix(spread, outer, multiplier);
    uint64_t third = load64(text + 16) * multiplier, fourth = load64(text + 24);
    uint64_t before_last = (spread + load64(text + length - 32)) * multiplier;
    uint64_t last = (mixed + load64(text + length - 24)) * multiplier;
    return mix(rotate(third + fourth, 43) + rotate(before_last, 30) + last,
               third + rotate(fourth + load64(text) * K2, 18) + before_last, multiplier);
}

typedef struct {
    uint64_t x, y, z, v[2], w[2];
} State;

static void absorb_half(const uint8_t *text, uint64_t first, uint64_t second, uint64_t out[2]) {
    uint64_t start = first + load64(text), z = load64(text + 24);
    uint64_t total = start + load64(text + 8) + load64(text + 16);
    out[0] = total + z;
    out[1] = rotate(second + start + z, 21) + rotate(total, 44) + start;
}

static void absorb(State *s, const uint8_t *text, uint64_t multiplier, uint64_t weight) {
    uint64_t x = (rotate(s->x + s->y + s->v[0] + load64(text + 8), 37) * multiplier) ^
                 (s->w[1] * weight);
    uint64_t y = rotate(s->y + s->v[1] + load64(text + 48), 42) * multiplier;
    y += s->v[0] * weight + load64(text + 40);
    uint64_t z = rotate(s->z + s->w[0], 33) * multiplier, w1 = s->w[1];
    absorb_half(text, s->v[1] * multiplier, x + s->w[0], s->v);
    absorb_half(text + 32, z + w1, y + load64(text + 16), s->w);
    s->x = z, s->y = y, s->z = x;
}

static uint64_t hash_long(const uint8_t *text, int64_t length) {
    State s = {SEED * K2 + load64(text), SEED * K1 + 113, 0, {0, 0}, {0, 0}};
    s.z = fold(s.y * K2 + 113) * K2;
    int64_t rest = (length - 1) % BLOCK;
    for (int64_t at = 0; at < length - 1 - rest; at += BLOCK) absorb(&s, text + at, K1, 1);
    uint64_t multiplier = K1 + ((s.z & 0xFF) << 1);
    s.w[0] += (uint64_t)rest;
    s.v[0] += s.w[0];
    s.w[0] += s.v[0];
    absorb(&s, text + length - BLOCK, multiplier, 9); /* overlaps the block before it */
    return mix(mix(s.v[0], s.w[0], multiplier) + fold(s.y) * K0 + s.z,
               mix(s.v[1], s.w[1], multiplier) + s.x, multiplier);
}

static inline uint64_t fingerprint_of(const uint8_t *text, int64_t length) {
    if (length <= 16) return hash_short(text, length);
    return length <= BLOCK ? hash_medium(text, length) : hash_long(text, length);
}

/* The fingerprints of strings.

   texts: where each lies.
   sizes: how long each is. */
PUBLIC void find_fingerprints(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                              uint64_t *out) {
    for (int64_t i = 0; i < count; i++) out[i] = fingerprint_of(texts[i], sizes[i]);
}

/* The fingerprints of rows of bytes, [count, length]. */
PUBLIC void find_row_fingerprints(const uint8_t *rows, int64_t count, int64_t length,
                                  uint64_t *out) {
    for (int64_t i = 0; i < count; i++) out[i] = fingerprint_of(rows + i * length, length);
}

/* ---- 128 bits: src/stillflow/util/farmhash128.py */

static const uint64_t MULTIPLIER = 0x9DDFEA08EB382D69u;

static uint64_t mix_pair(uint64_t low, uint64_t high) { return mix(low, high, MULTIPLIER); }

/* Less than 128 bytes, with a seed of two words. */
static void murmur_pair(const uint8_t *text, int64_t length, uint64_t a, uint64_t b,
                        uint64_t out[2]) {
    uint64_t c, d;
    if (length <= 16) {
        a = fold(a * K1) * K1;
        c = b * K1 + fingerprint_of(text, length);
        d = fold(a + (length >= 8 ? load64(text) : c));
    } else {
        c = mix_pair(load64(text + length - 8) + K1, a);
        d = mix_pair(b + (uint64_t)length, c + load64(text + length - 16));
        a += d;
        for (int64_t at = 0; at < length - 16; at += 16) {
            a = (a ^ fold(load64(text + at) * K1) * K1) * K1;
            b ^= a;
            c = (c ^ fold(load64(text + at + 8) * K1) * K1) * K1;
            d ^= c;
        }
    }
    a = mix_pair(a, c), b = mix_pair(d, b);
    out[0] = a ^ b, out[1] = mix_pair(b, a);
}

/* 32 bytes at `text`, after the last whole pair of blocks. */
static void absorb_end(State *s, const uint8_t *text) {
    s->y = rotate(s->x + s->y, 42) * K0 + s->v[1];
    s->w[0] += load64(text + 16);
    s->x = s->x * K0 + s->w[0];
    s->z += s->w[1] + load64(text);
    s->w[1] += s->v[0];
    absorb_half(text, s->v[0] + s->z, s->v[1], s->v);
    s->v[0] *= K0;
}

/* At least 128 bytes. */
static void city_pair(const uint8_t *text, int64_t length, uint64_t x, uint64_t y,
                      uint64_t out[2]) {
    State s = {x, y, (uint64_t)length * K1, {0, 0}, {0, 0}};
    s.v[0] = rotate(y ^ K1, 49) * K1 + load64(text);
    s.v[1] = rotate(s.v[0], 42) * K1 + load64(text + 8);
    s.w[0] = rotate(y + s.z, 35) * K1 + x;
    s.w[1] = rotate(x + load64(text + 88), 53) * K1;
    int64_t rest = length % (2 * BLOCK);
    for (int64_t at = 0; at < length - rest; at += BLOCK) absorb(&s, text + at, K1, 1);
    s.x += rotate(s.v[0] + s.z, 49) * K0;
    s.y = s.y * K0 + rotate(s.w[1], 37);
    s.z = s.z * K0 + rotate(s.w[0], 27);
    s.w[0] *= 9;
    s.v[0] *= K0;
    for (int64_t done = 32; done < rest + 32; done += 32) absorb_end(&s, text + length - done);
    x = mix_pair(s.x, s.v[0]), y = mix_pair(s.y + s.z, s.w[0]);
    out[0] = mix_pair(x + s.v[1], s.w[1]) + y;
    out[1] = mix_pair(x + s.w[1], y + s.v[1]);
}

/* The fingerprints of 128 bits of strings, the low word of each first. */
PUBLIC void find_long_fingerprints(const uint8_t *const *texts, const int64_t *sizes,
                                   int64_t count, uint64_t *out) {
    for (int64_t i = 0; i < count; i++, out += 2) {
        const uint8_t *text = texts[i];
        int64_t length = sizes[i];
        if (length < 16) {
            murmur_pair(text, length, K0, K1, out);
            continue;
        }
        uint64_t x = load64(text), y = load64(text + 8) + K0;
        if (length < 16 + 2 * BLOCK)
            murmur_pair(text + 16, length - 16, x, y, out);
        else
            city_pair(text + 16, length - 16, x, y, out);
    }
}
