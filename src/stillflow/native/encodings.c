/* Byte strings in Base64: src/stillflow/ops/strings/elementwise.py; and text from UTF-8 into other
   encodings: src/stillflow/ops/strings/unicode.py. */
#include "objects.h"

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static inline uint8_t digit(uint32_t bits, int place) { return (uint8_t)DIGITS[bits >> place & 63]; }

/* Puts texts in Base64 in the place of objects; with "=" up to a whole group if `pads`. Returns how
   many there are. */
PUBLIC int64_t encode_texts(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                            int64_t pads, void **objects) {
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *at = texts[i];
        int64_t groups = sizes[i] / 3, rest = sizes[i] % 3, more = rest ? rest + 1 : 0;
        uint8_t *out = new_string(objects + i, 4 * groups + (more && pads ? 4 : more));
        if (!out) return i;
        for (; groups > 0; groups--, at += 3, out += 4) {
            uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
            for (int j = 0; j < 4; j++) out[j] = digit(bits, 18 - 6 * j);
        }
        uint32_t bits = rest ? (uint32_t)at[0] << 16 | (rest > 1 ? (uint32_t)at[1] << 8 : 0) : 0;
        for (int64_t j = 0; j < more; j++) out[j] = digit(bits, 18 - 6 * (int)j);
        for (int64_t j = more; more && pads && j < 4; j++) out[j] = '=';
    }
    return count;
}

/* What four digits of six bits say, or, where a byte is no digit, something larger. */
static inline uint32_t group_of(const uint8_t *at) {
    static uint8_t values[256];
    if (!values['B']) { /* whoever calls holds the interpreter's lock */
        for (int byte = 0; byte < 256; byte++) values[byte] = 0xFF;
        for (int i = 0; i < 64; i++) values[(uint8_t)DIGITS[i]] = (uint8_t)i;
    }
    uint32_t a = values[at[0]], b = values[at[1]], c = values[at[2]], d = values[at[3]];
    return (a | b | c | d) > 63 ? UINT32_MAX : a << 18 | b << 12 | c << 6 | d;
}

/* Puts the bytes that texts in Base64 stand for in the place of objects. Returns how many texts
   there are before the first that is none. */
PUBLIC int64_t decode_texts(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                            void **objects) {
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *at = texts[i];
        int64_t size = sizes[i];
        if (size && size % 4 == 0 && at[size - 1] == '=') size -= at[size - 2] == '=' ? 2 : 1;
        int64_t groups = size / 4, rest = size % 4;
        if (rest == 1) return i;
        uint8_t *out = new_string(objects + i, 3 * groups + (rest ? rest - 1 : 0));
        if (!out) return i;
        for (; groups > 0; groups--, at += 4, out += 3) {
            uint32_t bits = group_of(at);
            if (bits == UINT32_MAX) return i;
            for (int j = 0; j < 3; j++) out[j] = (uint8_t)(bits >> (16 - 8 * j));
        }
        uint8_t last[4] = {'A', 'A', 'A', 'A'};
        memcpy(last, at, (size_t)rest);
        uint32_t bits = group_of(last);
        if (bits == UINT32_MAX) return i;
        for (int j = 0; j < rest - 1; j++) out[j] = (uint8_t)(bits >> (16 - 8 * j));
    }
    return count;
}

/* ---- Text in UTF-8 */

enum { MALFORMED = -1, STRICT = -2, IGNORE = -1 };
enum { UTF_8 = 1, UTF_16 = 2, UTF_32 = 4 }; /* others with the highest byte first */

static inline int is_within(uint8_t byte, uint8_t low, uint8_t high) {
    return byte >= low && byte <= high;
}

/* The next character, or MALFORMED; `*at` moves behind it, or behind the bytes with which one
   begins. */
static int32_t next_character(const uint8_t **at, const uint8_t *end) {
    uint8_t first = *(*at)++, low = 0x80, high = 0xBF;
    if (first < 0x80) return first;
    if (!is_within(first, 0xC2, 0xF4)) return MALFORMED;
    int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    int32_t code = first & (0x3F >> more);
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F; /* no halves of pairs */
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    for (; more > 0; more--, low = 0x80, high = 0xBF) {
        if (*at == end || !is_within(**at, low, high)) return MALFORMED;
        code = code << 6 | (*(*at)++ & 0x3F);
    }
    return code;
}

