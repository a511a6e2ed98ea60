/* Choosing boxes that no better one overlaps: src/stillflow/ops/image/suppression.py, whose plain
   way this follows step by step, as src/stillflow/util/binary_heap.py for the order of equal scores. */
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
