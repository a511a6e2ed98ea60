// Products of matrices by cuBLAS, the one that PyTorch has loaded.
#ifndef STILLFLOW_GPU_BLAS_H_
#define STILLFLOW_GPU_BLAS_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "stream.h"

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

namespace stream_executor {
namespace internal {

// The functions of cuBLAS by their names in the library; null where there is none.
SF_LOCAL inline void* OfCublas(const char* name) {
#if defined(_WIN32)
  return nullptr;
#else
  static void* const library = [] {
    for (const char* file : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}) {
      if (void* found = dlopen(file, RTLD_LAZY | RTLD_NOLOAD)) return found;
    }
    for (const char* file : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}) {
      if (void* found = dlopen(file, RTLD_LAZY)) return found;
    }
    return static_cast<void*>(nullptr);
  }();
  return library ? dlsym(library, name) : nullptr;
#endif
}

template <typename T>
struct GemmName;
template <>
struct GemmName<float> {
  static const char* Get() { return "cublasSgemm_v2"; }
};
template <>
struct GemmName<double> {
  static const char* Get() { return "cublasDgemm_v2"; }
};
template <>
struct GemmName<std::complex<float>> {
  static const char* Get() { return "cublasCgemm_v2"; }
};
template <>
struct GemmName<std::complex<double>> {
  static const char* Get() { return "cublasZgemm_v2"; }
};

// A thread's handle for each device.
SF_LOCAL inline void* CublasHandle(int device) {
  static thread_local std::map<int, void*> handles;
  void*& handle = handles[device];
  if (handle == nullptr) {
    auto* make = reinterpret_cast<int (*)(void**)>(OfCublas("cublasCreate_v2"));
    if (make == nullptr || make(&handle) != 0) handle = nullptr;
  }
  return handle;
}

template <typename T>
inline bool Gemm(Stream* stream, int of_a, int of_b, int m, int n, int k, T alpha, const T* a,
                 int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  using Function = int (*)(void*, int, int, int, int, int, const T*, const T*, int, const T*, int,
                           const T*, T*, int);
  auto* function = reinterpret_cast<Function>(OfCublas(GemmName<T>::Get()));
  auto* use = reinterpret_cast<int (*)(void*, void*)>(OfCublas("cublasSetStream_v2"));
  void* handle = CublasHandle(stream->parent()->device_ordinal());
  if (function == nullptr || use == nullptr || handle == nullptr) {
    LOG(ERROR) << "cuBLAS is not loaded";
    return false;
  }
  return use(handle, stream->cuda_stream()) == 0 &&
         function(handle, of_a, of_b, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc) == 0;
}

}  // namespace internal

template <typename Scalar, typename T>
inline Stream& Stream::ThenBlasGemm(blas::Transpose of_a, blas::Transpose of_b, uint64 m,
                                    uint64 n, uint64 k, Scalar alpha, const DeviceMemory<T>& a,
                                    int lda, const DeviceMemory<T>& b, int ldb, Scalar beta,
                                    DeviceMemory<T>* c, int ldc) {
  ok_ = ok_ && internal::Gemm<T>(
                   this, static_cast<int>(of_a), static_cast<int>(of_b), static_cast<int>(m),
                   static_cast<int>(n), static_cast<int>(k), static_cast<T>(alpha),
                   static_cast<const T*>(a.opaque()), lda, static_cast<const T*>(b.opaque()), ldb,
                   static_cast<T>(beta), static_cast<T*>(c->opaque()), ldc);
  return *this;
}

}  // namespace stream_executor

#endif  // STILLFLOW_GPU_BLAS_H_
