/* Summaries of the quantiles of weighted numbers: src/stillflow/ops/boosted_trees/quantiles.py.

   All in float32 and in that module's order: its results are the same to the bit. */
#include "native.h"

#include <stdlib.h>

typedef struct {
    float value, weight, low, high; /* the ranks are of all weight before it, and behind it */
} Entry;

typedef struct {
    Entry *entries;
    int64_t count, room;
} Summary;

enum { LEVELS = 64 };

typedef struct {
    Summary levels[LEVELS], rising, merged;
    uint64_t *keys, *others;
    int64_t used, size;
    double error;
} Stream;

static int reserve(Summary *summary, int64_t room) {
    if (room <= summary->room) return 1;
    Entry *entries = realloc(summary->entries, (size_t)room * sizeof *entries);
    if (entries == NULL) return 0;
    summary->entries = entries, summary->room = room;
    return 1;
}

static inline float before(const Entry *entry) { return entry->high - entry->weight; }
static inline float after(const Entry *entry) { return entry->low + entry->weight; }

/* A number's place in the order of all, and behind it the number's own place: equal ones keep it. */
static inline uint64_t key_of(float value, int64_t place) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bits == 0x80000000u) bits = 0;
    bits ^= bits >> 31 ? 0xFFFFFFFFu : 0x80000000u;
    return (uint64_t)bits << 32 | (uint64_t)place;
}

/* Keys in order, found by their bytes; returns which of the two arrays has them. */
static uint64_t *sorted(uint64_t *keys, uint64_t *others, int64_t count) {
    int64_t starts[4][256] = {{0}};
    for (int64_t i = 0; i < count; i++)
        for (int digit = 0; digit < 4; digit++) starts[digit][keys[i] >> (32 + 8 * digit) & 255]++;
    for (int digit = 0; digit < 4; digit++) {
        int64_t *start = starts[digit], total = 0;
        int shift = 32 + 8 * digit;
        if (count == 0 || start[keys[0] >> shift & 255] == count) continue;
        for (int i = 0; i < 256; i++) {
            int64_t number = start[i];
            start[i] = total, total += number;
        }
        for (int64_t i = 0; i < count; i++) others[start[keys[i] >> shift & 255]++] = keys[i];
        uint64_t *swapped = keys;
        keys = others, others = swapped;
    }
    return keys;
}

/* The summary of some numbers, none of which is left out. */
static void take_all(Summary *out, const uint64_t *keys, int64_t count, const float *values,
                     const float *weights) {
    out->count = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t place = (int64_t)(keys[i] & 0xFFFFFFFFu);
        Entry *next = out->entries + out->count;
        if (out->count && next[-1].value == values[place]) {
            next[-1].weight += weights[place];
            continue;
        }
        next->value = values[place], next->weight = weights[place];
        out->count++;
    }
    float total = 0;
    for (int64_t i = 0; i < out->count; i++) {
        out->entries[i].low = total;
        total += out->entries[i].weight;
        out->entries[i].high = total;
    }
}

/* An entry with its ranks among those of another summary too; `place` is where it would be there. */
static inline Entry among(Entry entry, const Summary *other, int64_t place, int equal) {
    const Entry *there = other->entries + place;
    if (equal) {
        entry.weight += there->weight, entry.low += there->low, entry.high += there->high;
        return entry;
    }
    entry.low += place > 0 ? after(there - 1) : 0.0f;
    entry.high += place < other->count ? before(there) : other->entries[other->count - 1].high;
    return entry;
}

static int merge(Stream *stream, const Summary *other) {
    Summary *mine = &stream->rising, *out = &stream->merged;
    if (!other->count) return 1;
    if (!reserve(out, mine->count + other->count)) return 0;
    int64_t i = 0, j = 0;
    out->count = 0;
    while (i < mine->count || j < other->count) {
        int ended = i == mine->count, behind = j == other->count;
        float a = ended ? 0 : mine->entries[i].value, b = behind ? 0 : other->entries[j].value;
        Entry *made = out->entries + out->count++;
        if (!ended && (behind || a <= b)) {
            int equal = !behind && a == b;
            *made = among(mine->entries[i], other, j, equal);
            i++, j += equal;
        } else {
            *made = among(other->entries[j], mine, i, 0);
            j++;
        }
    }
    Summary swapped = *mine;
    *mine = *out, *out = swapped;
    return 1;
}

