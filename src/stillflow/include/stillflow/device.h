// The device of a kernel: its threads, its allocator, and Eigen's devices.
#ifndef STILLFLOW_DEVICE_H_
#define STILLFLOW_DEVICE_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "env.h"
#include "stream.h"
#include "tensor.h"

namespace tensorflow {

namespace internal {

// Makes Eigen's device of a kind. Sources that know its type set it; others hand the device on to
// those.
template <typename Device>
SF_LOCAL inline const void* (*&DeviceMaker())(int64 device, int64 stream) {
  static const void* (*maker)(int64, int64) = nullptr;
  return maker;
}
// Eigen's device of each kind; where no source knows the type, a place that stands for it.
template <typename Device>
struct EigenDevice {
  SF_LOCAL static const Device& Get(int64 device = kHost, int64 stream = 0) {
    static const double place[16] = {};
    const auto maker = DeviceMaker<Device>();
    return *static_cast<const Device*>(maker ? maker(device, stream) : place);
  }
};
#if !defined(STILLFLOW_MINI_EIGEN)
template <>
struct EigenDevice<Eigen::DefaultDevice> {
  SF_LOCAL static const Eigen::DefaultDevice& Get(int64 = kHost, int64 = 0) {
    static const Eigen::DefaultDevice device;
    return device;
  }
};
#if defined(EIGEN_USE_THREADS)
SF_LOCAL inline const void* CpuDevice(int64, int64) {
  static auto* pool = new Eigen::ThreadPool(port::NumSchedulableCPUs());
  static auto* device = new Eigen::ThreadPoolDevice(pool, port::NumSchedulableCPUs());
  return device;
}
static const bool sf_cpu_device_is_known TF_ATTRIBUTE_UNUSED =
    (DeviceMaker<Eigen::ThreadPoolDevice>() = &CpuDevice, true);
#endif
#endif

}  // namespace internal

class StreamExecutorUtil {
 public:
  template <typename T>
  static se::DeviceMemory<T> AsDeviceMemory(const Tensor& tensor) {
    return se::DeviceMemory<T>::MakeFromByteSize(tensor.base<T>(), tensor.TotalBytes());
  }
};

class DeviceAttributes {
 public:
  explicit DeviceAttributes(const string& name = "") : name_(name) {}
  const string& name() const { return name_; }

 private:
  string name_;
};

class DeviceContext {
 public:
  DeviceContext(int64 device, int64 stream) : stream_(device, stream) {}
  stream_executor::Stream* stream() { return &stream_; }

 private:
  stream_executor::Stream stream_;
};

class DeviceBase {
 public:
  struct CpuWorkerThreads {
    int num_threads = 0;
    thread::ThreadPool* workers = nullptr;
  };
  explicit DeviceBase(const string& name = "/device:CPU:0") : attributes_(name) {}
  SF_LOCAL const CpuWorkerThreads* tensorflow_cpu_worker_threads() const {
    static const CpuWorkerThreads threads = Threads();
    return &threads;
  }
  Allocator* GetAllocator(AllocatorAttributes) const { return cpu_allocator(); }
  Env* env() const { return Env::Default(); }
  const string& name() const { return attributes_.name(); }
  const DeviceAttributes& attributes() const { return attributes_; }
  const DeviceBase* tensorflow_gpu_device_info() const { return nullptr; }
  string device_type() const {
    return attributes_.name().find("GPU") == string::npos ? "CPU" : "GPU";
  }
#if !defined(STILLFLOW_MINI_EIGEN)
  const Eigen::ThreadPoolDevice* eigen_cpu_device() const {
    return &internal::EigenDevice<Eigen::ThreadPoolDevice>::Get();
  }
#endif

 private:
  SF_LOCAL static CpuWorkerThreads Threads() {
    CpuWorkerThreads threads;
    if (internal::PoolMaker()) threads.workers = internal::PoolMaker()();
    threads.num_threads = port::NumSchedulableCPUs();
    return threads;
  }
  DeviceAttributes attributes_;
};

}  // namespace tensorflow

#if GOOGLE_CUDA
namespace stream_executor {
namespace internal {
template <>
struct GemmName<Eigen::half> {
  static const char* Get() { return "cublasHgemm"; }
};
}  // namespace internal
}  // namespace stream_executor
#endif
#if defined(EIGEN_USE_GPU)
#include "gpu_device.h"
#endif

#endif  // STILLFLOW_DEVICE_H_
