/* Loops over sparse tensors and rows picked from tables: src/stillflow/ops/sparse/native_kernels.py.

   A model with feature columns makes hundreds of such calls at every step, each for about as many
   numbers as there are examples: to run any of them takes less time than one call of torch, of
   which each would need many. Where something is wrong with the numbers, who calls finds out what. */
#include "native.h"

#include <math.h>
#include <stdlib.h>

enum { SUM, MEAN, SQRT_N };

/* Integers of 4 or 8 bytes. */
typedef struct {
    const void *items;
    int64_t bytes;
} Integers;

static inline int64_t at(Integers numbers, int64_t i) {
    return numbers.bytes == 4 ? ((const int32_t *)numbers.items)[i]
                              : ((const int64_t *)numbers.items)[i];
}

static inline void put(void *items, int64_t bytes, int64_t i, int64_t number) {
    if (bytes == 4)
        ((int32_t *)items)[i] = (int32_t)number;
    else
        ((int64_t *)items)[i] = number;
}

static inline void copy_item(uint8_t *to, const uint8_t *from, int64_t size) {
    if (size == 4) /* one instruction instead of a call */
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, (size_t)size);
}

static inline void add_row(float *sum, const float *row, int64_t width, float weight) {
    for (int64_t j = 0; j < width; j++) sum[j] += row[j] * weight;
}

/* ---- distinct integers */

/* Where in a vector each of its integers stands, from 1; 0 where a slot of the table is free. */
typedef struct {
    int64_t *table;
    uint64_t last; /* slot */
    int shift;
} Places;

static int make_places(Places *all, int64_t size) {
    int shift = 60;
    while (shift && (int64_t)1 << (64 - shift) < 2 * size) shift--;
    uint64_t slots = (uint64_t)1 << (64 - shift);
    *all = (Places){calloc((size_t)slots, sizeof *all->table), slots - 1, shift};
    return all->table != NULL;
}

/* The slot of an integer, or the free one that is its. */
static inline int64_t *find_place(const Places *all, Integers vector, int64_t number) {
    uint64_t slot = (uint64_t)number * 0x9e3779b97f4a7c15u >> all->shift; /* golden ratio */
    while (all->table[slot] && at(vector, all->table[slot] - 1) != number)
        slot = (slot + 1) & all->last;
    return all->table + slot;
}

/* The different ones among integers, in the order in which they come first.

   distinct: receives them; has room for all.
   places: receives for each integer which of these it is; integers of `place_bytes`.
   Returns how many there are, or -1 if there is no memory. */
PUBLIC int64_t find_distinct(const void *items, int64_t bytes, int64_t size, void *distinct,
                             void *places, int64_t place_bytes) {
    Integers numbers = {items, bytes}, found = {distinct, bytes};
    Places seen;
    int64_t count = 0;
    if (!make_places(&seen, size)) return -1;
    for (int64_t i = 0; i < size; i++) {
        int64_t *place = find_place(&seen, found, at(numbers, i));
        if (!*place) {
            put(distinct, bytes, count, at(numbers, i));
            *place = ++count;
        }
        put(places, place_bytes, i, *place - 1);
    }
    free(seen.table);
    return count;
}

/* The different ones among rows of bytes, in the order in which they come first.

   firsts: receives where each stands first; has room for all.
   places: receives for each row which of these it is.
   Returns how many there are, or -1 if there is no memory. */
PUBLIC int64_t find_distinct_rows(const uint8_t *rows, int64_t count, int64_t bytes,
                                  int64_t *firsts, int64_t *places) {
    Places seen;
    int64_t found = 0;
    if (!make_places(&seen, count)) return -1;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *row = rows + i * bytes;
        uint64_t slot = murmur_of(row, bytes, 0) >> seen.shift;
        while (seen.table[slot] &&
               memcmp(rows + firsts[seen.table[slot] - 1] * bytes, row, (size_t)bytes))
            slot = (slot + 1) & seen.last;
        if (!seen.table[slot]) {
            firsts[found] = i;
            seen.table[slot] = ++found;
        }
        places[i] = seen.table[slot] - 1;
    }
    free(seen.table);
    return found;
}

/* The integers of a vector that are not in another one.

   unlike: receives them; has room for all.
   places: receives where each stands; integers of `place_bytes`.
   Returns how many there are, or -1 if there is no memory. */
