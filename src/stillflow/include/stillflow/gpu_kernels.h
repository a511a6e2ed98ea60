// What kernels for GPUs call: ranges of a grid, atomic operations, shuffles within a warp.
#ifndef STILLFLOW_GPU_KERNELS_H_
#define STILLFLOW_GPU_KERNELS_H_

namespace tensorflow {

// The elements of [0, count) that are this thread's share along an axis of the grid.
template <typename T>
class GridRange {
 public:
  class Iterator {
   public:
    __device__ Iterator(T at, T step) : at_(at), step_(step) {}
    __device__ T operator*() const { return at_; }
    __device__ Iterator& operator++() { return at_ += step_, *this; }
    // Only the end is asked for, and steps may go beyond it.
    __device__ bool operator!=(const Iterator& end) const { return at_ < end.at_; }

   private:
    T at_, step_;
  };
  __device__ GridRange(T first, T step, T count) : first_(first), step_(step), count_(count) {}
  __device__ Iterator begin() const { return Iterator(first_, step_); }
  __device__ Iterator end() const { return Iterator(count_, 0); }

 private:
  T first_, step_, count_;
};

#define SF_GRID_RANGE(AXIS, axis)                                                            \
  template <typename T>                                                                      \
  __device__ inline GridRange<T> GpuGridRange##AXIS(T count) {                               \
    return GridRange<T>(static_cast<T>(blockIdx.axis * blockDim.axis + threadIdx.axis),      \
                        static_cast<T>(gridDim.axis * blockDim.axis), count);                \
  }                                                                                          \
  template <typename T>                                                                      \
  __device__ inline GridRange<T> CudaGridRange##AXIS(T count) {                              \
    return GpuGridRange##AXIS<T>(count);                                                     \
  }
SF_GRID_RANGE(X, x)
SF_GRID_RANGE(Y, y)
SF_GRID_RANGE(Z, z)
#undef SF_GRID_RANGE

// A load by the cache of constants, where the type has one.
template <typename T>
__device__ inline typename std::enable_if<
    std::is_arithmetic<T>::value && !std::is_same<T, bool>::value, T>::type
GpuLdg(const T* address) {
  return __ldg(address);
}
template <typename T>
__device__ inline typename std::enable_if<
    !std::is_arithmetic<T>::value || std::is_same<T, bool>::value, T>::type
GpuLdg(const T* address) {
  return *address;
}
template <typename T>
__device__ inline T CudaLdg(const T* address) {
  return GpuLdg(address);
}
template <typename T>
__device__ inline T ldg(const T* address) {
  return GpuLdg(address);
}

template <typename T>
__global__ void SetZero(const int count, T* address) {
  GPU_1D_KERNEL_LOOP(i, count) address[i] = T(0);
}
template <typename T>
__global__ void SetToValue(const int count, T* address, T value) {
  GPU_1D_KERNEL_LOOP(i, count) address[i] = value;
}

namespace internal {

template <size_t kBytes>
struct Word;
template <>
struct Word<4> {
  typedef unsigned Type;
};
template <>
struct Word<8> {
  typedef unsigned long long Type;
};

// Changes a number until no other thread came between; returns what was there.
template <typename T, typename Change>
__device__ inline typename std::enable_if<(sizeof(T) >= 4), T>::type AtomicChange(
    T* address, Change change) {
  typedef typename Word<sizeof(T)>::Type Bits;
  Bits* place = reinterpret_cast<Bits*>(address);
  Bits seen = *place, expected;
  do {
    expected = seen;
    T now = change(*reinterpret_cast<T*>(&expected));
    seen = atomicCAS(place, expected, *reinterpret_cast<Bits*>(&now));
  } while (seen != expected);
  return *reinterpret_cast<T*>(&seen);
}
// Numbers of 16 bits change as half of a word.
template <typename T, typename Change>
__device__ inline typename std::enable_if<sizeof(T) == 2, T>::type AtomicChange(T* address,
                                                                                Change change) {
  const size_t number = reinterpret_cast<size_t>(address);
  unsigned* place = reinterpret_cast<unsigned*>(number & ~static_cast<size_t>(2));
  const int shift = number & 2 ? 16 : 0;
  unsigned seen = *place, expected;
  unsigned short part;
  do {
    expected = seen;
    part = static_cast<unsigned short>(expected >> shift);
    T now = change(*reinterpret_cast<T*>(&part));
    const unsigned bits = *reinterpret_cast<unsigned short*>(&now);
    seen = atomicCAS(place, expected, (expected & ~(0xFFFFu << shift)) | bits << shift);
  } while (seen != expected);
  return *reinterpret_cast<T*>(&part);
}

}  // namespace internal

