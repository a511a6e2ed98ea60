/* What the loops share. Plain C without a library, so that one file of code serves every Python. */
#ifndef STILLFLOW_NATIVE_H
#define STILLFLOW_NATIVE_H

#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

/* One body, compiled for several processors; the loader takes the best that this one can run. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

/* Numbers in the byte order of files, at any address. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define IN_FILES(bits, value) __builtin_bswap##bits(value)
#else
#define IN_FILES(bits, value) (value)
#endif

static inline uint32_t load32(const uint8_t *data) {
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return IN_FILES(32, value);
}

static inline uint64_t load64(const uint8_t *data) {
    uint64_t value;
    memcpy(&value, data, sizeof value);
    return IN_FILES(64, value);
}

static inline void store32(uint8_t *out, uint32_t value) {
    value = IN_FILES(32, value);
    memcpy(out, &value, sizeof value);
}

static inline void store64(uint8_t *out, uint64_t value) {
    value = IN_FILES(64, value);
    memcpy(out, &value, sizeof value);
}

/* Writes an integer with seven bits in a byte, the lowest first; returns where it ends. */
static inline uint8_t *put_varint(uint8_t *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *out++ = (uint8_t)value | 0x80;
    *out++ = (uint8_t)value;
    return out;
}

/* The checksum of some bytes in the form in which files keep it. */
uint32_t masked_crc32c(const uint8_t *data, int64_t size);

/* The MurmurHash64A of a string. */
uint64_t murmur_of(const uint8_t *text, int64_t size, uint64_t seed);

/* Runs work(data, chunk) for every chunk below `chunks`, on as many threads as were asked for. */
typedef void (*Work)(void *data, int64_t chunk);
void in_parallel(Work work, void *data, int64_t chunks, int64_t threads);

/* Runs work(data, step, slot) for every slot of every step, on a thread for each slot; a step begins
   when all slots of the one before are done. */
enum { MOST_SLOTS = 64 };
typedef void (*StepWork)(void *data, int64_t step, int64_t slot);
void in_steps(StepWork work, void *data, int64_t steps, int64_t slots);

#endif
