/* Features of serialized Examples: feature_finder.py, spans.py and columns.py of ops/io/parsing.

   An Example is a map: entries of a name and a feature, which is a list of values of one type. */
#include "messages.h"

#include <stddef.h>

enum { MAP = 0x0A, ENTRY = 0x0A, NAME = 0x0A, FEATURE = 0x12 };
enum { STRINGS = 0x0A, STRING = 0x0A, FLOATS = 0x12, INTEGERS = 0x1A, LIST = 0x0A };
enum { INTEGER_BYTES = 10 };

/* ---- Names */

/* Names that are looked for, and where to find one among them. */
typedef struct {
    const uint8_t *text; /* one after the other */
    const int64_t *ends; /* of each in this text */
    int64_t count;
    int32_t *slots; /* by hash: the number of a name, -1 for none; some are always free */
    uint64_t mask;  /* of hashes: their number is a power of two */
} Names;

static inline uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    return hash ^ hash >> 32;
}

static inline uint64_t hash_of(Bytes name) {
    uint64_t hash = mixed(0, (uint64_t)(name.end - name.at)), last = 0;
    for (; name.end - name.at >= 8; name.at += 8) hash = mixed(hash, load64(name.at));
    while (name.at < name.end) last = last << 8 | *name.at++;
    return mixed(hash, last);
}

static inline int same(Bytes a, Bytes b) {
    if (a.end - a.at != b.end - b.at) return 0;
    for (; a.end - a.at >= 8; a.at += 8, b.at += 8)
        if (load64(a.at) != load64(b.at)) return 0;
    for (; a.at < a.end; a.at++, b.at++)
        if (*a.at != *b.at) return 0;
    return 1;
}

static inline Bytes name_of(const Names *names, int64_t number) {
    int64_t begin = number ? names->ends[number - 1] : 0;
    return (Bytes){names->text + begin, names->text + names->ends[number]};
}

/* The slot of a name, or the free one where it would be. */
static inline int32_t *slot_of(const Names *names, Bytes name) {
    uint64_t place = hash_of(name);
    for (;; place++) {
        int32_t *slot = names->slots + (place & names->mask);
        if (*slot < 0 || same(name, name_of(names, *slot))) return slot;
    }
}

/* ---- Examples */

/* Where features stand in the bytes of examples.

   data: the examples one after the other, of these sizes.
   names: the `count` names one after the other, which end at `ends`; no two are the same.
   slots: room for `slots_count` numbers, a power of two that is larger than `count`.
   starts, sizes: of features [count, rows]; all 0 before, and after for a feature that is not there.
   Returns whether every example is written as read here. */
PUBLIC int64_t find_features(const uint8_t *data, const int64_t *example_sizes, int64_t rows,
                             const uint8_t *text, const int64_t *ends, int64_t count,
                             int32_t *slots, int64_t slots_count, int64_t *starts,
                             int64_t *sizes) {
    Names names = {text, ends, count, slots, (uint64_t)slots_count - 1};
    memset(slots, 0xFF, (size_t)slots_count * sizeof *slots);
    for (int64_t i = 0; i < count; i++) *slot_of(&names, name_of(&names, i)) = (int32_t)i;
    Bytes example = {data, data}, map, entry, name, feature;
    for (int64_t row = 0; row < rows; row++) {
        example = (Bytes){example.end, example.end + example_sizes[row]};
        if (example.at == example.end) continue;
        if (!take_all(example, MAP, &map)) return 0;
        while (map.at < map.end) {
            if (!take(&map, ENTRY, &entry) || !take(&entry, NAME, &name)) return 0;
            if (!take_all(entry, FEATURE, &feature)) return 0;
            int32_t number = *slot_of(&names, name);
            if (number < 0) continue;
            starts[number * rows + row] = feature.at - data;
            sizes[number * rows + row] = feature.end - feature.at;
        }
    }
    return 1;
}

/* ---- Values */

/* Takes the values out of a feature that is one list of packed numbers; 0 for any other. */
static inline int take_values(Bytes feature, uint8_t tag, Bytes *values) {
    int64_t size = feature.end - feature.at;
    *values = feature;
    if (size == 0) return 1;
    if (size >= 4 && size < 130) { /* a header of four bytes, as most have */
        uint32_t lengths = (uint32_t)(size - 2) << 8 | (uint32_t)(size - 4) << 24;
        values->at += 4;
        if (load32(feature.at) == (tag | LIST << 16 | lengths)) return 1;
    }
    Bytes list;
    if (!take_all(feature, tag, &list)) return 0;
    *values = list;
    return list.at == list.end || take_all(list, LIST, values);
}

/* Integers have seven bits in a byte and an eighth if more bytes follow. */
static const uint64_t FOLLOWED = 0x8080808080808080;

static inline int64_t count_integers(Bytes values) {
    if (values.at == values.end) return 0;
    if (values.end[-1] > 127) return -1;
    const uint64_t ones = FOLLOWED >> 7;
    int64_t count = values.end - values.at;
    for (; values.end - values.at >= 8; values.at += 8)
        count -= (int64_t)((load64(values.at) >> 7 & ones) * ones >> 56);
    for (; values.at < values.end; values.at++) count -= *values.at >> 7;
    return count;
}