PUBLIC int64_t find_unlike(const void *items, int64_t bytes, int64_t size, const void *others,
                           int64_t other_size, void *unlike, void *places, int64_t place_bytes) {
    Integers numbers = {items, bytes}, known = {others, bytes};
    Places seen;
    int64_t count = 0;
    if (!make_places(&seen, other_size)) return -1;
    for (int64_t i = 0; i < other_size; i++) {
        int64_t *place = find_place(&seen, known, at(known, i));
        if (!*place) *place = i + 1;
    }
    for (int64_t i = 0; i < size; i++) {
        if (*find_place(&seen, known, at(numbers, i))) continue;
        put(unlike, bytes, count, at(numbers, i));
        put(places, place_bytes, count++, i);
    }
    free(seen.table);
    return count;
}

/* ---- rows */

/* Copies the items of a table that tuples of indices name.

   item: bytes of each.
   sizes: of the dimensions that the tuples index.
   Returns 0, or 1 if an index is out of range. */
PUBLIC int64_t take_tuples(const uint8_t *table, int64_t item, const int64_t *sizes, int64_t depth,
                           const void *indices, int64_t bytes, int64_t number, uint8_t *out) {
    Integers tuples = {indices, bytes};
    for (int64_t i = 0; i < number; i++, out += item) {
        int64_t row = 0;
        for (int64_t j = 0; j < depth; j++) {
            int64_t index = at(tuples, i * depth + j);
            if (index < 0 || index >= sizes[j]) return 1;
            row = row * sizes[j] + index;
        }
        copy_item(out, table + row * item, item);
    }
    return 0;
}

/* Adds rows to those of `out` that `ids` name; a negative one names none.

   Returns 0, or 1 if there is no such row. */
PUBLIC int64_t add_rows(const float *data, int64_t number, int64_t width, const void *ids,
                        int64_t bytes, float *out, int64_t rows) {
    Integers names = {ids, bytes};
    memset(out, 0, (size_t)(rows * width) * sizeof *out);
    for (int64_t i = 0; i < number; i++) {
        int64_t row = at(names, i);
        if (row >= rows) return 1;
        if (row >= 0) add_row(out + row * width, data + i * width, width, 1);
    }
    return 0;
}

/* Adds rows, times `factor`, to those of `table` that `ids` name, one after the other.

   Returns 0, or 1 if there is no such row; nothing has changed then. */
PUBLIC int64_t add_to_rows(float *table, int64_t rows, int64_t width, const void *ids,
                           int64_t bytes, int64_t number, const float *data, double factor) {
    Integers names = {ids, bytes};
    for (int64_t i = 0; i < number; i++)
        if (at(names, i) < 0 || at(names, i) >= rows) return 1;
    for (int64_t i = 0; i < number; i++)
        add_row(table + at(names, i) * width, data + i * width, width, (float)factor);
    return 0;
}

/* Copies rows of `width` bytes that lie `stride` apart, with zeros for those that have a flag. */
PUBLIC void copy_rows_unless(const uint8_t *data, int64_t stride, int64_t rows, int64_t width,
                             const uint8_t *flags, uint8_t *out) {
    for (int64_t i = 0; i < rows; i++) {
        if (flags[i])
            memset(out + i * width, 0, (size_t)width);
        else
            copy_item(out + i * width, data + i * stride, width);
    }
}

/* Reduces rows picked from a table to one for each segment.

   indices: of the rows; where there are names, of those in `names`, which name the rows.
   ids: for each of `number` indices its segment, in ascending order.
   left_out: for each segment whether zeros stand for it; or NULL. They say how many there are,
     and the last id has to say the same.
   Returns 0, or 1 if ids are not in order or anything is out of range. */
PUBLIC int64_t reduce_picked(const float *table, int64_t rows, int64_t width, const void *indices,
                             int64_t bytes, const void *names, int64_t name_bytes,
                             int64_t name_count, const void *ids, int64_t id_bytes, int64_t number,
                             int64_t mode, const uint8_t *left_out, float *out,
                             int64_t segments) {
    Integers picked = {indices, bytes}, named = {names, name_bytes}, places = {ids, id_bytes};
    int64_t before = 0;
    if (left_out && (!number || at(places, number - 1) + 1 != segments)) return 1;
    memset(out, 0, (size_t)(segments * width) * sizeof *out);
    for (int64_t i = 0, first = 0; i < number; i++) {
        int64_t index = at(picked, i), id = at(places, i);
        if (names) {
            if (index < 0 || index >= name_count) return 1;
            index = at(named, index);
        }
        if (index < 0 || index >= rows || id < before || id >= segments) return 1;
        if (id != before) first = i;
        before = id;
        if (left_out && left_out[id]) continue;
        float *sum = out + id * width;
        add_row(sum, table + index * width, width, 1);
        if (mode == SUM || (i + 1 < number && at(places, i + 1) == id)) continue;
        double count = (double)(i + 1 - first);
        float weight = (float)(1 / sqrt(count));
        for (int64_t j = 0; j < width; j++)
            sum[j] = mode == MEAN ? sum[j] / (float)count : sum[j] * weight;
    }
    return 0;
}

