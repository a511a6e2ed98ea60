// The parts of Eigen that views of tensors need, for where Eigen is not installed.
//
// Views have elements, sizes and memory. For expressions, matrices and devices install Eigen:
// pip install "stillflow[ops]".
#ifndef STILLFLOW_MINI_EIGEN_H_
#define STILLFLOW_MINI_EIGEN_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <array>
#include <ostream>

#include "base.h"

#ifndef EIGEN_DEVICE_FUNC
#if defined(__CUDACC__)
#define EIGEN_DEVICE_FUNC __host__ __device__
#else
#define EIGEN_DEVICE_FUNC
#endif
#define EIGEN_STRONG_INLINE inline
#define EIGEN_ALWAYS_INLINE inline
#define EIGEN_MAX_ALIGN_BYTES 16
#endif

namespace Eigen {

typedef std::ptrdiff_t DenseIndex;
typedef std::ptrdiff_t Index;
enum { ColMajor = 0, RowMajor = 1 };
enum { Unaligned = 0, Aligned = 16 };
const int Dynamic = -1;

struct DefaultDevice {};
struct ThreadPoolDevice;
struct GpuDevice;
struct SyclDevice;

// A number of 16 bits that computes as a float.
template <typename Format>
struct Short {
  unsigned short x;
  Short() : x(0) {}
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type>
  explicit Short(T value) : x(Format::FromFloat(static_cast<float>(value))) {}
  operator float() const { return Format::ToFloat(x); }  // NOLINT
  Short& operator+=(Short other) { return *this = Short(float(*this) + float(other)); }
  Short& operator-=(Short other) { return *this = Short(float(*this) - float(other)); }
  Short& operator*=(Short other) { return *this = Short(float(*this) * float(other)); }
  Short& operator/=(Short other) { return *this = Short(float(*this) / float(other)); }
  Short operator-() const { return Short(-float(*this)); }
  friend Short operator+(Short a, Short b) { return a += b; }
  friend Short operator-(Short a, Short b) { return a -= b; }
  friend Short operator*(Short a, Short b) { return a *= b; }
  friend Short operator/(Short a, Short b) { return a /= b; }
};

struct BrainFormat {
  static unsigned short FromFloat(float value) {
    const unsigned bits = tensorflow::bit_cast<unsigned>(value);
    if (value != value) return 0x7FC0;
    return static_cast<unsigned short>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
  static float ToFloat(unsigned short x) {
    return tensorflow::bit_cast<float>(static_cast<unsigned>(x) << 16);
  }
};

struct HalfFormat {
  static unsigned short FromFloat(float value) {
    const unsigned bits = tensorflow::bit_cast<unsigned>(value);
    const unsigned short sign = static_cast<unsigned short>(bits >> 16 & 0x8000);
    const float size = std::fabs(value);
    if (value != value) return sign | 0x7E00;
    if (size >= 65520.0f) return sign | 0x7C00;
    if (size < 6.103515625e-5f) {  // subnormal: multiples of 2**-24
      return sign | static_cast<unsigned short>(std::nearbyint(size * 16777216.0f));
    }
    const unsigned rounded = (bits & 0x7FFFFFFF) + 0xFFF + (bits >> 13 & 1);
    return sign | static_cast<unsigned short>((rounded >> 13) - (112 << 10));
  }
  static float ToFloat(unsigned short x) {
    const int exponent = x >> 10 & 31, fraction = x & 1023;
    float size = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    if (exponent == 0) size = std::ldexp(static_cast<float>(fraction), -24);
    if (exponent == 31) size = fraction ? NAN : INFINITY;
    return x & 0x8000 ? -size : size;
  }
};

typedef Short<HalfFormat> half;
typedef Short<BrainFormat> bfloat16;

template <typename T, std::size_t N>
using array = std::array<T, N>;

template <typename IndexType, int N>
struct DSizes : public std::array<IndexType, N> {
  DSizes() { this->fill(0); }
  template <typename... Sizes>
  explicit DSizes(IndexType first, Sizes... rest)
      : std::array<IndexType, N>{{first, static_cast<IndexType>(rest)...}} {}
  static std::size_t rank() { return N; }
  IndexType TotalSize() const {
    IndexType total = 1;
    for (IndexType size : *this) total *= size;
    return total;
  }
};
template <typename IndexType>
struct DSizes<IndexType, 0> {
  IndexType& operator[](int) { return unused; }
  const IndexType& operator[](int) const { return unused; }
  IndexType TotalSize() const { return 1; }
  IndexType unused = 1;
};

template <std::ptrdiff_t... Sizes_>
struct Sizes {};

template <typename Scalar_, int N, int Options = ColMajor, typename IndexType = DenseIndex>
struct Tensor {
  typedef Scalar_ Scalar;
  typedef IndexType Index;
  static const int NumIndices = N;
};
template <typename Scalar_, typename Sizes_, int Options = ColMajor,
          typename IndexType = DenseIndex>
struct TensorFixedSize {
  typedef Scalar_ Scalar;
  typedef IndexType Index;
  static const int NumIndices = 0;
};

// A row-major tensor on memory that is there.
template <typename Plain, int Options = Unaligned>
class TensorMap {
 public:
  typedef typename Plain::Scalar Element;
  typedef typename std::remove_const<Element>::type Scalar;
  typedef typename Plain::Index Index;
  static const int NumIndices = Plain::NumIndices;
  static const int NumDimensions = NumIndices;
  typedef DSizes<Index, NumIndices> Dimensions;

