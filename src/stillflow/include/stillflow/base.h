// Integer types, limits and macros.
#ifndef STILLFLOW_BASE_H_
#define STILLFLOW_BASE_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(__GNUC__)
// Each library keeps its own registries, whatever other libraries are in the process.
#define SF_LOCAL __attribute__((visibility("hidden")))
#define SF_VISIBLE __attribute__((visibility("default"), used))
#define SF_UNLIKELY(x) (__builtin_expect(false || (x), false))
#define SF_LIKELY(x) (__builtin_expect(false || (x), true))
#define TF_ATTRIBUTE_NORETURN __attribute__((noreturn))
#define TF_ATTRIBUTE_ALWAYS_INLINE __attribute__((always_inline))
#define TF_ATTRIBUTE_NOINLINE __attribute__((noinline))
#define TF_ATTRIBUTE_UNUSED __attribute__((unused))
#define TF_ATTRIBUTE_COLD __attribute__((cold))
#define TF_ATTRIBUTE_WEAK __attribute__((weak))
#define TF_PACKED __attribute__((packed))
#define SF_RARE __attribute__((cold, noinline))  // not worth the time of being optimised
#define TF_MUST_USE_RESULT __attribute__((warn_unused_result))
#define TF_PRINTF_ATTRIBUTE(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define SF_LOCAL
#define SF_VISIBLE __declspec(dllexport)
#define SF_UNLIKELY(x) (x)
#define SF_LIKELY(x) (x)
#define TF_ATTRIBUTE_NORETURN
#define TF_ATTRIBUTE_ALWAYS_INLINE
#define TF_ATTRIBUTE_NOINLINE
#define TF_ATTRIBUTE_UNUSED
#define TF_ATTRIBUTE_COLD
#define TF_ATTRIBUTE_WEAK
#define TF_PACKED
#define SF_RARE
#define TF_MUST_USE_RESULT
#define TF_PRINTF_ATTRIBUTE(format, first)
#endif

#define TF_PREDICT_FALSE(x) SF_UNLIKELY(x)
#define TF_PREDICT_TRUE(x) SF_LIKELY(x)
#define TF_EXPORT
#define TF_FALLTHROUGH_INTENDED \
  do {                          \
  } while (0)
#define TF_DISALLOW_COPY_AND_ASSIGN(Type) \
  Type(const Type&) = delete;             \
  void operator=(const Type&) = delete
#define TF_ARRAYSIZE(a) (sizeof(a) / sizeof(*(a)))
#define SF_JOIN2(a, b) a##b
#define SF_JOIN(a, b) SF_JOIN2(a, b)
#define SF_UNIQUE(prefix) SF_JOIN(prefix, __COUNTER__)

#define TF_MAJOR_VERSION 1
#define TF_MINOR_VERSION 15
#define TF_PATCH_VERSION 5
#define TF_VERSION_SUFFIX ""
#define TF_VERSION_STRING "1.15.5"

// Annotations for Clang's analysis of locks; nothing here depends on them.
#define GUARDED_BY(x)
#define PT_GUARDED_BY(x)
#define LOCKABLE
#define SCOPED_LOCKABLE
#define ACQUIRED_AFTER(...)
#define ACQUIRED_BEFORE(...)
#define EXCLUSIVE_LOCKS_REQUIRED(...)
#define SHARED_LOCKS_REQUIRED(...)
#define LOCKS_EXCLUDED(...)
#define LOCK_RETURNED(x)
#define EXCLUSIVE_LOCK_FUNCTION(...)
#define SHARED_LOCK_FUNCTION(...)
#define EXCLUSIVE_TRYLOCK_FUNCTION(...)
#define UNLOCK_FUNCTION(...)
#define NO_THREAD_SAFETY_ANALYSIS
#define TF_GUARDED_BY(x)
#define TF_PT_GUARDED_BY(x)
#define TF_EXCLUSIVE_LOCKS_REQUIRED(...)
#define TF_SHARED_LOCKS_REQUIRED(...)
#define TF_LOCKS_EXCLUDED(...)
#define TF_NO_THREAD_SAFETY_ANALYSIS

namespace tensorflow {

using int8 = signed char;
using int16 = short;
using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;
using std::string;
using tstring = std::string;
using Fprint = uint64;

static const uint8 kuint8max = 0xFF;
static const uint16 kuint16max = 0xFFFF;
static const uint32 kuint32max = 0xFFFFFFFFu;
static const uint64 kuint64max = ~0ull;
static const int8 kint8min = -128;
static const int8 kint8max = 127;
static const int16 kint16min = -32768;
static const int16 kint16max = 32767;
static const int32 kint32min = std::numeric_limits<int32>::min();
static const int32 kint32max = std::numeric_limits<int32>::max();
static const int64 kint64min = std::numeric_limits<int64>::min();
static const int64 kint64max = std::numeric_limits<int64>::max();

namespace port {
static const bool kLittleEndian = true;

inline void* AlignedMalloc(size_t size, int alignment) {
#ifdef _WIN32
  return _aligned_malloc(size, alignment);
#else
  void* memory = nullptr;
  return posix_memalign(&memory, alignment < 8 ? 8 : alignment, size) ? nullptr : memory;
#endif
}

inline void AlignedFree(void* memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  free(memory);
#endif
}

enum PrefetchHint { PREFETCH_HINT_T0 = 3, PREFETCH_HINT_NTA = 0 };
template <PrefetchHint hint>
inline void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address, 0, hint);
#endif
}
}  // namespace port

template <typename Target, typename Source>
inline Target bit_cast(const Source& source) {
  static_assert(sizeof(Target) == sizeof(Source), "bit_cast between types of unlike sizes");
  Target target;
  memcpy(&target, &source, sizeof(target));
  return target;
}

template <typename To, typename From>
inline To down_cast(From* from) {
  return static_cast<To>(from);
}

template <typename T>
inline T MultiplyWithoutOverflow(T x, T y) {
  if (x < 0 || y < 0) return -1;
  if (x != 0 && y > std::numeric_limits<T>::max() / x) return -1;
  return x * y;
}

}  // namespace tensorflow

#endif  // STILLFLOW_BASE_H_