/* Adds the gradient of each segment, divided among its rows, to those that were picked.

   stride: how many numbers lie between the gradients of two segments.
   left_out: for each segment whether its gradient is zeros; or NULL.
   Returns 0, 1 if anything is out of range, or -1 if there is no memory. */
PUBLIC int64_t spread_picked(const float *grad, int64_t stride, int64_t segments, int64_t width,
                             const void *indices, int64_t bytes, const void *ids, int64_t id_bytes,
                             int64_t number, int64_t mode, const uint8_t *left_out, float *out,
                             int64_t rows) {
    Integers picked = {indices, bytes}, places = {ids, id_bytes};
    int64_t *counts = calloc((size_t)segments + 1, sizeof *counts), wrong = 0;
    if (!counts) return -1;
    for (int64_t i = 0; i < number && !wrong; i++) {
        int64_t index = at(picked, i), id = at(places, i);
        wrong = index < 0 || index >= rows || id < 0 || id >= segments;
        if (!wrong) counts[id]++;
    }
    memset(out, 0, (size_t)(rows * width) * sizeof *out);
    for (int64_t i = 0; i < number && !wrong; i++) {
        int64_t id = at(places, i);
        if (left_out && left_out[id]) continue;
        double count = (double)counts[id];
        double weight = mode == SUM ? 1 : 1 / (mode == MEAN ? count : sqrt(count));
        add_row(out + at(picked, i) * width, grad + id * stride, width, (float)weight);
    }
    free(counts);
    return wrong;
}

/* Whether no integer is below `least` or above `most`. */
PUBLIC int64_t are_within(const void *items, int64_t bytes, int64_t number, int64_t least,
                          int64_t most) {
    Integers numbers = {items, bytes};
    int64_t outside = 0;
    for (int64_t i = 0; i < number; i++) {
        outside |= at(numbers, i) < least;
        outside |= at(numbers, i) > most;
    }
    return !outside;
}

/* ---- indices of sparse tensors */

/* The indices of the same elements in another shape of as many.

   Remainders are never negative, as for indices inside the shape; others lead somewhere. */
PUBLIC void reshape_indices(const int64_t *indices, int64_t number, const int64_t *shape,
                            int64_t rank, const int64_t *new_shape, int64_t new_rank,
                            int64_t *out) {
    for (int64_t i = 0; i < number; i++) {
        uint64_t place = 0; /* overflows without harm */
        for (int64_t j = 0; j < rank; j++)
            place = place * (uint64_t)shape[j] + (uint64_t)indices[i * rank + j];
        int64_t left = (int64_t)place;
        for (int64_t j = new_rank - 1; j > 0; j--) {
            int64_t size = new_shape[j] > 1 ? new_shape[j] : 1;
            out[i * new_rank + j] = left % size;
            left /= size;
        }
        if (new_rank > 0) out[i * new_rank] = left; /* even outside of the shape */
    }
}

/* Whether indices lie inside a shape, each behind the one before it in row-major order. */
PUBLIC int64_t are_in_order(const int64_t *indices, int64_t number, int64_t rank,
                            const int64_t *shape) {
    for (int64_t i = 0; i < number; i++) {
        const int64_t *row = indices + i * rank;
        int order = i == 0;
        for (int64_t j = 0; j < rank; j++) {
            if (row[j] < 0 || row[j] >= shape[j]) return 0;
            if (!order && row[j] != row[j - rank]) {
                if (row[j] < row[j - rank]) return 0;
                order = 1;
            }
        }
        if (!order) return 0;
    }
    return 1;
}

/* Finds the rows of a sparse tensor without elements.

   ends: receives for each row how many elements stand in it and those before, an empty one
     counting as one.
   Returns the number of empty rows, or -1 if an element is outside of the rows. */
