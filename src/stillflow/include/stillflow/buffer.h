// Memory of tensors: PyTorch's while a kernel runs, or the library's own.
#ifndef STILLFLOW_BUFFER_H_
#define STILLFLOW_BUFFER_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "abi.h"
#include "shape.h"
#include "sync.h"

namespace tensorflow {

struct AllocationAttributes {};

struct AllocatorAttributes {
  void set_on_host(bool value) { on_host_ = value; }
  bool on_host() const { return on_host_; }
  void set_nic_compatible(bool) {}
  bool nic_compatible() const { return false; }
  void set_gpu_compatible(bool value) { gpu_compatible_ = value; }
  bool gpu_compatible() const { return gpu_compatible_; }
  bool on_host_ = false;
  bool gpu_compatible_ = false;
};

class Allocator {
 public:
  static constexpr size_t kAllocatorAlignment = 64;
  virtual ~Allocator() {}
  virtual string Name() { return "cpu"; }
  virtual void* AllocateRaw(size_t alignment, size_t bytes) {
    return port::AlignedMalloc(bytes ? bytes : 1, static_cast<int>(alignment));
  }
  void* AllocateRaw(size_t alignment, size_t bytes, const AllocationAttributes&) {
    return AllocateRaw(alignment, bytes);
  }
  virtual void DeallocateRaw(void* memory) { port::AlignedFree(memory); }
  template <typename T>
  T* Allocate(size_t count) {
    void* memory = AllocateRaw(kAllocatorAlignment, count * sizeof(T));
    return memory ? new (memory) T[count] : nullptr;
  }
  template <typename T>
  void Deallocate(T* memory, size_t) {
    DeallocateRaw(memory);
  }
};

SF_LOCAL inline Allocator* cpu_allocator() {
  static Allocator allocator;
  return &allocator;
}

// What a resource output or input holds: the name of an object of the session.
class ResourceHandle {
 public:
  const string& device() const { return device_; }
  void set_device(const string& text) { device_ = text; }
  const string& container() const { return container_; }
  void set_container(const string& text) { container_ = text; }
  const string& name() const { return name_; }
  void set_name(const string& text) { name_ = text; }
  uint64 hash_code() const { return hash_code_; }
  void set_hash_code(uint64 code) { hash_code_ = code; }
  const string& maybe_type_name() const { return type_name_; }
  void set_maybe_type_name(const string& text) { type_name_ = text; }
  string DebugString() const {
    return strings::StrCat("device: ", device_, " container: ", container_, " name: ", name_,
                           " hash_code: ", hash_code_, " maybe_type_name: ", type_name_);
  }

 private:
  string device_, container_, name_, type_name_;
  uint64 hash_code_ = 0;
};

namespace internal {

const int64 kAlignment = 64;
const int64 kHost = -1;  // the device that is none

template <typename T>
inline void* NewArray(int64 count) {
  void* memory = cpu_allocator()->AllocateRaw(kAlignment, sizeof(T) * (count > 0 ? count : 1));
  if (memory == nullptr) throw std::bad_alloc();
  for (int64 at = 0; at < count; ++at) new (static_cast<T*>(memory) + at) T();
  return memory;
}
template <typename T>
inline void DeleteArray(void* memory, int64 count) {
  for (int64 at = 0; at < count; ++at) (static_cast<T*>(memory) + at)->~T();
  cpu_allocator()->DeallocateRaw(memory);
}

// The functions for memory of GPUs that Python gave.
SF_LOCAL inline sf_memory& DeviceMemory() {
  static sf_memory memory = {nullptr, nullptr, nullptr};
  return memory;
}

class Buffer : public core::RefCounted {
 public:
  // Memory of somebody else, who keeps it until the kernel has ended.
  Buffer(void* memory, int64 bytes, int64 device)
      : data(memory), bytes(bytes), device(device), type_(DT_UINT8), owned_(false) {}

  // New memory: on the host zeros, empty strings or handles of nothing.
  Buffer(DataType type, int64 count, int64 on = kHost)
      : device(DataTypeSize(type) ? on : kHost),
        type_(BaseType(type)),
        count_(count),
        owned_(true) {
    if (device != kHost) {
      bytes = count * DataTypeSize(type_);
      data = Checked(DeviceMemory().allocate(device, bytes));
    } else if (type_ == DT_STRING) {
      data = NewArray<string>(count);
    } else if (type_ == DT_RESOURCE) {
      data = NewArray<ResourceHandle>(count);
    } else {
      bytes = count * DataTypeSize(type_);
      data = cpu_allocator()->AllocateRaw(kAlignment, static_cast<size_t>(bytes));
      if (data == nullptr) throw std::bad_alloc();
      memset(data, 0, static_cast<size_t>(bytes));
    }
  }

  // Copies what is somebody else's: a kernel holds on to it.
  void Detach() {
    if (owned_) return;
    if (device != kHost) {
      data = Checked(DeviceMemory().copy(reinterpret_cast<int64>(data)));
      owned_ = true;
      return;
    }
    void* copy = cpu_allocator()->AllocateRaw(kAlignment, static_cast<size_t>(bytes));
    if (copy == nullptr) throw std::bad_alloc();
    memcpy(copy, data, static_cast<size_t>(bytes));
    data = copy;
    owned_ = true;
  }
  bool owned() const { return owned_; }

  void* data;
  int64 bytes = 0;
  int64 device = kHost;  // the number of a GPU
  Buffer* next = nullptr;  // of the same call

 private:
  static void* Checked(int64 address) {
    if (address == 0) throw std::bad_alloc();
    return reinterpret_cast<void*>(address);
  }
  ~Buffer() override {
    if (!owned_) return;
    if (device != kHost) {
      DeviceMemory().release(reinterpret_cast<int64>(data));
    } else if (type_ == DT_STRING) {
      DeleteArray<string>(data, count_);
    } else if (type_ == DT_RESOURCE) {
      DeleteArray<ResourceHandle>(data, count_);
    } else {
      cpu_allocator()->DeallocateRaw(data);
    }
  }
  DataType type_;
  int64 count_ = 0;
  bool owned_;
};

}  // namespace internal
}  // namespace tensorflow

#endif  // STILLFLOW_BUFFER_H_
