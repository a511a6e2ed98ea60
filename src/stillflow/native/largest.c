/* The largest numbers of rows in the order that a heap leaves them in:
   src/stillflow/ops/arrays/top_k_heaps.py, whose steps these are. */
#include "native.h"

enum {
    ROWS = 8,  /* that one thread takes at a time */
    FEW = 16,  /* numbers that are kept in order faster than in a heap */
    BLOCK = 64 /* numbers that are looked at together: mostly none of them is among the largest */
};

typedef struct {
    const void *keys; /* [rows, columns] */
    int64_t rows, columns, count;
    int64_t in_order;
    int32_t *out; /* [rows, count + 1], of which the last is for the heap alone */
} Rows;

#define INLINE static inline __attribute__((always_inline))

#define HEAPS(name, type)                                                                      \
    INLINE int goes_before_##name(const type *key, int32_t a, int32_t b) {                     \
        if (key[b] < key[a]) return 1;                                                         \
        return key[b] > key[a] ? 0 : a < b;                                                    \
    }                                                                                          \
                                                                                               \
    /* Puts an item where a heap has a hole: down to a leaf first, then up again. */           \
    INLINE void settle_##name(const type *key, int32_t *heap, int64_t hole, int64_t size,      \
                              int32_t item) {                                                  \
        int64_t top = hole, child;                                                             \
        while ((child = 2 * hole + 2) < size) {                                                \
            if (goes_before_##name(key, heap[child], heap[child - 1])) child--;                \
            heap[hole] = heap[child];                                                          \
            hole = child;                                                                      \
        }                                                                                      \
        if (child == size) {                                                                   \
            heap[hole] = heap[child - 1];                                                      \
            hole = child - 1;                                                                  \
        }                                                                                      \
        while (hole > top && goes_before_##name(key, heap[(hole - 1) / 2], item)) {            \
            heap[hole] = heap[(hole - 1) / 2];                                                 \
            hole = (hole - 1) / 2;                                                             \
        }                                                                                      \
        heap[hole] = item;                                                                     \
    }                                                                                          \
                                                                                               \
    /* Moves the first item of a heap to its end, which it leaves. */                          \
    static void pop_##name(const type *key, int32_t *heap, int64_t size) {                     \
        int32_t item = heap[size - 1];                                                         \
        heap[size - 1] = heap[0];                                                              \
        settle_##name(key, heap, 0, size - 1, item);                                           \
    }                                                                                          \
                                                                                               \
    INLINE int all_less_##name(const type *key, type least) {                                  \
        int others = 0;                                                                        \
        for (int64_t i = 0; i < BLOCK; i++) others |= !(key[i] < least);                       \
        return !others;                                                                        \
    }                                                                                          \
                                                                                               \
    /* The few largest numbers of a row, kept in order; 0 if one of it is none. */             \
    INLINE int choose_##name(const type *key, int64_t columns, int64_t count, int32_t *out) {  \
        type best[FEW];                                                                        \
        for (int64_t i = 0, held = 0; i < columns; i++) {                                      \
            if (held == count && i + BLOCK <= columns && !((i - held) % BLOCK))                \
                while (i + BLOCK <= columns && all_less_##name(key + i, best[count - 1]))      \
                    i += BLOCK;                                                                \
            if (i == columns) break;                                                           \
            if (key[i] != key[i]) return 0;                                                    \
            if (held == count && !(key[i] > best[count - 1])) continue;                        \
            int64_t place = held < count ? held++ : count - 1;                                 \
            for (; place && key[i] > best[place - 1]; place--)                                 \
                best[place] = best[place - 1], out[place] = out[place - 1];                    \
            best[place] = key[i], out[place] = (int32_t)i;                                     \
        }                                                                                      \
        return 1;                                                                              \
    }                                                                                          \
                                                                                               \
    FOR_EACH_PROCESSOR static void take_##name(void *data, int64_t part) {                                        \
        const Rows *all = data;                                                                \
        int64_t end = (part + 1) * ROWS < all->rows ? (part + 1) * ROWS : all->rows;           \
        int64_t size = all->count + 1;                                                         \
        for (int64_t row = part * ROWS; row < end; row++) {                                    \
            const type *key = (const type *)all->keys + row * all->columns;                    \
            int32_t *heap = all->out + row * size;                                             \
            if (all->in_order && all->count <= FEW &&                                          \
                choose_##name(key, all->columns, all->count, heap))                            \
                continue;                                                                      \
            for (int64_t i = 0; i < size; i++) heap[i] = (int32_t)i;                           \
            for (int64_t i = (size - 2) / 2; i >= 0; i--)                                      \
                settle_##name(key, heap, i, size, heap[i]);                                    \
            pop_##name(key, heap, size);                                                       \
            type least = key[heap[0]];                                                         \
            for (int64_t i = size; i < all->columns; i++) {                                    \
                if (key[i] < least || !goes_before_##name(key, (int32_t)i, heap[0])) continue; \
                heap[size - 1] = (int32_t)i;                                                   \
                pop_##name(key, heap, size);                                                   \
                least = key[heap[0]];                                                          \
            }                                                                                  \
            for (int64_t left = all->count; all->in_order && left > 1; left--)                 \
                pop_##name(key, heap, left);                                                   \
        }                                                                                      \
    }

HEAPS(integers, int64_t)
HEAPS(doubles, double)
HEAPS(floats, float)

/* Where the largest numbers of rows stand; fewer than there are columns.

   kind: 0 for int64, 1 for double, 2 for float. */
PUBLIC void find_largest(const void *keys, int64_t kind, int64_t rows, int64_t columns,
                         int64_t count, int64_t in_order, int32_t *out, int64_t threads) {
    Rows all = {keys, rows, columns, count, in_order, out};
    Work work = kind == 0 ? take_integers : kind == 1 ? take_doubles : take_floats;
    in_parallel(work, &all, (rows + ROWS - 1) / ROWS, threads);
}