PUBLIC int64_t find_empty_rows(const int64_t *indices, int64_t number, int64_t rank, int64_t rows,
                               int64_t *ends, uint8_t *empty) {
    int64_t found = 0;
    memset(ends, 0, (size_t)rows * sizeof *ends);
    for (int64_t i = 0; i < number; i++) {
        int64_t row = indices[i * rank];
        if (row < 0 || row >= rows) return -1;
        ends[row]++;
    }
    for (int64_t row = 0; row < rows; row++) {
        empty[row] = !ends[row];
        found += empty[row];
        ends[row] += empty[row] + (row ? ends[row - 1] : 0);
    }
    return found;
}

/* Puts elements in the order of their rows, and a value into each empty one.

   item: bytes of a value.
   ends, empty: what `find_empty_rows` found; `ends` is used up.
   map: receives where each element went. */
PUBLIC void fill_empty_rows(const int64_t *indices, const uint8_t *values, int64_t item,
                            int64_t number, int64_t rank, int64_t rows, const uint8_t *value,
                            int64_t *ends, const uint8_t *empty, int64_t *out_indices,
                            uint8_t *out_values, int64_t *map) {
    for (int64_t i = number - 1; i >= 0; i--) {
        int64_t place = --ends[indices[i * rank]];
        memcpy(out_indices + place * rank, indices + i * rank, (size_t)rank * sizeof *indices);
        copy_item(out_values + place * item, values + i * item, item);
        map[i] = place;
    }
    for (int64_t row = 0; row < rows; row++) {
        if (!empty[row]) continue;
        int64_t place = ends[row] - 1;
        memset(out_indices + place * rank, 0, (size_t)rank * sizeof *indices);
        out_indices[place * rank] = row;
        copy_item(out_values + place * item, value, item);
    }
}

/* ---- from examples to ids */

/* The elements of a dense tensor that are not `ignored`.

   items: integers of `bytes`, of a tensor with these sizes; out: such integers.
   indices: receives `rank` numbers for each.
   Returns how many there are. */
PUBLIC int64_t find_elements(const void *items, int64_t bytes, int64_t ignored,
                             const int64_t *sizes, int64_t rank, int64_t *indices, void *out) {
    Integers elements = {items, bytes};
    int64_t total = 1, found = 0;
    for (int64_t j = 0; j < rank; j++) total *= sizes[j];
    for (int64_t i = 0; i < total; i++) {
        int64_t element = at(elements, i);
        if (element == ignored) continue;
        for (int64_t j = rank - 1, left = i; j >= 0; left /= sizes[j--])
            indices[found * rank + j] = left % sizes[j];
        put(out, bytes, found++, element);
    }
    return found;
}

/* What an embedding lookup takes of sparse ids: negative ones are left out, rows without any get
   one id.

   indices: int64, `rank` for each of `number` ids, the first of them the row.
   empty: receives for each row whether it had no id.
   segments: receives for each id, in the order of rows, its row.
   distinct, places: receive what `find_distinct` finds among the ids.
   room: for as many numbers of int64 as there are ids and rows, twice.
   counts: receives how many ids there are, and how many different ones.
   Returns 0, 1 if an id is outside of the rows, or -1 if there is no memory. */
PUBLIC int64_t find_lookups(const int64_t *indices, int64_t rank, const int64_t *ids,
                            int64_t number, int64_t rows, int64_t id_of_empty, uint8_t *empty,
                            int32_t *segments, int64_t *distinct, int32_t *places, int64_t *room,
                            int64_t *counts) {
    int64_t *all = room, *ends = room + number + rows, total = 0;
    memset(ends, 0, (size_t)rows * sizeof *ends);
    for (int64_t i = 0; i < number; i++) {
        int64_t row = indices[i * rank];
        if (ids[i] < 0) continue;
        if (row < 0 || row >= rows) return 1;
        ends[row]++;
    }
    for (int64_t row = 0; row < rows; row++) {
        empty[row] = !ends[row];
        int64_t first = total;
        total += ends[row] + empty[row];
        for (int64_t i = first; i < total; i++) segments[i] = (int32_t)row;
        all[first] = id_of_empty;
        ends[row] = first;
    }
    for (int64_t i = 0; i < number; i++)
        if (ids[i] >= 0) all[ends[indices[i * rank]]++] = ids[i];
    counts[0] = total;
    counts[1] = find_distinct(all, sizeof *all, total, distinct, places, sizeof *places);
    return counts[1] < 0 ? -1 : 0;
}

