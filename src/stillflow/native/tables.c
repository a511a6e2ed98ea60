/* The index of a checkpoint: blocks of its table, src/stillflow/files/sstable.py, and what it says
   of tensors, src/stillflow/files/bundle_entry.py. */
#include "native.h"

static inline uint8_t *put(uint8_t *out, const uint8_t *data, int64_t size) {
    memcpy(out, data, (size_t)size);
    return out + size;
}

/* ---- Blocks */

enum { RESTART_INTERVAL = 16 };

/* Keys or values: one after the other, with where each ends. */
typedef struct {
    const uint8_t *text;
    const int64_t *ends;
} Texts;

static inline int64_t begin_of(Texts texts, int64_t number) {
    return number ? texts.ends[number - 1] : 0;
}

static inline int64_t size_of(Texts texts, int64_t number) {
    return texts.ends[number] - begin_of(texts, number);
}

/* How many bytes a key has in common with the one before it. */
static int64_t shared_with_last(Texts keys, int64_t number) {
    const uint8_t *last = keys.text + begin_of(keys, number - 1);
    const uint8_t *key = keys.text + begin_of(keys, number);
    int64_t shared = 0, most = size_of(keys, number - 1);
    if (size_of(keys, number) < most) most = size_of(keys, number);
    while (shared < most && last[shared] == key[shared]) shared++;
    return shared;
}

/* Writes a block of entries from the first on, until it is full or there are no more.

   out: has room for all of these entries, 34 bytes for each and 8 more.
   following: receives the number of the entry behind the block.
   Returns the size of the block. */
PUBLIC int64_t build_block(const uint8_t *keys_text, const int64_t *key_ends,
                           const uint8_t *values_text, const int64_t *value_ends, int64_t first,
                           int64_t count, int64_t full, uint32_t *restarts, uint8_t *out,
                           int64_t *following) {
    Texts keys = {keys_text, key_ends}, values = {values_text, value_ends};
    uint8_t *end = out;
    int64_t i = first, starts = 0;
    for (; i < count; i++) {
        int64_t key_size = size_of(keys, i), size = size_of(values, i), shared = 0;
        int is_full = end - out + 4 * starts + 4 >= full;
        if (i > first && (is_full || key_size + size >= 2 * full)) break;
        if ((i - first) % RESTART_INTERVAL)
            shared = shared_with_last(keys, i);
        else
            restarts[starts++] = (uint32_t)(end - out);
        end = put_varint(end, (uint64_t)shared);
        end = put_varint(end, (uint64_t)(key_size - shared));
        end = put_varint(end, (uint64_t)size);
        end = put(end, keys.text + begin_of(keys, i) + shared, key_size - shared);
        end = put(end, values.text + begin_of(values, i), size);
    }
    for (int64_t start = 0; start < starts; start++, end += 4) store32(end, restarts[start]);
    store32(end, (uint32_t)starts);
    *following = i;
    return end + 4 - out;
}

/* ---- Entries */

enum { OFFSET = 0x20, SIZE = 0x28, CRC = 0x35 };

/* Writes the entries of whole tensors in the first data file.

   data: the tensors, one after the other, of these sizes; they lie from `offset` on.
   heads: what entries begin with, type and shape.
   out: has room for the heads and 27 bytes for each entry.
   ends: receives where each ends. */
PUBLIC void encode_entries(const uint8_t *data, const int64_t *sizes, int64_t count,
                           int64_t offset, const uint8_t *heads, const int64_t *head_ends,
                           uint8_t *out, int64_t *ends) {
    Texts starts = {heads, head_ends};
    uint8_t *end = out;
    for (int64_t i = 0; i < count; i++) {
        uint32_t crc = masked_crc32c(data, sizes[i]);
        end = put(end, heads + begin_of(starts, i), size_of(starts, i));
        if (offset) {
            *end++ = OFFSET;
            end = put_varint(end, (uint64_t)offset);
        }
        if (sizes[i]) {
            *end++ = SIZE;
            end = put_varint(end, (uint64_t)sizes[i]);
        }
        if (crc) {
            *end++ = CRC;
            store32(end, crc);
            end += 4;
        }
        data += sizes[i];
        offset += sizes[i];
        ends[i] = end - out;
    }
}
