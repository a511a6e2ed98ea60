/* Numbers and texts in lines of delimited fields: src/stillflow/ops/io/parsing/plain_records.py; and
   numbers by themselves: src/stillflow/ops/strings/numbers.py.

   Lines that are written plainly only: with quotes around whole fields at most, as many fields as columns, numbers of digits
   that a double holds exactly. Of others, who calls finds out what they are. */
#include "native.h"

#include <stdlib.h>

enum { TEXT, INT32, INT64, FLOAT };

/* Where nine tenths of all decimal numbers are: a whole number below 2^53 by an exact power. */
static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { LARGEST_POWER = 22, MOST_DIGITS = 18 };

typedef struct {
    const uint8_t *at, *end;
} Field;

/* Adds the digits at the beginning to a number; returns how many they are. */
static int64_t take_digits(Field *field, uint64_t *number) {
    const uint8_t *begin = field->at;
    for (; field->at < field->end && (uint8_t)(*field->at - '0') < 10; field->at++)
        if (field->at - begin <= MOST_DIGITS) *number = *number * 10 + (uint64_t)(*field->at - '0');
    return field->at - begin;
}

static int take_sign(Field *field) {
    int is_negative = field->at < field->end && *field->at == '-';
    field->at += is_negative;
    return is_negative;
}

/* Both return whether the field is such a number, plainly. */
static int read_integer(Field field, int64_t largest, int64_t *out) {
    uint64_t number = 0;
    int is_negative = take_sign(&field);
    int64_t digits = take_digits(&field, &number);
    if (!digits || digits > MOST_DIGITS || field.at < field.end) return 0;
    if ((int64_t)number > largest) return 0;
    *out = is_negative ? -(int64_t)number : (int64_t)number;
    return 1;
}

static int read_double(Field field, double *out) {
    uint64_t number = 0, exponent = 0;
    int is_negative = take_sign(&field), is_small = 0;
    int64_t digits = take_digits(&field, &number), shift = 0;
    if (field.at < field.end && *field.at == '.') {
        field.at++;
        if (digits > MOST_DIGITS) return 0;
        int64_t fraction = take_digits(&field, &number);
        digits += fraction;
        shift = -fraction;
    }
    if (!digits || digits > MOST_DIGITS || number > (uint64_t)1 << 53) return 0;
    if (field.at < field.end && *field.at == 'e') {
        field.at++;
        is_small = take_sign(&field);
        int64_t places = take_digits(&field, &exponent);
        if (!places || places > 3) return 0;
        shift += is_small ? -(int64_t)exponent : (int64_t)exponent;
    }
    if (field.at < field.end || shift > LARGEST_POWER || shift < -LARGEST_POWER) return 0;
    double value = shift < 0 ? (double)number / POWERS[-shift] : (double)number * POWERS[shift];
    *out = is_negative ? -value : value;
    return 1;
}

/* Of more digits, or of others; a byte that is no part of a number has to stand behind the field. */
static int read_any_double(Field field, double *out) {
    for (const uint8_t *at = field.at; at < field.end; at++)
        if (!memchr("0123456789.eE+-", *at, 15)) return 0;
    char *end;
    *out = strtod((const char *)field.at, &end);
    return field.at < field.end && (const uint8_t *)end == field.end;
}

static int is_blank(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* Reads texts as numbers, blanks around them aside: int64, or doubles if `kind` is FLOAT.

   A zero byte stands behind each. Returns how many were read, those before the first that is not
   written plainly. */
PUBLIC int64_t read_numbers(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                            int64_t kind, int64_t *out) {
    int64_t largest = kind == INT32 ? INT32_MAX : INT64_MAX;
    for (int64_t i = 0; i < count; i++) {
        Field field = {texts[i], texts[i] + sizes[i]};
        double value = 0;
        while (field.at < field.end && is_blank(*field.at)) field.at++;
        while (field.at < field.end && is_blank(field.end[-1])) field.end--;
        int done = kind == FLOAT ? read_double(field, &value) || read_any_double(field, &value)
                                 : read_integer(field, largest, out + i);
        if (!done) return i;
        if (kind == FLOAT) memcpy(out + i, &value, sizeof value);
    }
    return count;
}

/* What there is in a line besides fields and delimiters. */
enum { NOTHING, QUOTES, BREAKS };

static int look_at(const uint8_t *text, int64_t size) {
    int has_breaks = 0, has_quotes = 0;
    for (int64_t i = 0; i < size; i++) {
        has_breaks |= (text[i] == '\n') | (text[i] == '\r');
        has_quotes |= text[i] == '"';
    }
    return has_breaks ? BREAKS : has_quotes ? QUOTES : NOTHING;
}

/* The field at the beginning of a line; returns where it ends, its quotes included, or NULL if
   quotes are not just around it. */
static const uint8_t *cut_field(const uint8_t *at, const uint8_t *end, int delimiter, int quotes,
                                Field *field) {
    if (quotes && *at == '"') {
        const uint8_t *stop = memchr(at + 1, '"', (size_t)(end - at - 1));
        if (!stop || (stop + 1 < end && stop[1] != delimiter)) return NULL;
        *field = (Field){at + 1, stop};
        return stop + 1;
    }
    const uint8_t *stop = memchr(at, delimiter, (size_t)(end - at));
    *field = (Field){at, stop ? stop : end};
    if (quotes && memchr(at, '"', (size_t)(field->end - at))) return NULL;
    return field->end;
}

/* Reads records of fields.

   ends: where the first record begins in `text`, and where each ends.
   quotes: whether a quote means anything.
   kinds: of each column what it holds.
   values: receives for each field a number: int64, or a double.
   bounds: receives for each field where it begins in `text` and where it ends.
   Returns how many records were read, those before the first that is not plain. */
PUBLIC int64_t read_records(const uint8_t *text, const int64_t *ends, int64_t records,
                            int64_t delimiter, int64_t quotes, const uint8_t *kinds,
                            int64_t columns, int64_t *values, int64_t *bounds) {
    for (int64_t i = 0; i < records; i++, values += columns, bounds += 2 * columns) {
        const uint8_t *at = text + ends[i], *end = text + ends[i + 1];
        int found = look_at(at, end - at);
        if (at == end || found == BREAKS) return i;
        for (int64_t j = 0; j < columns; j++) {
            Field field;
            if (at >= end) return i;
            const uint8_t *stop = cut_field(at, end, (int)delimiter, quotes && found, &field);
            if (!stop || field.at == field.end || (stop == end) != (j == columns - 1)) return i;
            int done = 1;
            if (kinds[j] == INT32) done = read_integer(field, INT32_MAX, values + j);
            if (kinds[j] == INT64) done = read_integer(field, INT64_MAX, values + j);
            if (kinds[j] == FLOAT) {
                double value = 0;
                done = read_double(field, &value);
                memcpy(values + j, &value, sizeof value);
            }
            if (!done) return i;
            bounds[2 * j] = field.at - text, bounds[2 * j + 1] = field.end - text;
            at = stop + 1;
        }
    }
    return records;
}
