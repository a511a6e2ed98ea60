/* Regular expressions that are classes of bytes one after another: src/stillflow/ops/strings/regex.py.

   Texts stand one behind the other, with a zero byte between two. */
#include "native.h"

/* How many bytes the character at the start of some has; one that is none has one byte. */
static inline int64_t width_of(const uint8_t *text, const uint8_t *end) {
    if (*text < 0x80) return 1;
    int64_t width = *text < 0xC2 ? 1 : *text < 0xE0 ? 2 : *text < 0xF0 ? 3 : *text < 0xF5 ? 4 : 1;
    if (width > end - text) return 1;
    for (int64_t i = 1; i < width; i++)
        if ((text[i] & 0xC0) != 0x80) return 1;
    if ((*text == 0xE0 && text[1] < 0xA0) || (*text == 0xED && text[1] > 0x9F)) return 1;
    if ((*text == 0xF0 && text[1] < 0x90) || (*text == 0xF4 && text[1] > 0x8F)) return 1;
    return width;
}

typedef struct {
    uint8_t *out; /* NULL to count alone */
    int64_t size;
} Written;

static inline void put(Written *to, const uint8_t *bytes, int64_t count) {
    if (to->out) memcpy(to->out + to->size, bytes, (size_t)count);
    to->size += count;
}

/* Replaces the runs of a class in texts by others; returns how many bytes there are then.

   members: for each byte whether the class has the characters that begin with it; zero has none.
   least: 0 if nothing is a run, too, which it is not right behind another; else 1.
   many: whether a run has more than one character.
   once: whether the first run of each text alone is replaced.
   out: NULL to count alone. */
PUBLIC int64_t replace_runs(const uint8_t *text, int64_t size, const uint8_t *members,
                            int64_t least, int64_t many, int64_t once, const uint8_t *other,
                            int64_t other_size, uint8_t *out) {
    const uint8_t *at = text, *end = text + size, *behind = NULL; /* where the last run ended */
    Written to = {out, 0};
    int is_done = 0;
    for (;;) {
        int64_t count = 0;
        if (!is_done) {
            while (at + count < end && members[at[count]] && (many || !count))
                count += width_of(at + count, end);
            if (count >= least && (count || at != behind)) {
                put(&to, other, other_size);
                is_done = (int)once;
            }
            if (count) {
                at += count, behind = at;
                continue;
            }
        }
        if (at == end) return to.size;
        if (!*at) is_done = 0;
        int64_t width = width_of(at, end);
        put(&to, at, width);
        at += width;
    }
}

/* Which states follow without a byte: the next one after each that may be passed over. */
static inline uint64_t closed(uint64_t states, uint64_t optional) {
    for (;;) {
        uint64_t more = states | (states & optional) << 1;
        if (more == states) return states;
        states = more;
    }
}

/* Finds which texts are some classes one after another, each a bit, the first one the lowest.

   members: for each byte the classes that have the characters that begin with it.
   repeated, optional: the classes of which any number follow one another, and that may be missing.
   last: the bit behind all classes. */
PUBLIC void match_texts(const uint8_t *text, int64_t size, const uint64_t *members,
                        uint64_t repeated, uint64_t optional, uint64_t last, uint8_t *found) {
    uint64_t start = closed(1, optional), states = start;
    const uint8_t *end = text + size;
    for (; text < end; text += width_of(text, end)) {
        if (!*text) {
            *found++ = (states & last) != 0;
            states = start;
        } else if (states) {
            uint64_t taken = states & members[*text];
            states = closed((taken & ~repeated) << 1 | (taken & repeated), optional);
        }
    }
    *found = (states & last) != 0;
}
