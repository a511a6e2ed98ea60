// CUDA: sizes of launches, loops over elements, atomic operations, shuffles within a warp.
#ifndef STILLFLOW_GPU_H_
#define STILLFLOW_GPU_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "context.h"

#if GOOGLE_CUDA
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <tuple>

typedef cudaStream_t gpuStream_t;
typedef cudaEvent_t gpuEvent_t;
typedef cudaError_t gpuError_t;
#define gpuSuccess cudaSuccess
#define gpuGetLastError cudaGetLastError
#define gpuGetErrorString cudaGetErrorString
#define gpuEventCreate cudaEventCreate
#define gpuEventRecord cudaEventRecord
#define gpuEventSynchronize cudaEventSynchronize
#define gpuEventDestroy cudaEventDestroy
#define gpuEventCreateWithFlags cudaEventCreateWithFlags
#define gpuEventDisableTiming cudaEventDisableTiming
#define gpuDeviceSynchronize cudaDeviceSynchronize
#define gpuMemcpy cudaMemcpy
#define gpuMemcpyAsync cudaMemcpyAsync
#define gpuMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define gpuMemcpyHostToDevice cudaMemcpyHostToDevice
#define gpuMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define gpuMemset cudaMemset
#define gpuMemsetAsync cudaMemsetAsync
#define gpuMalloc cudaMalloc
#define gpuFree cudaFree
#define gpuStreamSynchronize cudaStreamSynchronize

#define TF_RED_WARPSIZE 32
#define GPU_DYNAMIC_SHARED_MEM_DECL(ALIGN, TYPE, NAME) \
  extern __shared__ __align__(ALIGN) TYPE NAME[]

#define GPU_1D_KERNEL_LOOP(i, n) for (int i : ::tensorflow::GpuGridRangeX<int>(n))
#define GPU_AXIS_KERNEL_LOOP(i, n, axis) for (int i : ::tensorflow::GpuGridRange##axis<int>(n))
#define CUDA_1D_KERNEL_LOOP(i, n) GPU_1D_KERNEL_LOOP(i, n)
#define CUDA_AXIS_KERNEL_LOOP(i, n, axis) GPU_AXIS_KERNEL_LOOP(i, n, axis)

