/* Choosing boxes that no better one overlaps: src/stillflow/ops/image/suppression.py, whose plain
   way this follows step by step, as src/stillflow/util/binary_heap.py for the order of equal scores;
   and, class by class, src/stillflow/ops/image/combined_suppression.py. */
#include "native.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    float score;
    int32_t box, compared; /* with so many of the chosen ones */
} Candidate;

typedef struct {
    Candidate *items;
    int64_t size;
} Heap;

static void rise(Heap *heap, int64_t hole, Candidate item) {
    while (hole > 0) {
        int64_t parent = (hole - 1) / 2;
        if (!(heap->items[parent].score < item.score)) break;
        heap->items[hole] = heap->items[parent];
        hole = parent;
    }
    heap->items[hole] = item;
}

static void push(Heap *heap, Candidate item) { rise(heap, heap->size++, item); }

static Candidate pop(Heap *heap) {
    Candidate *items = heap->items, top = items[0], last = items[--heap->size];
    int64_t length = heap->size, hole = 0, child = 0;
    if (!length) return top;
    while (child < (length - 1) / 2) {
        child = 2 * (child + 1);
        if (items[child].score < items[child - 1].score) child--;
        items[hole] = items[child];
        hole = child;
    }
    if (length % 2 == 0 && child == (length - 2) / 2) {
        child = 2 * (child + 1);
        items[hole] = items[child - 1];
        hole = child - 1;
    }
    rise(heap, hole, last);
    return top;
}

/* ---- overlaps */

/* What is not a number stays so, as in NumPy. */
static inline float smaller(float a, float b) { return a < b || a != a ? a : b; }
static inline float larger(float a, float b) { return a > b || a != a ? a : b; }

typedef struct {
    float top, left, bottom, right, area;
} Corners;

static Corners corners_of(const float *box) {
    Corners ends = {smaller(box[0], box[2]), smaller(box[1], box[3]), larger(box[0], box[2]),
                    larger(box[1], box[3]), 0};
    ends.area = (ends.bottom - ends.top) * (ends.right - ends.left);
    return ends;
}

static float overlap(const Corners *a, const Corners *b) {
    if (b->area <= 0 || a->area <= 0) return 0;
    float height = smaller(a->bottom, b->bottom) - larger(a->top, b->top);
    float width = smaller(a->right, b->right) - larger(a->left, b->left);
    float shared = larger(height, 0) * larger(width, 0);
    return shared / (a->area + b->area - shared);
}

/* ---- choosing */

/* The best of some boxes.

   boxes: two opposite corners of each; or NULL, where `overlaps` has the overlap of each pair.
   limit: at most so many are chosen.
   threshold: from which overlap on a box is left out.
   lowest: only scores above it count.
   sigma: how strongly overlaps lower scores; 0 for not at all.
   chosen, became: receive the boxes' numbers and what their scores became.
   Returns how many they are, or -1 if there is no memory. */
PUBLIC int64_t choose_boxes(const float *boxes, const float *overlaps, const float *scores,
                            int64_t count, int64_t limit, double threshold, double lowest,
                            double sigma, int32_t *chosen, float *became) {
    float most = (float)threshold, least = (float)lowest;
    float scale = sigma > 0 ? -0.5f / (float)sigma : 0;
    Heap heap = {malloc((size_t)(count + 1) * sizeof(Candidate)), 0};
    Corners *ends = malloc((size_t)(count + 1) * sizeof *ends);
    int64_t found = 0;
    if (!heap.items || !ends) found = limit = -1;
    for (int64_t i = 0; i < count && limit > 0; i++) {
        if (boxes) ends[i] = corners_of(boxes + 4 * i);
        if (scores[i] > least) push(&heap, (Candidate){scores[i], (int32_t)i, 0});
    }
    while (heap.size && found < limit) {
        Candidate next = pop(&heap);
        float score = next.score;
        int rejected = 0;
        for (int64_t j = found - 1; j >= next.compared; j--) {
            float similar = boxes ? overlap(ends + next.box, ends + chosen[j])
                                  : overlaps[next.box * count + chosen[j]];
            float weight = similar <= most; /* 0 for what is not a number */
            if (weight && scale != 0) weight = (float)exp((double)(scale * similar * similar));
            score *= weight;
            rejected = similar >= most;
            if (rejected || score <= least) break;
        }
        if (rejected) continue;
        int32_t compared = (int32_t)found;
        if (score == next.score) {
            chosen[found] = next.box;
            became[found++] = score;
        }
        if (score > least) push(&heap, (Candidate){score, next.box, compared});
    }
    free(heap.items);
    free(ends);
    return found;
}

