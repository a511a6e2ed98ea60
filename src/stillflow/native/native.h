/* What the loops share. Plain C without a library, so that one file of code serves every Python. */
#ifndef STILLFLOW_NATIVE_H
#define STILLFLOW_NATIVE_H

#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

/* One body, compiled for several processors; the loader takes the best that this one can run. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

/* Runs work(data, chunk) for every chunk below `chunks`, on as many threads as were asked for. */
typedef void (*Work)(void *data, int64_t chunk);
void in_parallel(Work work, void *data, int64_t chunks, int64_t threads);

#endif
