/* Hashes of byte strings: src/stillflow/util/string_hashes.py, whose functions these follow.

   `texts` says where each string lies, `sizes` how long it is. */
#include "native.h"

static const uint64_t MULTIPLIER = 0xC6A4A7935BD1E995u;
enum { SHIFT = 47 };

/* The bytes behind the last whole word, as a word. */
static inline uint64_t load_rest(const uint8_t *data, int64_t size) {
    uint8_t word[8] = {0};
    memcpy(word, data, (size_t)size);
    return load64(word);
}

uint64_t murmur_of(const uint8_t *text, int64_t length, uint64_t seed) {
    uint64_t state = seed ^ (uint64_t)length * MULTIPLIER;
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t word = load64(text) * MULTIPLIER;
        state = (state ^ (word ^ word >> SHIFT) * MULTIPLIER) * MULTIPLIER;
    }
    if (length) state = (state ^ load_rest(text, length)) * MULTIPLIER;
    state = (state ^ state >> SHIFT) * MULTIPLIER;
    return state ^ state >> SHIFT;
}

/* The MurmurHash64A of strings. */
PUBLIC void find_murmurs(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                         uint64_t seed, uint64_t *out) {
    for (int64_t i = 0; i < count; i++) out[i] = murmur_of(texts[i], sizes[i], seed);
}

static inline uint64_t rotate(uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
}

static inline void stir(uint64_t s[4], int rounds) {
    while (rounds--) {
        s[0] += s[1], s[2] += s[3];
        s[1] = rotate(s[1], 13) ^ s[0], s[3] = rotate(s[3], 16) ^ s[2];
        s[0] = rotate(s[0], 32) + s[3], s[2] += s[1];
        s[1] = rotate(s[1], 17) ^ s[2], s[3] = rotate(s[3], 21) ^ s[0];
        s[2] = rotate(s[2], 32);
    }
}

static inline void absorb(uint64_t s[4], uint64_t word) {
    s[3] ^= word;
    stir(s, 2);
    s[0] ^= word;
}

static uint64_t siphash(const uint8_t *text, int64_t length, const uint64_t start[4]) {
    uint64_t s[4] = {start[0], start[1], start[2], start[3]};
    int64_t left = length;
    for (; left >= 8; text += 8, left -= 8) absorb(s, load64(text));
    absorb(s, load_rest(text, left) | (uint64_t)length << 56);
    s[2] ^= 0xFF;
    stir(s, 4);
    return s[0] ^ s[1] ^ s[2] ^ s[3];
}

/* The SipHash-2-4 of strings, from the state that their key makes. */
PUBLIC void find_siphashes(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                           const uint64_t *start, uint64_t *out) {
    for (int64_t i = 0; i < count; i++) out[i] = siphash(texts[i], sizes[i], start);
}
