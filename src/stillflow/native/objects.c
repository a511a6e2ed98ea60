/* Byte strings of Python in arrays of NumPy, read and made in place: src/stillflow/util/texts.py.

   No header of Python is needed: it says itself, when it runs, where its objects keep what, and
   which function makes one. Whoever calls holds the interpreter's lock. */
#include "objects.h"

#include <stddef.h>

typedef void *(*Make)(const char *text, intptr_t size);
typedef void (*Drop)(void *object);

static struct {
    const void *type; /* of byte strings */
    int64_t type_at, size_at, text_at;
    Make make;
    Drop keep, drop;
} python;

/* Tells where objects have the address of their type, a byte string its size and its bytes, and
   which functions make a byte string, keep an object and give it back. */
PUBLIC void know_strings(const void *type, int64_t type_at, int64_t size_at, int64_t text_at,
                         void *make, void *keep, void *drop) {
    python.type = type;
    python.type_at = type_at, python.size_at = size_at, python.text_at = text_at;
    python.make = (Make)make;
    python.keep = (Drop)keep;
    python.drop = (Drop)drop;
}

/* Where the bytes of strings are, and how many; returns how many strings come before the first
   object that is none. */
PUBLIC int64_t find_texts(const uint8_t *const *objects, int64_t count, const uint8_t **texts,
                          int64_t *sizes) {
    for (int64_t i = 0; i < count; i++) {
        const void *type;
        if (objects[i] == NULL) return i;
        memcpy(&type, objects[i] + python.type_at, sizeof type);
        if (type != python.type) return i;
        intptr_t size;
        memcpy(&size, objects[i] + python.size_at, sizeof size);
        texts[i] = objects[i] + python.text_at;
        sizes[i] = size;
    }
    return count;
}

/* Puts an object in the place of another; returns whether there is one. */
static inline int put_object(void **place, void *object) {
    void *old = *place;
    if (object == NULL) return 0;
    *place = object;
    if (old != NULL) python.drop(old);
    return 1;
}

/* Puts an object that is elsewhere, too, in the place of another. */
void keep_object(void *object, void **place) {
    if (object != NULL) python.keep(object);
    put_object(place, object);
}

int put_string(void **place, const uint8_t *text, int64_t size) {
    return put_object(place, python.make((const char *)text, (intptr_t)size));
}

uint8_t *new_string(void **place, int64_t size) {
    void *object = python.make(NULL, (intptr_t)size);
    return put_object(place, object) ? (uint8_t *)object + python.text_at : NULL;
}

/* Puts strings of these bytes in the place of `count` objects; stops where there is no memory,
   which Python knows then. */
PUBLIC void make_strings(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                         void **objects) {
    for (int64_t i = 0; i < count; i++)
        if (!put_string(objects + i, texts[i], sizes[i])) return;
}

/* Joins each of `rows` rows of texts by a separator, likewise. */
PUBLIC void join_texts(const uint8_t *const *texts, const int64_t *sizes, int64_t rows,
                       int64_t columns, const uint8_t *separator, int64_t separator_size,
                       void **objects) {
    for (int64_t i = 0; i < rows; i++, texts += columns, sizes += columns) {
        int64_t total = columns > 1 ? separator_size * (columns - 1) : 0;
        for (int64_t j = 0; j < columns; j++) total += sizes[j];
        uint8_t *out = new_string(objects + i, total);
        if (!out) return;
        if (!total) continue; /* all empty strings are one */
        for (int64_t j = 0; j < columns; j++) {
            if (j && separator_size) memcpy(out, separator, (size_t)separator_size);
            if (j) out += separator_size;
            memcpy(out, texts[j], (size_t)sizes[j]);
            out += sizes[j];
        }
    }
}

/* ---- Parts between delimiters */

typedef struct {
    const uint8_t *is_delimiter; /* of each byte */
    int skips_empty;             /* parts */
    int none_of_nothing;         /* whether a text without bytes has no parts */
} Split;