static inline int64_t size_of(int32_t code, int64_t encoding) {
    if (encoding == UTF_32) return 4;
    if (encoding == UTF_16) return code > 0xFFFF ? 4 : 2;
    return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF);
}

static inline uint8_t *put_unit(uint8_t *out, int32_t unit) {
    *out++ = (uint8_t)(unit >> 8);
    *out++ = (uint8_t)unit;
    return out;
}

static uint8_t *put_character(uint8_t *out, int32_t code, int64_t encoding) {
    if (encoding == UTF_32) return put_unit(put_unit(out, code >> 16), code & 0xFFFF);
    if (encoding == UTF_16) {
        if (code <= 0xFFFF) return put_unit(out, code);
        return put_unit(put_unit(out, 0xD7C0 + (code >> 10)), 0xDC00 | (code & 0x3FF));
    }
    static const uint8_t LEADS[] = {0, 0, 0xC0, 0xE0, 0xF0};
    int64_t size = size_of(code, UTF_8);
    for (int64_t i = size - 1; i > 0; i--, code >>= 6) out[i] = 0x80 | (code & 0x3F);
    *out = (uint8_t)(LEADS[size] | code);
    return out + size;
}

/* What becomes of a text's characters. */
typedef struct {
    int32_t replacement; /* of malformed ones, or STRICT or IGNORE */
    int32_t controls;    /* characters below are malformed, too */
    int64_t encoding;
} Change;

/* The size of a text in its new encoding, or -1 if it is malformed and may not be. */
static int64_t changed_size(const uint8_t *at, const uint8_t *end, const Change *change,
                            int *is_same) {
    int64_t total = 0;
    while (at < end) {
        int32_t code = next_character(&at, end);
        if (code < change->controls) { /* malformed ones, too */
            *is_same = 0;
            code = change->replacement;
            if (code == STRICT) return -1;
            if (code == IGNORE) continue;
        }
        total += size_of(code, change->encoding);
    }
    return total;
}

/* Puts texts in another encoding in the place of objects.

   replacement: of malformed characters, or STRICT or IGNORE.
   controls: characters below are malformed, too.
   Returns how many texts there are before the first that is malformed and may not be. */
PUBLIC int64_t change_encoding(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                               int64_t replacement, int64_t controls, int64_t encoding,
                               void **objects) {
    Change change = {(int32_t)replacement, (int32_t)controls, encoding};
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *at = texts[i], *end = at + sizes[i];
        int is_same = encoding == UTF_8;
        int64_t size = changed_size(at, end, &change, &is_same);
        if (size < 0) return i;
        uint8_t *out = new_string(objects + i, size);
        if (!out) return i;
        if (is_same) memcpy(out, at, (size_t)size);
        while (!is_same && at < end) {
            int32_t code = next_character(&at, end);
            if (code < change.controls) code = change.replacement;
            if (code >= 0) out = put_character(out, code, encoding);
        }
    }
    return count;
}

/* Writes the characters of texts, of which malformed ones become another or none, as above.

   splits: where the characters of each text begin, and all end, [count + 1].
   codes, starts: the characters, and where each begins in its text, in bytes; NULL the first time,
     when nobody knows how many there are.
   Returns how many texts there are before the first that is malformed and may not be. */
PUBLIC int64_t read_characters(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                               int64_t replacement, int64_t controls, int64_t *splits,
                               int32_t *codes, int64_t *starts) {
    int64_t total = splits[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *begin = texts[i], *end = begin + sizes[i], *at = begin;
        while (at < end) {
            int64_t start = at - begin;
            int32_t code = next_character(&at, end);
            if (code < controls) {
                code = (int32_t)replacement;
                if (code == STRICT) return i;
                if (code == IGNORE) continue;
            }
            if (codes) codes[total] = code, starts[total] = start;
            total++;
        }
        splits[i + 1] = total;
    }
    return count;
}

/* Puts texts of characters, none of them half a pair, in the place of objects; `ends` says where
   each text ends. Returns how many there are. */
PUBLIC int64_t write_characters(const int32_t *codes, const int64_t *ends, int64_t count,
                                int64_t encoding, void **objects) {
    for (int64_t i = 0, at = 0; i < count; at = ends[i++]) {
        int64_t size = 0;
        for (int64_t j = at; j < ends[i]; j++) size += size_of(codes[j], encoding);
        uint8_t *out = new_string(objects + i, size);
        if (!out) return i;
        for (int64_t j = at; j < ends[i]; j++) out = put_character(out, codes[j], encoding);
    }
    return count;
}