/* Where each of two ascending vectors stands among all different numbers of both; how many these
   are, or -1 if one does not ascend. */
PUBLIC int64_t merge_numbers(const int64_t *first, int64_t count, const int64_t *second,
                             int64_t other_count, int64_t *out) {
    int64_t i = 0, j = 0, found = 0;
    for (; i < count || j < other_count; found++) {
        int takes_first = j == other_count || (i < count && first[i] <= second[j]);
        int takes_second = i == count || (j < other_count && second[j] <= first[i]);
        if (takes_first) {
            if (i && first[i] <= first[i - 1]) return -1;
            out[i++] = found;
        }
        if (takes_second) {
            if (j && second[j] <= second[j - 1]) return -1;
            out[count + j++] = found;
        }
    }
    return found;
}

/* ---- Crosses of features: src/stillflow/ops/sparse/crossing.py */

/* The features of each row of some columns, and how many crosses these have in all.

   indices: of each column int64 [features, 2], the row first; NULL if every row has as many.
   sizes: of each column how many features there are, of all rows or of every one.
   starts, counts: receive for each column and row the first feature, and how many there are. A
   column is read once: features of a row that was left behind, and all after them, are not seen.
   widest: receives the number of crosses of the row with most.
   Returns the number of crosses, or -1 if it is no int64. */
PUBLIC int64_t count_crosses(const int64_t *const *indices, const int64_t *sizes, int64_t columns,
                             int64_t rows, int64_t *starts, int64_t *counts, int64_t *widest) {
    const int64_t most = INT64_MAX >> 1;
    int64_t total = 0;
    for (int64_t column = 0; column < columns; column++) {
        const int64_t *index = indices[column];
        int64_t *start = starts + column * rows, *count = counts + column * rows, next = 0;
        for (int64_t row = 0; row < rows; row++) {
            start[row] = next;
            if (index == NULL)
                next += sizes[column];
            else
                while (next < sizes[column] && index[2 * next] == row) next++;
            count[row] = next - start[row];
        }
    }
    *widest = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t crosses = 1, none = 0;
        for (int64_t column = 0; column < columns; column++) none |= !counts[column * rows + row];
        for (int64_t column = 0; column < columns && !none; column++) {
            int64_t count = counts[column * rows + row];
            if (crosses > most / count) return -1;
            crosses *= count;
        }
        if (none) continue;
        if (total > most - crosses) return -1;
        total += crosses;
        if (crosses > *widest) *widest = crosses;
    }
    return total;
}

static inline uint64_t fold_word(uint64_t word) { return word ^ word >> 47; }

/* The fingerprint of two, in order. */
static inline uint64_t cat(uint64_t first, uint64_t second) {
    const uint64_t factor = 0xC6A4A7935BD1E995u;
    uint64_t mixed = first ^ factor ^ fold_word(second * factor) * factor;
    return fold_word(fold_word(mixed * factor) * factor);
}

/* The hashes of all crosses, of which the last column's feature changes fastest.

   words: of each column its features' fingerprints.
   starts, counts: as above.
   limit: hashes are taken modulo this number.
   room: for two numbers for each column and one more.
   places: receives the row of each cross, and its number there.
   out: receives the hashes. */
PUBLIC void hash_crosses(const uint64_t *const *words, int64_t columns, int64_t rows,
                         const int64_t *starts, const int64_t *counts, int64_t key, uint64_t limit,
                         int64_t *room, int64_t *places, int64_t *out) {
    uint64_t *hashes = (uint64_t *)room; /* of the features of the first columns */
    int64_t *picks = room + columns + 1;
    hashes[0] = (uint64_t)key;
    for (int64_t row = 0; row < rows; row++) {
        int64_t none = 0, changed = 0, inside = 0;
        for (int64_t column = 0; column < columns; column++) {
            none |= !counts[column * rows + row];
            picks[column] = 0;
        }
        while (!none && changed >= 0) {
            for (int64_t column = changed; column < columns; column++)
                hashes[column + 1] = cat(
                    hashes[column], words[column][starts[column * rows + row] + picks[column]]);
            *places++ = row;
            *places++ = inside++;
            *out++ = (int64_t)(hashes[columns] % limit);
            for (changed = columns - 1; changed >= 0; changed--) {
                if (++picks[changed] < counts[changed * rows + row]) break;
                picks[changed] = 0;
            }
        }
    }
}