/* How many values each of `count` features has; -1 for one that is not written as read here.

   data: has 8 more bytes than those of examples, here and below.
   tag: of the type that the values have. */
PUBLIC void count_values(const uint8_t *data, const int64_t *starts, const int64_t *sizes,
                         int64_t count, int64_t tag, int64_t *counts) {
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *start = data + starts[i];
        Bytes values;
        if (!take_values((Bytes){start, start + sizes[i]}, (uint8_t)tag, &values))
            counts[i] = -1;
        else if (tag == INTEGERS)
            counts[i] = count_integers(values);
        else
            counts[i] = (values.end - values.at) % 4 ? -1 : (values.end - values.at) / 4;
    }
}

/* The seven bits of each byte put together. */
static inline uint64_t squeezed(uint64_t word) {
    word = (word & 0x007F007F007F007F) | (word & 0x7F007F007F007F00) >> 1;
    word = (word & 0x00003FFF00003FFF) | (word & 0x3FFF00003FFF0000) >> 2;
    return (word & 0x0FFFFFFF) | (word & 0x0FFFFFFF00000000) >> 4;
}

/* Returns where the next ones go; NULL if one is longer than any. */
static inline int64_t *read_integers(Bytes values, int64_t *out) {
    while (values.at < values.end) {
        uint64_t word = load64(values.at), last = ~word & FOLLOWED;
        int bytes = 8;
        if (last) {
            int bits = __builtin_ctzll(last) + 1;
            *out++ = (int64_t)squeezed(word & ~(uint64_t)0 >> (64 - bits));
            values.at += bits / 8;
            continue;
        }
        word = squeezed(word);
        do {
            if (bytes == INTEGER_BYTES) return NULL;
            word |= (uint64_t)(values.at[bytes] & 127) << 7 * bytes;
        } while (values.at[bytes++] > 127);
        *out++ = (int64_t)word;
        values.at += bytes;
    }
    return out;
}

static inline uint32_t *read_floats(Bytes values, uint32_t *out) {
    for (; values.at < values.end; values.at += 4) *out++ = load32(values.at);
    return out;
}

/* The values of features, one after the other.

   counts: as `count_values` has counted; nothing is read of a feature that has none.
   out: int64 or, as bits, float32; has room for all of them.
   Returns whether all are numbers of these types. */
PUBLIC int64_t read_values(const uint8_t *data, const int64_t *starts, const int64_t *sizes,
                           int64_t count, int64_t tag, const int64_t *counts, void *out) {
    for (int64_t i = 0; i < count && out; i++) {
        const uint8_t *start = data + starts[i];
        Bytes values;
        if (counts[i] <= 0 || !take_values((Bytes){start, start + sizes[i]}, (uint8_t)tag, &values))
            continue;
        if (tag == INTEGERS)
            out = read_integers(values, out);
        else
            out = read_floats(values, out);
    }
    return out != NULL;
}

/* ---- Strings */

/* How many strings each of `count` features has; -1 for one that is not written as read here. */
PUBLIC void count_strings(const uint8_t *data, const int64_t *starts, const int64_t *sizes,
                          int64_t count, int64_t *counts) {
    for (int64_t i = 0; i < count; i++) {
        Bytes feature = {data + starts[i], data + starts[i] + sizes[i]}, list, string;
        counts[i] = 0;
        if (!sizes[i]) continue;
        if (!take_all(feature, STRINGS, &list)) list.at = NULL, counts[i] = -1;
        while (list.at && list.at < list.end) {
            counts[i]++;
            if (!take(&list, STRING, &string)) list.at = NULL, counts[i] = -1;
        }
    }
}

/* Where the strings of features stand, one after the other.

   counts: as `count_strings` has counted; nothing is read of a feature that has none.
   string_starts, string_sizes: have room for all of them. */
PUBLIC void find_strings(const uint8_t *data, const int64_t *starts, const int64_t *sizes,
                         int64_t count, const int64_t *counts, int64_t *string_starts,
                         int64_t *string_sizes) {
    for (int64_t i = 0; i < count; i++) {
        Bytes feature = {data + starts[i], data + starts[i] + sizes[i]}, list, string;
        if (counts[i] <= 0 || !take_all(feature, STRINGS, &list)) continue;
        for (int64_t k = 0; k < counts[i] && take(&list, STRING, &string); k++) {
            *string_starts++ = string.at - data;
            *string_sizes++ = string.end - string.at;
        }
    }
}

/* The indices of sparse matrices [features, rows, counts], one after the other: pairs of a row and
   a place in it. */
PUBLIC void sparse_indices(const int64_t *counts, int64_t features, int64_t rows, int64_t *out) {
    for (int64_t feature = 0; feature < features; feature++)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t place = 0, count = *counts++; place < count; place++) {
                *out++ = row;
                *out++ = place;
            }
}