  explicit TensorMap(Element* data) : data_(data) {}
  TensorMap(Element* data, const Dimensions& sizes) : data_(data), sizes_(sizes) {}
  template <typename... Rest>
  TensorMap(Element* data, Index first, Rest... rest)
      : data_(data), sizes_(first, static_cast<Index>(rest)...) {}

  Element* data() const { return data_; }
  Index size() const { return sizes_.TotalSize(); }
  static int rank() { return NumIndices; }
  Index dimension(std::size_t at) const { return sizes_[static_cast<int>(at)]; }
  const Dimensions& dimensions() const { return sizes_; }
  template <typename... Indices>
  Element& operator()(Indices... indices) const {
    return data_[At(indices...)];
  }
  Element& operator[](Index at) const { return data_[at]; }
  void setConstant(const Scalar& value) const { std::fill_n(data_, size(), value); }
  void setZero() const { setConstant(Scalar(0)); }
  TensorMap& operator=(const TensorMap& other) { return Assign(other); }
  template <typename Other, int OtherOptions>
  TensorMap& operator=(const TensorMap<Other, OtherOptions>& other) {
    return Assign(other);
  }
  TensorMap(const TensorMap&) = default;

 private:
  Index At() const { return 0; }
  template <typename... Indices>
  Index At(Indices... indices) const {
    const Index places[] = {static_cast<Index>(indices)...};
    Index place = 0;
    for (std::size_t dim = 0; dim < sizeof...(indices); ++dim)
      place = place * dimension(dim) + places[dim];
    return place;
  }
  template <typename Other>
  TensorMap& Assign(const Other& other) {
    std::copy_n(other.data(), size(), data_);
    return *this;
  }
  Element* data_;
  Dimensions sizes_;
};

}  // namespace Eigen

namespace std {
template <>
struct numeric_limits<Eigen::half> {
  static const bool is_specialized = true;
  static Eigen::half max() { return Eigen::half(65504.0f); }
  static Eigen::half lowest() { return Eigen::half(-65504.0f); }
  static Eigen::half min() { return Eigen::half(6.103515625e-5f); }
};
template <>
struct numeric_limits<Eigen::bfloat16> {
  static const bool is_specialized = true;
  static Eigen::bfloat16 max() { return Eigen::bfloat16(3.38953139e38f); }
  static Eigen::bfloat16 lowest() { return Eigen::bfloat16(-3.38953139e38f); }
  static Eigen::bfloat16 min() { return Eigen::bfloat16(1.17549435e-38f); }
};
}  // namespace std

#endif  // STILLFLOW_MINI_EIGEN_H_
