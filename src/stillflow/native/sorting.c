/* The order of numbers in rows: src/stillflow/ops/arrays/native_kernels.py.

   Digit after digit from the lowest, each pass in the order of the last one: numbers that are equal
   stay in theirs. */
#include "native.h"

#include <stdlib.h>

enum {
    /* Of a digit: counts of all its values fit into the first cache, or are soon summed up. */
    BITS = 11,
    BITS_OF_SHORT = 8,
    SHORT = 2048,    /* numbers in a row */
    COUNTS = 6 << BITS, /* of 64 bits, for all digits */
    FEW = 24         /* numbers that are put into their places one by one */
};

typedef struct {
    const void *keys; /* [rows, columns] */
    int64_t rows, columns;
    int64_t descending;
    int64_t *out; /* [rows, columns] */
    int64_t without_memory;
} Rows;

#define INLINE static inline __attribute__((always_inline))

/* Numbers as unsigned ones in the same order; those that are not a number are the largest. */
INLINE uint32_t code_of_floats(float key) {
    uint32_t bits;
    key += 0.0f; /* no zero with a sign */
    memcpy(&bits, &key, sizeof bits);
    if (key != key) return UINT32_MAX;
    return bits >> 31 ? ~bits : bits | (uint32_t)1 << 31;
}

INLINE uint64_t code_of_doubles(double key) {
    uint64_t bits;
    key += 0.0;
    memcpy(&bits, &key, sizeof bits);
    if (key != key) return UINT64_MAX;
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

INLINE uint32_t code_of_integers(int32_t key) { return (uint32_t)key ^ (uint32_t)1 << 31; }

INLINE uint64_t code_of_longs(int64_t key) { return (uint64_t)key ^ (uint64_t)1 << 63; }

#define SORTS(name, type, code_type)                                                           \
    typedef struct {                                                                           \
        code_type code;                                                                        \
        int32_t place;                                                                         \
    } Item_##name;                                                                             \
                                                                                               \
    static void insert_##name(Item_##name *items, int64_t size) {                              \
        for (int64_t i = 1; i < size; i++) {                                                   \
            Item_##name item = items[i];                                                       \
            int64_t hole = i;                                                                  \
            for (; hole > 0 && items[hole - 1].code > item.code; hole--)                       \
                items[hole] = items[hole - 1];                                                 \
            items[hole] = item;                                                                \
        }                                                                                      \
    }                                                                                          \
                                                                                               \
    /* Returns where the items are in the end: in one of both places. */                       \
    INLINE Item_##name *distribute_##name(Item_##name *items, Item_##name *other,              \
                                          int64_t size, const int bits) {                      \
        const int passes = (8 * (int)sizeof(code_type) + bits - 1) / bits;                     \
        const code_type low = ((code_type)1 << bits) - 1;                                      \
        int32_t counts[COUNTS];                                                                \
        memset(counts, 0, ((size_t)passes << bits) * sizeof *counts);                          \
        for (int64_t i = 0; i < size; i++)                                                     \
            for (int pass = 0; pass < passes; pass++)                                          \
                counts[((code_type)pass << bits) + (items[i].code >> (pass * bits) & low)]++;  \
        for (int pass = 0; pass < passes; pass++) {                                            \
            int32_t *count = counts + ((int64_t)pass << bits), sum = 0;                        \
            if (count[items[0].code >> (pass * bits) & low] == size) continue;                 \
            for (int digit = 0; digit < 1 << bits; digit++) {                                  \
                int32_t number = count[digit];                                                 \
                count[digit] = sum;                                                            \
                sum += number;                                                                 \
            }                                                                                  \
            for (int64_t i = 0; i < size; i++)                                                 \
                other[count[items[i].code >> (pass * bits) & low]++] = items[i];               \
            Item_##name *last = items;                                                         \
            items = other, other = last;                                                       \
        }                                                                                      \
        return items;                                                                          \
    }                                                                                          \
                                                                                               \
    static void sort_##name(void *data, int64_t row) {                                         \
        Rows *all = data;                                                                      \
        int64_t size = all->columns, *out = all->out + row * size;                             \
        const type *keys = (const type *)all->keys + row * size;                               \
        Item_##name *items = malloc(2 * (size_t)size * sizeof *items), *found = items;         \
        if (items == NULL) {                                                                   \
            __atomic_store_n(&all->without_memory, 1, __ATOMIC_RELAXED);                       \
            return;                                                                            \
        }                                                                                      \
        for (int64_t i = 0; i < size; i++) {                                                   \
            code_type code = code_of_##name(keys[i]);                                          \
            items[i] = (Item_##name){all->descending ? ~code : code, (int32_t)i};              \
        }                                                                                      \
        if (size <= FEW)                                                                       \
            insert_##name(items, size);                                                        \
        else if (size <= SHORT)                                                                \
            found = distribute_##name(items, items + size, size, BITS_OF_SHORT);               \
        else                                                                                   \
            found = distribute_##name(items, items + size, size, BITS);                        \
        for (int64_t i = 0; i < size; i++) out[i] = found[i].place;                            \
        free(items);                                                                           \
    }

