/* The tags of serialized summaries of scalars and histograms: src/stillflow/summary/tags.py. */
#include "messages.h"

enum { VALUE = 0x0A, TAG = 0x0A, SCALAR = 0x15, HISTOGRAM = 0x2A };
enum { SCALAR_BYTES = 5, NUMBERS = 5, DOUBLE = 1, LIST = 2 };

static int is_scalar(Bytes content) {
    return content.end - content.at == SCALAR_BYTES && *content.at == SCALAR;
}

/* Whether this is five numbers, limits and counts; any of them may be left out. */
static int is_histogram(Bytes content) {
    Bytes doubles;
    for (int field = 1; field <= NUMBERS; field++) {
        if (content.at == content.end || *content.at != (field << 3 | DOUBLE)) continue;
        if (content.end - content.at <= (int64_t)sizeof(double)) return 0;
        content.at += 1 + sizeof(double);
    }
    for (int field = NUMBERS + 1; field <= NUMBERS + 2; field++)
        if (take(&content, (uint8_t)(field << 3 | LIST), &doubles)
            && (doubles.end - doubles.at) % (int64_t)sizeof(double))
            return 0;
    return content.at == content.end;
}

/* Takes the next value of a summary; 0 if it is something else than a tag and a number or numbers. */
static int take_tag(Bytes *rest, Bytes *tag) {
    Bytes value, histogram;
    if (!take(rest, VALUE, &value)) return 0;
    *tag = (Bytes){value.at, value.at};
    take(&value, TAG, tag);
    return is_scalar(value) || (take_all(value, HISTOGRAM, &histogram) && is_histogram(histogram));
}

/* Finds the tags of the values of a summary.

   bounds: has room for `room` pairs, where each tag begins and ends.
   Returns how many there are; -1 if there are more, or something else than tags and numbers. */
PUBLIC int64_t find_tags(const uint8_t *data, int64_t size, int64_t *bounds, int64_t room) {
    Bytes rest = {data, data + size}, tag;
    int64_t found = 0;
    for (; rest.at < rest.end; found++) {
        if (found == room || !take_tag(&rest, &tag)) return -1;
        *bounds++ = tag.at - data;
        *bounds++ = tag.end - data;
    }
    return found;
}

/* A number that says which tags there are, in their order (FNV-1a, each with its end);
   -1 if there is something else than tags and numbers. */
PUBLIC int64_t digest_tags(const uint8_t *data, int64_t size) {
    Bytes rest = {data, data + size}, tag;
    uint64_t digest = 0xCBF29CE484222325;
    while (rest.at < rest.end) {
        if (!take_tag(&rest, &tag)) return -1;
        for (; tag.at < tag.end; tag.at++) digest = (digest ^ *tag.at) * 0x100000001B3;
        digest = (digest ^ 0xFF) * 0x100000001B3; /* a byte that no text has */
    }
    return (int64_t)(digest >> 1);
}
