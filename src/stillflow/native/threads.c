/* Work shared among the threads of the OpenMP runtime that torch has loaded.

   A pool of our own would fight with torch's, whose threads keep spinning for work for a while.
   GOMP_parallel(function, data, threads, flags) calls the function once on each thread. */
#include "native.h"

#include <stddef.h>
#ifdef __linux__
#include <sched.h>
#endif

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

/* ---- Steps, each of which needs what all threads did in the one before */

enum {
    PATIENCE = 300,  /* looks at the others before a thread does what they have not begun */
    SPINS = 3000     /* and before it lets other threads of the system run */
};

typedef struct {
    int64_t value;
    char rest[120]; /* no other value in the cache line, or in the one that is fetched with it */
} Counter;

typedef struct {
    StepWork work;
    void *data;
    int64_t steps, slots;
    Counter arrived;           /* threads */
    Counter done;              /* slots of all steps */
    Counter begun[MOST_SLOTS]; /* steps of a slot */
} March;

static inline int64_t seen(const Counter *counter) {
    return __atomic_load_n(&counter->value, __ATOMIC_ACQUIRE);
}

static void take_slot(March *team, int64_t step, int64_t slot) {
    int64_t expected = step;
    if (seen(&team->begun[slot]) != step ||
        !__atomic_compare_exchange_n(&team->begun[slot].value, &expected, step + 1, 0,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    team->work(team->data, step, slot);
    __atomic_fetch_add(&team->done.value, 1, __ATOMIC_ACQ_REL);
}

/* A thread has the same slot in every step, whose data stay in its cache. It spins until the others
   are done. A slot whose thread does not run at the moment, or never came, is taken by another. */
static void march(void *argument) {
    March *team = argument;
    int64_t own = __atomic_fetch_add(&team->arrived.value, 1, __ATOMIC_ACQ_REL);
    for (int64_t step = 0; step < team->steps; step++) {
        take_slot(team, step, own);
        for (int64_t turn = 0; seen(&team->done) < (step + 1) * team->slots; turn++) {
            if (turn >= PATIENCE || seen(&team->arrived) < team->slots)
                for (int64_t slot = 0; slot < team->slots; slot++) take_slot(team, step, slot);
#if defined(__x86_64__) && defined(__GNUC__)
            __builtin_ia32_pause();
#endif
#ifdef __linux__
            if (turn >= SPINS) sched_yield();
#endif
        }
    }
}

void in_steps(StepWork work, void *data, int64_t steps, int64_t slots) {
    if (parallel == NULL || slots < 2) {
        for (int64_t step = 0; step < steps; step++)
            for (int64_t slot = 0; slot < slots; slot++) work(data, step, slot);
        return;
    }
    March team = {.work = work, .data = data, .steps = steps, .slots = slots};
    parallel(march, &team, (unsigned)slots, 0);
}

/* Of which sources this is, so that a library left over from older ones is not called. */
PUBLIC const uint32_t fingerprint = FINGERPRINT;