namespace tensorflow {

using gpuStream_t = ::gpuStream_t;

template <typename Context>
inline gpuStream_t GetGpuStream(Context* context) {
  return reinterpret_cast<gpuStream_t>(context->stream());
}
template <typename Context>
inline gpuStream_t GetCudaStream(Context* context) {
  return GetGpuStream(context);
}

// Threads in a row of blocks. A kernel loops, so there may be fewer of them than elements.
struct GpuLaunchConfig {
  int virtual_thread_count = -1;
  int thread_per_block = -1;
  int block_count = -1;
};
// Threads in blocks of two or three dimensions.
struct Gpu2DLaunchConfig {
  dim3 virtual_thread_count = dim3(0, 0, 0);
  dim3 thread_per_block = dim3(0, 0, 0);
  dim3 block_count = dim3(0, 0, 0);
};
using Gpu3DLaunchConfig = Gpu2DLaunchConfig;
using CudaLaunchConfig = GpuLaunchConfig;
using Cuda2DLaunchConfig = Gpu2DLaunchConfig;
using Cuda3DLaunchConfig = Gpu3DLaunchConfig;

namespace internal {

inline int Quotient(int64 number, int64 by) { return static_cast<int>((number + by - 1) / by); }

// The block size with which most threads of `function` run at once, and how many blocks then do.
template <typename Function>
inline void FillDevice(Function function, size_t shared, int limit, int* blocks, int* threads) {
  const cudaError_t error =
      cudaOccupancyMaxPotentialBlockSize(blocks, threads, function, shared, limit);
  CHECK_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

}  // namespace internal

inline GpuLaunchConfig GetGpuLaunchConfig(int count, const Eigen::GpuDevice& device) {
  CHECK_GT(count, 0);
  GpuLaunchConfig config;
  config.virtual_thread_count = count;
  config.thread_per_block = std::min(1024, device.maxGpuThreadsPerBlock());
  const int at_once =
      device.getNumGpuMultiProcessors() * device.maxGpuThreadsPerMultiProcessor();
  config.block_count = std::min(
      internal::Quotient(std::min(count, at_once), config.thread_per_block),
      device.getNumGpuMultiProcessors());
  return config;
}
template <typename Function>
inline GpuLaunchConfig GetGpuLaunchConfig(int count, const Eigen::GpuDevice&, Function function,
                                          size_t dynamic_shared_memory, int block_size_limit) {
  CHECK_GT(count, 0);
  GpuLaunchConfig config;
  config.virtual_thread_count = count;
  internal::FillDevice(function, dynamic_shared_memory, block_size_limit, &config.block_count,
                       &config.thread_per_block);
  config.block_count =
      std::min(config.block_count, internal::Quotient(count, config.thread_per_block));
  return config;
}
template <typename Function>
inline GpuLaunchConfig GetGpuLaunchConfigFixedBlockSize(int count, const Eigen::GpuDevice& device,
                                                        Function function,
                                                        size_t dynamic_shared_memory,
                                                        int fixed_block_size) {
  CHECK_GT(count, 0);
  int blocks = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, fixed_block_size, dynamic_shared_memory);
  CHECK_EQ(error, cudaSuccess) << cudaGetErrorString(error);
  GpuLaunchConfig config;
  config.virtual_thread_count = count;
  config.thread_per_block = fixed_block_size;
  config.block_count = std::min(blocks * device.getNumGpuMultiProcessors(),
                                internal::Quotient(count, fixed_block_size));
  return config;
}
inline Gpu2DLaunchConfig GetGpu2DLaunchConfig(int columns, int rows,
                                              const Eigen::GpuDevice& device) {
  Gpu2DLaunchConfig config;
  if (columns <= 0 || rows <= 0) return config;
  const int threads = 256;
  const int wide = std::min(columns, threads), high = threads / wide;
  const int blocks = std::max(1, device.getNumGpuMultiProcessors() *
                                     device.maxGpuThreadsPerMultiProcessor() / threads);
  const int across = std::min(internal::Quotient(columns, wide), blocks);
  const int down = std::min(internal::Quotient(rows, high), std::max(1, blocks / across));
  config.virtual_thread_count = dim3(columns, rows, 1);
  config.thread_per_block = dim3(wide, high, 1);
  config.block_count = dim3(across, down, 1);
  return config;
}
template <typename Function>
inline Gpu3DLaunchConfig GetGpu3DLaunchConfig(int x, int y, int z, const Eigen::GpuDevice&,
                                              Function function, size_t dynamic_shared_memory,
                                              int block_size_limit) {
  Gpu3DLaunchConfig config;
  if (x <= 0 || y <= 0 || z <= 0) return config;
  int blocks = 0, threads = 0;
  internal::FillDevice(function, dynamic_shared_memory, block_size_limit, &blocks, &threads);
  const int size_x = std::min({x, threads, 1024});
  const int size_y = std::min({y, std::max(1, threads / size_x), 1024});
  const int size_z = std::min({z, std::max(1, threads / (size_x * size_y)), 64});
  const int many_x = std::min(blocks, internal::Quotient(x, size_x));
  const int many_y = std::min(std::max(1, blocks / many_x), internal::Quotient(y, size_y));
  const int many_z =
      std::min(std::max(1, blocks / (many_x * many_y)), internal::Quotient(z, size_z));
  config.virtual_thread_count = dim3(x, y, z);
  config.thread_per_block = dim3(size_x, size_y, size_z);
  config.block_count = dim3(many_x, many_y, many_z);
  return config;
}
template <typename Function>
inline Gpu2DLaunchConfig GetGpu2DLaunchConfig(int columns, int rows,
                                              const Eigen::GpuDevice& device, Function function,
                                              size_t dynamic_shared_memory,
                                              int block_size_limit) {
  return GetGpu3DLaunchConfig(columns, rows, 1, device, function, dynamic_shared_memory,
                              block_size_limit);
}

#define SF_CUDA_NAME(name, of)                                                             \
  template <typename... Arguments>                                                         \
  inline auto name(Arguments&&... arguments)                                               \
      ->decltype(of(std::forward<Arguments>(arguments)...)) {                              \
    return of(std::forward<Arguments>(arguments)...);                                      \
  }
SF_CUDA_NAME(GetCudaLaunchConfig, GetGpuLaunchConfig)
SF_CUDA_NAME(GetCudaLaunchConfigFixedBlockSize, GetGpuLaunchConfigFixedBlockSize)
SF_CUDA_NAME(GetCuda2DLaunchConfig, GetGpu2DLaunchConfig)
SF_CUDA_NAME(GetCuda3DLaunchConfig, GetGpu3DLaunchConfig)
#undef SF_CUDA_NAME

namespace internal {
template <typename Values>
inline void TakePlaces(Values&, void**,
                       std::integral_constant<size_t, std::tuple_size<Values>::value>) {}
template <typename Values, size_t At>
inline typename std::enable_if<(At < std::tuple_size<Values>::value)>::type TakePlaces(
    Values& values, void** places, std::integral_constant<size_t, At>) {
  places[At] = &std::get<At>(values);
  TakePlaces(values, places, std::integral_constant<size_t, At + 1>());
}
}  // namespace internal

// Starts a kernel on a stream.
template <typename... Parameters, typename... Arguments>
inline Status GpuLaunchKernel(void (*function)(Parameters...), dim3 blocks, dim3 threads,
                              size_t shared, gpuStream_t stream, Arguments... arguments) {
  std::tuple<Parameters...> values(arguments...);
  void* places[sizeof...(Parameters) + 1] = {};
  internal::TakePlaces(values, places, std::integral_constant<size_t, 0>());
  const cudaError_t error = cudaLaunchKernel(reinterpret_cast<const void*>(function), blocks,
                                             threads, places, shared, stream);
  if (error == cudaSuccess) return Status::OK();
  return errors::Internal(cudaGetErrorString(error));
}
template <typename... Parameters, typename... Arguments>
inline Status CudaLaunchKernel(void (*function)(Parameters...), dim3 blocks, dim3 threads,
                               size_t shared, gpuStream_t stream, Arguments... arguments) {
  return GpuLaunchKernel(function, blocks, threads, shared, stream, arguments...);
}

}  // namespace tensorflow

#if defined(__CUDACC__)
#include "gpu_kernels.h"
#endif

#endif  // GOOGLE_CUDA

#endif  // STILLFLOW_GPU_H_
