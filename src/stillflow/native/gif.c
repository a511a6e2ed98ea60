/* Codes of GIF images: src/stillflow/files/gif.py, which says what a wrong one is. */
#include "native.h"

enum { LONGEST = 12, CODES = 1 << LONGEST, NONE = -1 };

/* Strings of indices: each is another one and an index more. */
typedef struct {
    int16_t before[CODES]; /* the other one */
    uint16_t length[CODES];
    uint8_t first[CODES], last[CODES];
    int32_t count;
} Table;

static void clear(Table *table, int32_t indices) {
    for (int32_t i = 0; i < indices; i++) {
        table->before[i] = NONE, table->length[i] = 1;
        table->first[i] = table->last[i] = (uint8_t)i;
    }
    table->count = indices + 2;
}

/* Writes a string, or as much of it as there is room for; returns where the next one goes. */
static uint8_t *put(const Table *table, int32_t code, uint8_t *out, const uint8_t *end) {
    int64_t length = table->length[code];
    for (uint8_t *at = out + length; at > out; code = table->before[code])
        if (--at < end) *at = table->last[code];
    return end - out < length ? (uint8_t *)end : out + length;
}

/* Reads `count` indices of colours; returns whether all are there, and nothing is wrong before.

   bits: with one more of which codes begin, 1 to 8. */
PUBLIC int64_t unpack_gif(const uint8_t *data, int64_t size, int64_t bits, uint8_t *out,
                          int64_t count) {
    Table table;
    const uint8_t *end = out + count;
    int32_t start = 1 << bits, width = (int32_t)bits + 1, before = NONE, have = 0;
    uint32_t held = 0;
    clear(&table, start);
    for (int64_t i = 0; i < size && out < end; i++) {
        held |= (uint32_t)data[i] << have;
        for (have += 8; have >= width && out < end;) {
            int32_t code = (int32_t)(held & ((1u << width) - 1));
            held >>= width, have -= width;
            if (code == start) {
                clear(&table, start);
                width = (int32_t)bits + 1, before = NONE;
                continue;
            }
            if (code == start + 1 || code > table.count) return 0;
            if (code == table.count && (before == NONE || table.count == CODES)) return 0;
            if (before != NONE && table.count < CODES) {
                int32_t made = table.count++, from = code == made ? before : code;
                table.before[made] = (int16_t)before;
                table.length[made] = (uint16_t)(table.length[before] + 1);
                table.first[made] = table.first[before], table.last[made] = table.first[from];
                if (table.count == 1 << width && width < LONGEST) width++;
            }
            before = code;
            out = put(&table, code, out, end);
        }
    }
    return out == end;
}
