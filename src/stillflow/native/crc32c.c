/* CRC32C, the checksum of TensorFlow's files, for the loops over them: records.c. */
#include "native.h"

/* The instruction is written out: a compiler offers it only where every processor has it. */
#if defined(BY_TABLES) /* to try the other way */
#elif defined(__x86_64__)
#include <cpuid.h>
#define STEP_BYTE "crc32b %b1, %k0"
#define STEP_WORD "crc32q %1, %0"
#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))
#ifdef __linux__
#include <sys/auxv.h>
#endif
#define STEP_BYTE ".arch_extension crc\n\tcrc32cb %w0, %w0, %w1"
#define STEP_WORD ".arch_extension crc\n\tcrc32cx %w0, %w0, %1"
#endif

enum {
    WORD = 8,
    LANE = 256 /* bytes: three such pieces are read side by side */
};

static uint32_t tables[WORD][256]; /* what a byte leaves behind, by how many follow it */
static uint32_t (*extend)(uint32_t crc, const uint8_t *data, int64_t size);

static uint32_t by_tables(uint32_t crc, const uint8_t *data, int64_t size) {
    for (; size >= WORD; data += WORD, size -= WORD) {
        uint32_t next = 0;
        for (int i = 0; i < 4; i++) {
            next ^= tables[7 - i][(uint8_t)(crc >> 8 * i) ^ data[i]];
            next ^= tables[3 - i][data[4 + i]];
        }
        crc = next;
    }
    for (; size > 0; data++, size--) crc = crc >> 8 ^ tables[0][(uint8_t)crc ^ *data];
    return crc;
}

#ifdef STEP_WORD
static uint32_t lane[4][256]; /* what each byte of a checksum leaves behind after a lane */

static inline uint64_t step_byte(uint64_t crc, uint64_t byte) {
    __asm__(STEP_BYTE : "+r"(crc) : "r"(byte));
    return crc;
}

static inline uint64_t step_word(uint64_t crc, uint64_t word) {
    __asm__(STEP_WORD : "+r"(crc) : "r"(word));
    return crc;
}

/* One step has to wait for the last one but not for those of other lanes. */
static uint32_t by_instruction(uint32_t start, const uint8_t *data, int64_t size) {
    uint64_t crc = start;
    for (; size >= 3 * LANE; data += 3 * LANE, size -= 3 * LANE) {
        uint64_t second = 0, third = 0;
        for (int i = 0; i < LANE; i += WORD) {
            crc = step_word(crc, load64(data + i));
            second = step_word(second, load64(data + LANE + i));
            third = step_word(third, load64(data + 2 * LANE + i));
        }
        for (int i = 0; i < 4; i++) second ^= lane[i][(uint8_t)(crc >> 8 * i)];
        for (int i = 0; i < 4; i++) third ^= lane[i][(uint8_t)(second >> 8 * i)];
        crc = third;
    }
    for (; size >= WORD; data += WORD, size -= WORD) crc = step_word(crc, load64(data));
    for (; size > 0; data++, size--) crc = step_byte(crc, *data);
    return (uint32_t)crc;
}

static int has_instruction(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 20 & 1;
#elif defined(__linux__)
    return getauxval(AT_HWCAP) >> 7 & 1;
#else
    return 1;
#endif
}

static void prepare_lanes(void) {
    static const uint8_t zeros[LANE];
    for (int bit = 0; bit < 32; bit++) {
        uint32_t left = by_tables((uint32_t)1 << bit, zeros, LANE);
        for (int byte = 0; byte < 256; byte++)
            if (byte >> bit % 8 & 1) lane[bit / 8][byte] ^= left;
    }
}
#endif

__attribute__((constructor)) static void prepare(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
        tables[0][byte] = crc;
    }
    for (int after = 1; after < WORD; after++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = tables[after - 1][byte];
            tables[after][byte] = crc >> 8 ^ tables[0][(uint8_t)crc];
        }
    extend = by_tables;
#ifdef STEP_WORD
    if (!has_instruction()) return;
    prepare_lanes();
    extend = by_instruction;
#endif
}

uint32_t masked_crc32c(const uint8_t *data, int64_t size) {
    uint32_t crc = ~extend(~(uint32_t)0, data, size);
    return (crc >> 15 | crc << 17) + 0xA282EAD8;
}