static void compress(Summary *summary, int64_t size, double least_error) {
    int64_t count = summary->count, kept = 1, budget = 0, at = 0, last = 1;
    Entry *entries = summary->entries;
    if (size < 2) size = 2;
    if (count <= size) return;
    double share = 1.0 / (double)size;
    double loss = (double)entries[count - 1].high * (share > least_error ? share : least_error);
    Entry end = entries[count - 1];
    while (at + 1 < count) {
        int64_t following = at + 1;
        float reached = after(entries + at);
        while (following < count && budget < count &&
               (double)(before(entries + following) - reached) <= loss)
            budget += size, following++;
        at = following - 1 == at ? at + 1 : following - 1;
        entries[kept++] = entries[at];
        last = at;
        budget -= count;
    }
    if (last + 1 != count) entries[kept++] = end;
    summary->count = kept;
}

/* Adds the numbers in `rising` to the levels. */
static int push(Stream *stream) {
    Summary *rising = &stream->rising;
    compress(rising, stream->size, stream->error);
    for (int64_t at = 0; rising->count; at++) {
        if (at == LEVELS) return 0;
        if (at == stream->used) stream->used++;
        Summary *level = stream->levels + at;
        int was_empty = !level->count;
        if (!merge(stream, level)) return 0;
        if (was_empty || rising->count <= stream->size + 1) {
            if (!reserve(level, rising->count)) return 0;
            memcpy(level->entries, rising->entries, (size_t)rising->count * sizeof(Entry));
            level->count = rising->count;
            return 1;
        }
        level->count = 0;
        compress(rising, stream->size, stream->error);
    }
    return 1;
}

static int push_all(Stream *stream, const float *values, const float *weights, int64_t count,
                    int64_t buffer) {
    int64_t at = 0;
    while (at < count) {
        int64_t taken = 0;
        const float *some = values + at, *theirs = weights + at;
        for (int64_t first = at; at < count && taken < buffer; at++) {
            if (values[at] != values[at]) return 0;
            if (weights[at] > 0) stream->keys[taken++] = key_of(values[at], at - first);
            if (at - first == UINT32_MAX) return 0;
        }
        take_all(&stream->rising, sorted(stream->keys, stream->others, taken), taken, some, theirs);
        if (!push(stream)) return 0;
    }
    return 1;
}

/* Adds numbers to a stream without any; returns how many levels it has then, each of `counts`
   entries in `out`, or 0: for what is not a number, and without memory, there is no summary.

   buffer, size: how many numbers are taken at a time, and how many a level has. */
PUBLIC int64_t summarize_values(const float *values, const float *weights, int64_t count,
                                int64_t buffer, int64_t size, double error, Entry *out,
                                int64_t *counts) {
    Stream stream = {.size = size, .error = error};
    int64_t taken = buffer < count ? buffer : count, levels = 0;
    stream.keys = malloc((size_t)taken * sizeof *stream.keys);
    stream.others = malloc((size_t)taken * sizeof *stream.others);
    if (stream.keys && stream.others && reserve(&stream.rising, taken) &&
        push_all(&stream, values, weights, count, buffer))
        for (levels = 0; levels < stream.used; levels++) {
            counts[levels] = stream.levels[levels].count;
            memcpy(out, stream.levels[levels].entries, (size_t)counts[levels] * sizeof *out);
            out += counts[levels];
        }
    for (int64_t i = 0; i < LEVELS; i++) free(stream.levels[i].entries);
    free(stream.rising.entries), free(stream.merged.entries);
    free(stream.keys), free(stream.others);
    return levels;
}
