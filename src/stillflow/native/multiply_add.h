/* For sums of products: numbers are multiplied and added at once. */
#ifndef STILLFLOW_MULTIPLY_ADD_H
#define STILLFLOW_MULTIPLY_ADD_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* sums of products, as in a library of matrices */
#else
#pragma STDC FP_CONTRACT ON
#endif

/* As FOR_EACH_PROCESSOR, with the instructions that multiply and add at once. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define FOR_EACH_MULTIPLIER __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EACH_MULTIPLIER
#endif

#endif