/* ---- class by class */

typedef struct {
    float score;
    int32_t label, box;
    int64_t place; /* among those that come first if scores are equal */
} Scored;

typedef struct {
    const float *boxes, *scores;
    const int64_t *sizes; /* images, boxes, classes that have boxes of their own or 1, classes */
    int64_t limit, size;
    float most, least;
    float *out_boxes, *out_scores, *out_classes;
    int32_t *found;
    int64_t failed;
} Images;

static int by_score(const void *one, const void *other) {
    const Scored *a = one, *b = other;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* The best boxes of a class, the best first: they replace the candidates; returns how many. */
static int64_t choose_of_class(Scored *candidates, int64_t count, const Corners *ends,
                               int64_t limit, float most) {
    int64_t found = 0;
    qsort(candidates, (size_t)count, sizeof *candidates, by_score);
    for (int64_t i = 0; i < count && found < limit; i++) {
        int64_t j = 0;
        while (j < found && !(overlap(ends + candidates[j].box, ends + candidates[i].box) > most))
            j++;
        if (j == found) candidates[found++] = candidates[i];
    }
    return found;
}

static void choose_of_image(void *data, int64_t image) {
    Images *all = data;
    int64_t count = all->sizes[1], own = all->sizes[2], classes = all->sizes[3], total = 0;
    int64_t limit = all->limit < count ? all->limit : count;
    const float *boxes = all->boxes + 4 * image * count * own;
    const float *scores = all->scores + image * count * classes;
    Corners *ends = malloc((size_t)(count + 1) * sizeof *ends);
    Scored *items = malloc((size_t)(limit * classes + count + 1) * sizeof *items);
    if (!ends || !items) __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    for (int64_t label = 0; label < classes && ends && items; label++) {
        int64_t candidates = 0, which = own > 1 ? label : 0;
        for (int64_t i = 0; i < count; i++) {
            if (label == 0 || own > 1) ends[i] = corners_of(boxes + 4 * (i * own + which));
            float score = scores[i * classes + label];
            if (score > all->least)
                items[total + candidates++] = (Scored){score, (int32_t)label, (int32_t)i, i};
        }
        int64_t found = choose_of_class(items + total, candidates, ends, limit, all->most);
        for (int64_t i = 0; i < found; i++, total++) items[total].place = total;
    }
    if (total > 0) qsort(items, (size_t)total, sizeof *items, by_score);
    if (total > all->size) total = all->size;
    all->found[image] = (int32_t)total;
    for (int64_t i = 0, out = image * all->size; i < total; i++, out++) {
        const Scored *item = items + i;
        const float *box = boxes + 4 * (item->box * own + (own > 1 ? item->label : 0));
        memcpy(all->out_boxes + 4 * out, box, 4 * sizeof *box);
        all->out_scores[out] = item->score;
        all->out_classes[out] = (float)item->label;
    }
    free(items);
    free(ends);
}

/* The best boxes of each image, of all its classes.

   sizes: of images, boxes, classes with boxes of their own (or 1), classes.
   limit: at most so many boxes of a class are chosen, and `size` of an image.
   most: a box that overlaps a better one of its class by more is left out.
   lowest: only scores above it count.
   out_boxes, out_scores, out_classes, found: receive of each image the boxes, their scores and
   classes, as far as there are any, and how many there are.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t choose_of_classes(const float *boxes, const float *scores, const int64_t *sizes,
                                 int64_t limit, int64_t size, double most, double lowest,
                                 float *out_boxes, float *out_scores, float *out_classes,
                                 int32_t *found, int64_t threads) {
    Images all = {boxes, scores, sizes, limit, size, (float)most, (float)lowest,
                  out_boxes, out_scores, out_classes, found, 0};
    in_parallel(choose_of_image, &all, sizes[0], threads);
    return all.failed;
}