// Each returns what was there before. The device's own instruction where there is one.
#define SF_ATOMIC(name, expression)                                                        \
  template <typename T, typename U>                                                        \
  __device__ inline T GpuAtomic##name(T* address, U by) {                                  \
    const T value = static_cast<T>(by);                                                    \
    return internal::AtomicChange(address, [value](T old) -> T { return expression; });    \
  }                                                                                        \
  template <typename T, typename U>                                                        \
  __device__ inline T CudaAtomic##name(T* address, U by) {                                 \
    return GpuAtomic##name(address, by);                                                   \
  }
#define SF_ATOMIC_OF(name, function, T)                                                    \
  template <typename U>                                                                    \
  __device__ inline T GpuAtomic##name(T* address, U by) {                                  \
    return function(address, static_cast<T>(by));                                          \
  }
SF_ATOMIC_OF(Add, atomicAdd, int)
SF_ATOMIC_OF(Add, atomicAdd, unsigned)
SF_ATOMIC_OF(Add, atomicAdd, unsigned long long)
SF_ATOMIC_OF(Add, atomicAdd, float)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
SF_ATOMIC_OF(Add, atomicAdd, double)
#endif
SF_ATOMIC_OF(Sub, atomicSub, int)
SF_ATOMIC_OF(Sub, atomicSub, unsigned)
SF_ATOMIC_OF(Max, atomicMax, int)
SF_ATOMIC_OF(Max, atomicMax, unsigned)
SF_ATOMIC_OF(Max, atomicMax, unsigned long long)
SF_ATOMIC_OF(Min, atomicMin, int)
SF_ATOMIC_OF(Min, atomicMin, unsigned)
SF_ATOMIC_OF(Min, atomicMin, unsigned long long)
// Complex numbers change in their two parts.
template <typename T>
__device__ inline std::complex<T> GpuAtomicAdd(std::complex<T>* address, std::complex<T> by) {
  T* parts = reinterpret_cast<T*>(address);
  const T* add = reinterpret_cast<const T*>(&by);
  std::complex<T> old;
  reinterpret_cast<T*>(&old)[0] = GpuAtomicAdd(parts, add[0]);
  reinterpret_cast<T*>(&old)[1] = GpuAtomicAdd(parts + 1, add[1]);
  return old;
}
SF_ATOMIC(Add, old + value)
SF_ATOMIC(Sub, old - value)
SF_ATOMIC(Max, old < value ? value : old)
SF_ATOMIC(Min, value < old ? value : old)
SF_ATOMIC(Mul, old* value)
SF_ATOMIC(Div, old / value)
#undef SF_ATOMIC
#undef SF_ATOMIC_OF

const unsigned kGpuWarpAll = 0xFFFFFFFFu;
const unsigned kCudaWarpAll = kGpuWarpAll;

#define SF_SHUFFLE(name, function, where)                                                  \
  template <typename T>                                                                    \
  __device__ inline T Gpu##name(unsigned mask, T value, where lane, int width = warpSize) { \
    return function(mask, value, lane, width);                                             \
  }                                                                                        \
  template <typename T>                                                                    \
  __device__ inline T Cuda##name(unsigned mask, T value, where lane, int width = warpSize) { \
    return function(mask, value, lane, width);                                             \
  }
SF_SHUFFLE(ShuffleSync, __shfl_sync, int)
SF_SHUFFLE(ShuffleUpSync, __shfl_up_sync, unsigned)
SF_SHUFFLE(ShuffleDownSync, __shfl_down_sync, unsigned)
SF_SHUFFLE(ShuffleXorSync, __shfl_xor_sync, int)
#undef SF_SHUFFLE

#define SF_WARP(name, result, parameters, expression)                            \
  __device__ inline result Gpu##name parameters { return expression; }           \
  __device__ inline result Cuda##name parameters { return expression; }
SF_WARP(BallotSync, unsigned, (unsigned mask, int holds), __ballot_sync(mask, holds))
SF_WARP(AnySync, int, (unsigned mask, int holds), __any_sync(mask, holds))
SF_WARP(AllSync, int, (unsigned mask, int holds), __all_sync(mask, holds))
SF_WARP(ActiveMask, unsigned, (), __activemask())
#undef SF_WARP
__device__ inline unsigned GpuLaneId() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ inline unsigned CudaLaneId() { return GpuLaneId(); }
__device__ inline void CudaSyncWarp(unsigned mask = kGpuWarpAll) { __syncwarp(mask); }

}  // namespace tensorflow

#endif  // STILLFLOW_GPU_KERNELS_H_