SORTS(floats, float, uint32_t)
SORTS(doubles, double, uint64_t)
SORTS(integers, int32_t, uint32_t)
SORTS(longs, int64_t, uint64_t)

/* The places of the numbers of each row in their order; of equal ones the first comes first.

   kind: 0 for float, 1 for double, 2 for int32, 3 for int64.
   columns: of a row, at least one and below 2 ** 31.
   Returns 1 if there is no memory for what is sorted. */
PUBLIC int64_t sort_rows(const void *keys, int64_t kind, int64_t rows, int64_t columns,
                         int64_t descending, int64_t *out, int64_t threads) {
    static const Work WORK[] = {sort_floats, sort_doubles, sort_integers, sort_longs};
    Rows all = {keys, rows, columns, descending, out, 0};
    in_parallel(WORK[kind], &all, rows, threads);
    return all.without_memory;
}

/* ---- one number of each row */

enum { DIGITS = 1 << BITS, TO_DIGIT = 32 - BITS };

typedef struct {
    const void *values; /* [rows, columns] */
    int64_t columns, position, is_float;
    void *out; /* [rows] */
    int64_t without_memory;
} Ranks;

INLINE uint32_t code_at(const Ranks *all, int64_t i) {
    return all->is_float ? code_of_floats(((const float *)all->values)[i])
                         : code_of_integers(((const int32_t *)all->values)[i]);
}

INLINE void put_number_of(const Ranks *all, int64_t row, uint32_t code) {
    uint32_t bits = all->is_float && code >> 31 == 0 ? ~code : code ^ (uint32_t)1 << 31;
    if (all->is_float && code == UINT32_MAX) bits = 0x7fc00000; /* not a number */
    memcpy((uint8_t *)all->out + row * 4, &bits, sizeof bits);
}

/* The code at a position among those in order; changes their order. */
static uint32_t select_code(uint32_t *codes, int64_t size, int64_t position) {
    int64_t low = 0, high = size - 1;
    while (low < high) {
        uint32_t a = codes[low], b = codes[(low + high) / 2], c = codes[high];
        uint32_t middle = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        int64_t i = low, j = high;
        while (i <= j) {
            while (codes[i] < middle) i++;
            while (codes[j] > middle) j--;
            if (i > j) break;
            uint32_t moved = codes[i];
            codes[i++] = codes[j], codes[j--] = moved;
        }
        if (position <= j)
            high = j;
        else if (position >= i)
            low = i;
        else
            break;
    }
    return codes[position];
}

/* Of a long row only the numbers that begin as the wanted one are kept. */
static void find_rank(void *data, int64_t row) {
    Ranks *all = data;
    int64_t size = all->columns, position = all->position, begin = row * size, kept = 0, digit = 0;
    uint32_t *codes = malloc((size_t)size * sizeof *codes);
    if (codes == NULL) {
        __atomic_store_n(&all->without_memory, 1, __ATOMIC_RELAXED);
        return;
    }
    if (size <= SHORT) {
        for (; kept < size; kept++) codes[kept] = code_at(all, begin + kept);
    } else {
        int32_t counts[DIGITS] = {0};
        for (int64_t i = 0; i < size; i++) counts[code_at(all, begin + i) >> TO_DIGIT]++;
        while (position >= counts[digit]) position -= counts[digit++];
        for (int64_t i = 0; i < size; i++) {
            codes[kept] = code_at(all, begin + i);
            kept += codes[kept] >> TO_DIGIT == (uint32_t)digit;
        }
    }
    put_number_of(all, row, select_code(codes, kept, position));
    free(codes);
}

/* The number at a position of each row in order; what is not a number is the largest.

   is_float: float, or else int32.
   columns: as above.
   Returns 1 if there is no memory. */
PUBLIC int64_t find_ranks(const void *values, int64_t is_float, int64_t rows, int64_t columns,
                          int64_t position, void *out, int64_t threads) {
    Ranks all = {values, columns, position, is_float, out, 0};
    in_parallel(find_rank, &all, rows, threads);
    return all.without_memory;
}
