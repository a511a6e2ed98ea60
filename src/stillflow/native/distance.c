/* How far sequences are apart: src/stillflow/ops/arrays/edit_distance.py. */
#include "native.h"

#include <math.h>
#include <stdlib.h>

/* Sequences of items, one after the other. */
typedef struct {
    const int64_t *items, *ends; /* where the first one begins, and where each ends */
    const int64_t *places;       /* where each stands */
    int64_t count;
} Sequences;

typedef struct {
    int64_t truth, guess; /* their numbers, -1 for none */
    int64_t changes;
} Pair;

typedef struct {
    Sequences truths, guesses;
    Pair *pairs;
} Pairs;

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The least number of insertions, deletions and replacements; -1 without memory. */
static int64_t distance(const int64_t *one, int64_t length, const int64_t *other, int64_t width) {
    int64_t *row = malloc((size_t)(width + 1) * sizeof *row);
    if (!row) return -1;
    for (int64_t j = 0; j <= width; j++) row[j] = j;
    for (int64_t i = 0; i < length; i++) {
        int64_t diagonal = row[0];
        row[0] = i + 1;
        for (int64_t j = 1; j <= width; j++) {
            int64_t change = 1 + least(diagonal, least(row[j], row[j - 1]));
            int64_t best = one[i] == other[j - 1] ? diagonal : change;
            diagonal = row[j];
            row[j] = best;
        }
    }
    int64_t result = row[width];
    free(row);
    return result;
}

/* Pairs those that stand in one place, in the order of the places; as TF goes through both just
   once, of those out of order only some meet. Returns how many pairs there are. */
static int64_t find_pairs(Pairs *all) {
    const Sequences *truths = &all->truths, *guesses = &all->guesses;
    int64_t count = 0, i = 0, j = 0;
    for (; i < truths->count || j < guesses->count; count++) {
        int has_truth = i < truths->count, has_guess = j < guesses->count;
        if (has_truth && has_guess && truths->places[i] != guesses->places[j]) {
            has_truth = truths->places[i] < guesses->places[j];
            has_guess = !has_truth;
        }
        all->pairs[count] = (Pair){has_truth ? i++ : -1, has_guess ? j++ : -1, 0};
    }
    return count;
}

static int64_t size_of(const Sequences *all, int64_t number) {
    return number < 0 ? 0 : all->ends[number + 1] - all->ends[number];
}

static void take_pair(void *data, int64_t number) {
    Pairs *all = data;
    Pair *pair = all->pairs + number;
    int64_t size = size_of(&all->truths, pair->truth);
    int64_t other_size = size_of(&all->guesses, pair->guess);
    if (!size || !other_size)
        pair->changes = size + other_size;
    else
        pair->changes = distance(all->truths.items + all->truths.ends[pair->truth], size,
                                 all->guesses.items + all->guesses.ends[pair->guess], other_size);
}

/* The distances of guesses from truths, or for each element of the truth, in their places.

   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t edit_distances(const int64_t *truths, const int64_t *truth_ends,
                              const int64_t *truth_places, int64_t truth_count,
                              const int64_t *guesses, const int64_t *guess_ends,
                              const int64_t *guess_places, int64_t guess_count,
                              int64_t normalize, float *out, int64_t threads) {
    Pairs all = {{truths, truth_ends, truth_places, truth_count},
                 {guesses, guess_ends, guess_places, guess_count}, NULL};
    all.pairs = malloc((size_t)(truth_count + guess_count + 1) * sizeof *all.pairs);
    if (!all.pairs) return 1;
    int64_t failed = 0, count = find_pairs(&all);
    in_parallel(take_pair, &all, count, threads);
    for (int64_t i = 0; i < count; i++) {
        const Pair *pair = all.pairs + i;
        int64_t size = size_of(&all.truths, pair->truth);
        int64_t place = size ? truth_places[pair->truth] : guess_places[pair->guess];
        double value = (double)pair->changes;
        failed |= pair->changes < 0;
        if (normalize) value = size ? value / (double)size : INFINITY;
        out[place] = (float)value;
    }
    free(all.pairs);
    return failed;
}
