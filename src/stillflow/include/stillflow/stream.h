// StreamExecutor's names: a stream of CUDA, memory of its device, products of matrices.
#ifndef STILLFLOW_STREAM_H_
#define STILLFLOW_STREAM_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "containers.h"
#include "status.h"

#if GOOGLE_CUDA
#include <cuda_runtime.h>
#endif

struct CUstream_st;

namespace stream_executor {

using tensorflow::int64;
using tensorflow::uint32;
using tensorflow::uint64;
using tensorflow::uint8;

namespace port {
using Status = tensorflow::Status;

// A value, or the error that there is none.
template <typename T>
class StatusOr {
 public:
  StatusOr() : status_(tensorflow::errors::Unknown("no value")) {}
  StatusOr(const Status& status) : status_(status) {}         // NOLINT
  StatusOr(T value) : value_(std::move(value)) {}             // NOLINT
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  T& ValueOrDie() & {
    TF_CHECK_OK(status_);
    return value_;
  }
  T ValueOrDie() && {
    TF_CHECK_OK(status_);
    return std::move(value_);
  }
  T ConsumeValueOrDie() { return std::move(ValueOrDie()); }

 private:
  Status status_;
  T value_{};
};
}  // namespace port

class DeviceMemoryBase {
 public:
  explicit DeviceMemoryBase(void* address = nullptr, uint64 bytes = 0)
      : address_(address), bytes_(bytes) {}
  void* opaque() { return address_; }
  const void* opaque() const { return address_; }
  uint64 size() const { return bytes_; }
  bool is_null() const { return address_ == nullptr; }

 private:
  void* address_;
  uint64 bytes_;
};

template <typename T>
class DeviceMemory : public DeviceMemoryBase {
 public:
  DeviceMemory() {}
  explicit DeviceMemory(std::nullptr_t) {}
  explicit DeviceMemory(const DeviceMemoryBase& other) : DeviceMemoryBase(other) {}
  static DeviceMemory MakeFromByteSize(void* address, uint64 bytes) {
    return DeviceMemory(DeviceMemoryBase(address, bytes));
  }
  uint64 ElementCount() const { return size() / sizeof(T); }
};

namespace blas {
enum class Transpose { kNoTranspose = 0, kTranspose = 1, kConjugateTranspose = 2 };
enum class Side { kLeft, kRight };
enum class UpperLower { kUpper, kLower };
enum class Diagonal { kUnit, kNonUnit };
}  // namespace blas

class Stream;

class ScratchAllocator {
 public:
  virtual ~ScratchAllocator() {}
  virtual int64 GetMemoryLimitInBytes(Stream* stream) = 0;
  virtual port::StatusOr<DeviceMemory<uint8>> AllocateBytes(Stream* stream, int64 bytes) = 0;
};

class StreamExecutor {
 public:
  explicit StreamExecutor(int64 device) : device_(device) {}
  int device_ordinal() const { return static_cast<int>(device_); }
#if GOOGLE_CUDA
  bool SynchronizeAllActivity() { return cudaDeviceSynchronize() == cudaSuccess; }
#endif

 private:
  int64 device_;
};

// A stream of CUDA. What is asked of it is started, and its errors are in `ok`.
class Stream {
 public:
  Stream(int64 device, int64 address)
      : executor_(device), stream_(reinterpret_cast<CUstream_st*>(address)) {}
  bool ok() const { return ok_; }
  StreamExecutor* parent() { return &executor_; }
  // The stream of CUDA itself, by the names that it has had.
  Stream* implementation() { return this; }
  CUstream_st* cuda_stream() const { return stream_; }
  void* CudaStreamHack() { return stream_; }
  void** CudaStreamMemberHack() { return reinterpret_cast<void**>(&stream_); }
  void* GpuStreamHack() { return stream_; }
  void** GpuStreamMemberHack() { return reinterpret_cast<void**>(&stream_); }

#if GOOGLE_CUDA
  Stream& ThenMemcpy(void* to, const DeviceMemoryBase& from, uint64 bytes) {
    return Note(cudaMemcpyAsync(to, from.opaque(), bytes, cudaMemcpyDeviceToHost, stream_));
  }
  Stream& ThenMemcpy(DeviceMemoryBase* to, const void* from, uint64 bytes) {
    return Note(cudaMemcpyAsync(to->opaque(), from, bytes, cudaMemcpyHostToDevice, stream_));
  }
  Stream& ThenMemcpy(DeviceMemoryBase* to, const DeviceMemoryBase& from, uint64 bytes) {
    return Note(
        cudaMemcpyAsync(to->opaque(), from.opaque(), bytes, cudaMemcpyDeviceToDevice, stream_));
  }
  Stream& ThenMemZero(DeviceMemoryBase* to, uint64 bytes) {
    return Note(cudaMemsetAsync(to->opaque(), 0, bytes, stream_));
  }
  port::Status BlockHostUntilDone() {
    Note(cudaStreamSynchronize(stream_));
    if (ok_) return port::Status::OK();
    return tensorflow::errors::Internal("the stream has failed");
  }

