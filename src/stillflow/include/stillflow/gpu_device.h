// Eigen's device of a GPU and a stream, for sources that define EIGEN_USE_GPU.
#ifndef STILLFLOW_GPU_DEVICE_H_
#define STILLFLOW_GPU_DEVICE_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <cuda_runtime.h>

#if defined(STILLFLOW_MINI_EIGEN)
namespace Eigen {

// A stream, and what launches ask of its device.
struct GpuDevice {
  GpuDevice(cudaStream_t stream, int device) : stream_(stream), device_(device) {}
  const cudaStream_t& stream() const { return stream_; }
  int getNumGpuMultiProcessors() const { return Ask(cudaDevAttrMultiProcessorCount); }
  int maxGpuThreadsPerBlock() const { return Ask(cudaDevAttrMaxThreadsPerBlock); }
  int maxGpuThreadsPerMultiProcessor() const {
    return Ask(cudaDevAttrMaxThreadsPerMultiProcessor);
  }
  int sharedMemPerBlock() const { return Ask(cudaDevAttrMaxSharedMemoryPerBlock); }
  bool ok() const { return cudaStreamQuery(stream_) != cudaErrorLaunchFailure; }
  void synchronize() const { cudaStreamSynchronize(stream_); }
  void memset(void* to, int byte, size_t bytes) const {
    cudaMemsetAsync(to, byte, bytes, stream_);
  }
  void memcpy(void* to, const void* from, size_t bytes) const {
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_);
  }
  void memcpyHostToDevice(void* to, const void* from, size_t bytes) const {
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_);
  }
  void memcpyDeviceToHost(void* to, const void* from, size_t bytes) const {
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_);
  }

 private:
  int Ask(cudaDeviceAttr attribute) const {
    int value = 0;
    cudaDeviceGetAttribute(&value, attribute, device_);
    return value;
  }
  cudaStream_t stream_;
  int device_;
};

}  // namespace Eigen
#endif

namespace tensorflow {
namespace internal {

// One for each device and stream, as long as the process lives: kernels may keep its address.
struct GpuDeviceOfStream {
  GpuDeviceOfStream(int64 number, int64 address)
      : stream(reinterpret_cast<cudaStream_t>(address)),
#if defined(STILLFLOW_MINI_EIGEN)
        device(stream, static_cast<int>(number)) {
  }
#else
        interface(&stream, static_cast<int>(number)),
        device(&interface) {
  }
#endif
  cudaStream_t stream;
#if !defined(STILLFLOW_MINI_EIGEN)
  Eigen::GpuStreamDevice interface;
#endif
  Eigen::GpuDevice device;
};

SF_LOCAL inline const void* FindGpuDevice(int64 device, int64 stream) {
  static std::mutex finding;
  static auto* known = new std::map<std::pair<int64, int64>, GpuDeviceOfStream*>();
  std::lock_guard<std::mutex> held(finding);
  GpuDeviceOfStream*& found = (*known)[{device, stream}];
  if (found == nullptr) found = new GpuDeviceOfStream(device, stream);
  return &found->device;
}

static const bool sf_gpu_device_is_known TF_ATTRIBUTE_UNUSED =
    (DeviceMaker<Eigen::GpuDevice>() = &FindGpuDevice, true);

}  // namespace internal
}  // namespace tensorflow

#endif  // STILLFLOW_GPU_DEVICE_H_