/* Finds the next part of a text from `*at` on, which is NULL behind the last. */
static inline int next_part(const Split *split, const uint8_t **at, const uint8_t *end,
                            const uint8_t **begin, int64_t *size) {
    while (*at) {
        const uint8_t *stop = *at;
        *begin = stop;
        while (stop < end && !split->is_delimiter[*stop]) stop++;
        *at = stop < end ? stop + 1 : NULL;
        *size = stop - *begin;
        if (*size || !split->skips_empty) return 1;
    }
    return 0;
}

static inline const uint8_t *first_of(const Split *split, const uint8_t *text, int64_t size) {
    return size || !split->none_of_nothing ? text : NULL;
}

/* How many parts each text has. */
PUBLIC void count_parts(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                        const uint8_t *is_delimiter, int64_t skips_empty, int64_t none_of_nothing,
                        int64_t *counts) {
    Split split = {is_delimiter, (int)skips_empty, (int)none_of_nothing};
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *at = first_of(&split, texts[i], sizes[i]), *end = texts[i] + sizes[i], *begin;
        int64_t size;
        for (counts[i] = 0; next_part(&split, &at, end, &begin, &size);) counts[i]++;
    }
}

/* The parts of all texts, which replace objects as above.

   indices: receives for each part the number of its text, and that of the part in it. */
PUBLIC void split_texts(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                        const uint8_t *is_delimiter, int64_t skips_empty, int64_t none_of_nothing,
                        int64_t *indices, void **objects) {
    Split split = {is_delimiter, (int)skips_empty, (int)none_of_nothing};
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *at = first_of(&split, texts[i], sizes[i]), *end = texts[i] + sizes[i], *begin;
        int64_t size;
        for (int64_t part = 0; next_part(&split, &at, end, &begin, &size); part++) {
            *indices++ = i;
            *indices++ = part;
            if (!put_string(objects++, begin, size)) return;
        }
    }
}

/* ---- Texts by numbers */

enum { FREE = -1 };

typedef struct {
    const uint8_t *const *texts; /* the known ones */
    const int64_t *sizes;
    int64_t *slots; /* by hash: the number of a text or FREE; some are always free */
    uint64_t mask;  /* of hashes: there are a power of two of them */
} Index;

/* The slot of a text, or the free one where it would be. */
static inline int64_t *slot_of(const Index *index, const uint8_t *text, int64_t size) {
    for (uint64_t place = murmur_of(text, size, 0);; place++) {
        int64_t *slot = index->slots + (place & index->mask);
        if (*slot == FREE) return slot;
        if (index->sizes[*slot] == size && !memcmp(index->texts[*slot], text, (size_t)size))
            return slot;
    }
}

/* Numbers texts in the order in which they come first.

   slots: room for `slots_count` numbers, a power of two that is larger than `count`.
   numbers: receives the number of each text.
   firsts: receives of each number the place of the text that has it first.
   Returns how many numbers there are. */
PUBLIC int64_t number_texts(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                            int64_t *slots, int64_t slots_count, int64_t *numbers,
                            int64_t *firsts) {
    Index index = {texts, sizes, slots, (uint64_t)slots_count - 1};
    int64_t found = 0;
    for (int64_t i = 0; i < slots_count; i++) slots[i] = FREE;
    for (int64_t i = 0; i < count; i++) {
        int64_t *slot = slot_of(&index, texts[i], sizes[i]);
        if (*slot == FREE) {
            *slot = i;
            numbers[i] = found;
            firsts[found++] = i;
        } else {
            numbers[i] = numbers[*slot];
        }
    }
    return found;
}

/* Where texts are among known ones, whose slots `number_texts` has filled; -1 for others. */
PUBLIC void find_numbers(const uint8_t *const *known, const int64_t *known_sizes, int64_t *slots,
                         int64_t slots_count, const uint8_t *const *texts, const int64_t *sizes,
                         int64_t count, int64_t *places) {
    Index index = {known, known_sizes, slots, (uint64_t)slots_count - 1};
    for (int64_t i = 0; i < count; i++) places[i] = *slot_of(&index, texts[i], sizes[i]);
}