  // c = alpha * a * b + beta * c, columns first.
  template <typename Scalar, typename T>
  Stream& ThenBlasGemm(blas::Transpose of_a, blas::Transpose of_b, uint64 m, uint64 n, uint64 k,
                       Scalar alpha, const DeviceMemory<T>& a, int lda,
                       const DeviceMemory<T>& b, int ldb, Scalar beta, DeviceMemory<T>* c,
                       int ldc);
  template <typename Scalar, typename T>
  Stream& ThenBlasGemmBatchedWithScratch(
      blas::Transpose of_a, blas::Transpose of_b, uint64 m, uint64 n, uint64 k, Scalar alpha,
      tensorflow::gtl::ArraySlice<DeviceMemory<T>*> a, int lda,
      tensorflow::gtl::ArraySlice<DeviceMemory<T>*> b, int ldb, Scalar beta,
      tensorflow::gtl::ArraySlice<DeviceMemory<T>*> c, int ldc, int count, ScratchAllocator*) {
    for (int at = 0; at < count; ++at)
      ThenBlasGemm(of_a, of_b, m, n, k, alpha, *a[at], lda, *b[at], ldb, beta, c[at], ldc);
    return *this;
  }
  template <typename Scalar, typename T>
  Stream& ThenBlasGemmBatched(blas::Transpose of_a, blas::Transpose of_b, uint64 m, uint64 n,
                              uint64 k, Scalar alpha,
                              tensorflow::gtl::ArraySlice<DeviceMemory<T>*> a, int lda,
                              tensorflow::gtl::ArraySlice<DeviceMemory<T>*> b, int ldb,
                              Scalar beta, tensorflow::gtl::ArraySlice<DeviceMemory<T>*> c,
                              int ldc, int count) {
    return ThenBlasGemmBatchedWithScratch(of_a, of_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                          ldc, count, nullptr);
  }
  template <typename Scalar, typename T>
  Stream& ThenBlasGemv(blas::Transpose of_a, uint64 m, uint64 n, Scalar alpha,
                       const DeviceMemory<T>& a, int lda, const DeviceMemory<T>& x, int,
                       Scalar beta, DeviceMemory<T>* y, int) {
    const bool is_plain = of_a == blas::Transpose::kNoTranspose;
    const uint64 rows = is_plain ? m : n, columns = is_plain ? n : m;
    return ThenBlasGemm(of_a, blas::Transpose::kNoTranspose, rows, uint64{1}, columns, alpha, a,
                        lda, x, static_cast<int>(columns), beta, y, static_cast<int>(rows));
  }

 private:
  Stream& Note(cudaError_t error) {
    ok_ = ok_ && error == cudaSuccess;
    return *this;
  }
#endif

 private:
  StreamExecutor executor_;
  CUstream_st* stream_;
  bool ok_ = true;
};

namespace cuda {
using CUDAStream = Stream;
inline CUstream_st* AsCUDAStreamValue(Stream* stream) { return stream->cuda_stream(); }
// The device of a kernel is the current one while it runs.
class ScopedActivateExecutorContext {
 public:
  explicit ScopedActivateExecutorContext(StreamExecutor*) {}
};
}  // namespace cuda
namespace gpu {
using GpuStream = Stream;
inline CUstream_st* AsGpuStreamValue(Stream* stream) { return stream->cuda_stream(); }
using cuda::ScopedActivateExecutorContext;
}  // namespace gpu

}  // namespace stream_executor

namespace perftools {
namespace gputools = ::stream_executor;
}  // namespace perftools

namespace tensorflow {
namespace se = ::stream_executor;
}  // namespace tensorflow

#if GOOGLE_CUDA
#include "gpu_blas.h"
#endif

#endif  // STILLFLOW_STREAM_H_
