/* Rows of a table that others replace or are combined with: src/stillflow/ops/arrays/rows.py.

   One after the other, so that of two updates of a row the later one finds what the first left. */
#include "native.h"

enum { REPLACE, MULTIPLY, DIVIDE, LEAST, LARGEST };
enum { NO_NUMBERS, FLOATS, DOUBLES, INTEGERS, LONGS }; /* kinds of numbers */

typedef struct {
    const void *ids; /* int32 if `id_bytes` is 4, else int64; which of the rows */
    int64_t id_bytes, number;
    int64_t width, size; /* numbers, bytes of each */
} Changes;

static inline int64_t id_at(const Changes *all, int64_t i) {
    return all->id_bytes == 4 ? ((const int32_t *)all->ids)[i] : ((const int64_t *)all->ids)[i];
}

static void replace(const Changes *all, char *table, const char *data) {
    int64_t bytes = all->width * all->size;
    if (bytes == 4)
        for (int64_t i = 0; i < all->number; i++)
            memcpy(table + id_at(all, i) * 4, data + i * 4, 4);
    else
        for (int64_t i = 0; i < all->number; i++)
            memcpy(table + id_at(all, i) * bytes, data + i * bytes, (size_t)bytes);
}

#define EACH(type, result)                                                                     \
    for (int64_t i = 0; i < all->number; i++) {                                                \
        type *row = (type *)table + id_at(all, i) * all->width;                                \
        const type *by = (const type *)data + i * all->width;                                  \
        for (int64_t j = 0; j < all->width; j++) {                                             \
            type a = row[j], b = by[j];                                                        \
            row[j] = (result);                                                                 \
        }                                                                                      \
    }                                                                                          \
    break

/* What is no number stays: it compares with nothing. */
#define COMBINES(name, type, product)                                                          \
    FOR_EACH_PROCESSOR                                                                         \
    static void combine_##name(const Changes *all, void *table, const void *data,              \
                               int64_t how) {                                                  \
        switch (how) {                                                                         \
        case MULTIPLY: EACH(type, (type)(product));                                            \
        case DIVIDE: EACH(type, a / b);                                                        \
        case LEAST: EACH(type, a < b || a != a ? a : b);                                       \
        case LARGEST: EACH(type, a > b || a != a ? a : b);                                     \
        }                                                                                      \
    }

COMBINES(floats, float, a * b)
COMBINES(doubles, double, a * b)
COMBINES(integers, int32_t, (uint32_t)a * (uint32_t)b)
COMBINES(longs, int64_t, (uint64_t)a * (uint64_t)b)

/* Changes rows in place; returns 1, having changed nothing, if there is no such row.

   ids: which of the rows, each of `id_bytes` bytes.
   size: bytes of a number.
   kind: of the numbers; any will do where rows are replaced.
   data: a row for each id. */
PUBLIC int64_t change_rows(void *table, int64_t rows, int64_t width, int64_t size, const void *ids,
                           int64_t id_bytes, int64_t number, const void *data, int64_t kind,
                           int64_t how) {
    const Changes changes = {ids, id_bytes, number, width, size}, *all = &changes;
    for (int64_t i = 0; i < number; i++)
        if (id_at(all, i) < 0 || id_at(all, i) >= rows) return 1;
    if (how == REPLACE)
        replace(all, table, data);
    else if (kind == FLOATS)
        combine_floats(all, table, data, how);
    else if (kind == DOUBLES)
        combine_doubles(all, table, data, how);
    else if (kind == INTEGERS)
        combine_integers(all, table, data, how);
    else
        combine_longs(all, table, data, how);
    return 0;
}
