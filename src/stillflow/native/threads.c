/* Work shared among the threads of the OpenMP runtime that torch has loaded.

   A pool of our own would fight with torch's, whose threads keep spinning for work for a while.
   GOMP_parallel(function, data, threads, flags) calls the function once on each thread. */
#include "native.h"

#include <stddef.h>

typedef void (*Parallel)(void (*function)(void *), void *data, unsigned threads, unsigned flags);
static Parallel parallel = NULL;

typedef struct {
    Work work;
    void *data;
    int64_t chunks;
    int64_t next; /* the first chunk that nobody has taken yet */
} Team;

PUBLIC void use_threads_of(void *function) { parallel = (Parallel)function; }

static void take_chunks(void *argument) {
    Team *team = argument;
    for (;;) {
        int64_t chunk = __atomic_fetch_add(&team->next, 1, __ATOMIC_RELAXED);
        if (chunk >= team->chunks) return;
        team->work(team->data, chunk);
    }
}

void in_parallel(Work work, void *data, int64_t chunks, int64_t threads) {
    Team team = {work, data, chunks, 0};
    if (parallel != NULL && threads > 1 && chunks > 1)
        parallel(take_chunks, &team, (unsigned)(threads < chunks ? threads : chunks), 0);
    else
        take_chunks(&team);
}

/* Of which sources this is, so that a library left over from older ones is not called. */
PUBLIC const uint32_t fingerprint = FINGERPRINT;
