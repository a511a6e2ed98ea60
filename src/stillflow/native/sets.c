/* Sets of integers side by side: src/stillflow/ops/sparse/sets.py. */
#include "native.h"

#include <stdlib.h>

enum { A_WITHOUT_B, B_WITHOUT_A, BOTH, ANY, FEW = 16 };

typedef struct {
    int64_t *items, *slots; /* `slots` by hash: the number of an item, or -1 */
    int64_t room, count;
} Set;

static inline uint64_t hash_of(int64_t item) {
    return ((uint64_t)item * 0x9E3779B97F4A7C15u) >> 20;
}

/* Makes room for `size` items, and empties the set; returns whether there is memory. */
static int begin_set(Set *set, int64_t size) {
    int64_t room = 2 * FEW;
    while (room < 2 * size) room *= 2;
    set->count = 0;
    if (room > set->room) {
        free(set->items), free(set->slots);
        set->items = malloc((size_t)room * sizeof(int64_t));
        set->slots = malloc((size_t)room * sizeof(int64_t));
        if (!set->items || !set->slots) return 0;
        set->room = room;
        memset(set->slots, -1, (size_t)room * sizeof(int64_t));
    }
    return 1;
}

static inline int64_t *slot_of(const Set *set, int64_t item) {
    uint64_t place = hash_of(item);
    for (;; place++) {
        int64_t *slot = set->slots + (place & (uint64_t)(set->room - 1));
        if (*slot < 0 || set->items[*slot] == item) return slot;
    }
}

static void add_items(Set *set, const int64_t *items, int64_t size) {
    for (int64_t i = 0; i < size; i++) {
        int64_t *slot = slot_of(set, items[i]);
        if (*slot >= 0) continue;
        *slot = set->count;
        set->items[set->count++] = items[i];
    }
}

static void clear_slots(Set *set) {
    if (set->count > set->room / 16) {
        memset(set->slots, -1, (size_t)set->room * sizeof(int64_t));
        return;
    }
    for (int64_t i = set->count; i-- > 0;) *slot_of(set, set->items[i]) = -1;
}

static int ascending(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return a < b ? -1 : a > b;
}

static void sort_items(int64_t *items, int64_t count) {
    if (count > FEW) {
        qsort(items, (size_t)count, sizeof *items, ascending);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        int64_t item = items[i], hole = i;
        for (; hole > 0 && items[hole - 1] > item; hole--) items[hole] = items[hole - 1];
        items[hole] = item;
    }
}

/* Writes the items of one set that are in another (or not); returns how many. */
static int64_t take_items(const Set *set, const Set *other, int are_in, int64_t *out) {
    int64_t count = 0;
    for (int64_t i = 0; i < set->count; i++)
        if ((*slot_of(other, set->items[i]) >= 0) == are_in) out[count++] = set->items[i];
    return count;
}

static int64_t combine(int64_t how, const Set *a, const Set *b, int64_t *out) {
    int64_t count = 0;
    if (how == ANY) {
        count = a->count;
        memcpy(out, a->items, (size_t)count * sizeof *out);
    }
    if (how == A_WITHOUT_B || how == BOTH)
        count = take_items(a, b, how == BOTH, out);
    else
        count += take_items(b, a, 0, out + count);
    sort_items(out, count);
    return count;
}

static inline int64_t run_of(const int64_t *places, int64_t size, int64_t at, int64_t place) {
    int64_t end = at;
    while (end < size && places[end] == place) end++;
    return end;
}

/* The differences, intersections or unions of sets with one place.

   a_places, b_places: the place of each of the items, ascending; these may be there repeatedly.
   places, items: receive the elements of the results and their places, in ascending order.
   Returns how many they are, or -1 if there is no memory. */
PUBLIC int64_t combine_sets(int64_t how, const int64_t *a_places, const int64_t *a_items,
                            int64_t a_size, const int64_t *b_places, const int64_t *b_items,
                            int64_t b_size, int64_t *places, int64_t *items) {
    Set a = {0}, b = {0};
    int64_t found = 0, i = 0, j = 0;
    while (i < a_size || j < b_size) {
        int64_t place = i < a_size ? a_places[i] : b_places[j];
        if (j < b_size && b_places[j] < place) place = b_places[j];
        int64_t a_end = run_of(a_places, a_size, i, place);
        int64_t b_end = run_of(b_places, b_size, j, place);
        if (!begin_set(&a, a_end - i) || !begin_set(&b, b_end - j)) {
            found = -1;
            break;
        }
        add_items(&a, a_items + i, a_end - i);
        add_items(&b, b_items + j, b_end - j);
        int64_t count = combine(how, &a, &b, items + found);
        for (int64_t k = 0; k < count; k++) places[found++] = place;
        clear_slots(&a), clear_slots(&b);
        i = a_end, j = b_end;
    }
    free(a.items), free(a.slots), free(b.items), free(b.slots);
    return found;
}
