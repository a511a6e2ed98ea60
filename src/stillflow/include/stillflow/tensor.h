// Tensor: a shape, a type and shared memory, with the views of it that Eigen gives.
#ifndef STILLFLOW_TENSOR_H_
#define STILLFLOW_TENSOR_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "buffer.h"

namespace tensorflow {

// The types of views: row-major tensors of Eigen on memory that is there.
template <typename T, int NDIMS = 1, typename IndexType = Eigen::DenseIndex>
struct TTypes {
  template <typename Element, int N, int Options, typename Index>
  using View = Eigen::TensorMap<Eigen::Tensor<Element, N, Eigen::RowMajor, Index>, Options>;
  template <typename Element, int Options, typename Index>
  using OfOne = Eigen::TensorMap<
      Eigen::TensorFixedSize<Element, Eigen::Sizes<>, Eigen::RowMajor, Index>, Options>;

  typedef View<T, NDIMS, Eigen::Aligned, IndexType> Tensor;
  typedef View<const T, NDIMS, Eigen::Aligned, IndexType> ConstTensor;
  typedef View<T, NDIMS, Eigen::Unaligned, IndexType> UnalignedTensor;
  typedef View<const T, NDIMS, Eigen::Unaligned, IndexType> UnalignedConstTensor;
  typedef View<T, NDIMS, Eigen::Aligned, int> Tensor32Bit;
  typedef OfOne<T, Eigen::Aligned, IndexType> Scalar;
  typedef OfOne<const T, Eigen::Aligned, IndexType> ConstScalar;
  typedef OfOne<T, Eigen::Unaligned, IndexType> UnalignedScalar;
  typedef OfOne<const T, Eigen::Unaligned, IndexType> UnalignedConstScalar;
  typedef View<T, 1, Eigen::Aligned, IndexType> Flat;
  typedef View<const T, 1, Eigen::Aligned, IndexType> ConstFlat;
  typedef View<T, 1, Eigen::Aligned, IndexType> Vec;
  typedef View<const T, 1, Eigen::Aligned, IndexType> ConstVec;
  typedef View<T, 1, Eigen::Unaligned, IndexType> UnalignedFlat;
  typedef View<const T, 1, Eigen::Unaligned, IndexType> UnalignedConstFlat;
  typedef View<T, 1, Eigen::Unaligned, IndexType> UnalignedVec;
  typedef View<const T, 1, Eigen::Unaligned, IndexType> UnalignedConstVec;
  typedef View<T, 2, Eigen::Aligned, IndexType> Matrix;
  typedef View<const T, 2, Eigen::Aligned, IndexType> ConstMatrix;
  typedef View<T, 2, Eigen::Unaligned, IndexType> UnalignedMatrix;
  typedef View<const T, 2, Eigen::Unaligned, IndexType> UnalignedConstMatrix;
};

template <typename TensorType>
typename TTypes<typename TensorType::Scalar, TensorType::NumIndices>::Tensor32Bit To32Bit(
    TensorType in) {
  typedef typename TTypes<typename TensorType::Scalar, TensorType::NumIndices>::Tensor32Bit View;
  Eigen::DSizes<int, TensorType::NumIndices> sizes;
  for (int at = 0; at < TensorType::NumIndices; ++at)
    sizes[at] = static_cast<int>(in.dimension(at));
  return View(const_cast<typename TensorType::Scalar*>(in.data()), sizes);
}

class Tensor {
 public:
  Tensor() : Tensor(DT_FLOAT) {}
  explicit Tensor(DataType type) : type_(type), shape_({0}) {}
  Tensor(DataType type, const TensorShape& shape)
      : type_(BaseType(type)),
        shape_(shape),
        buffer_(new internal::Buffer(type, shape.num_elements())) {}
  // In the memory of a GPU; for this library's own use.
  Tensor(DataType type, const TensorShape& shape, int64 device)
      : type_(BaseType(type)),
        shape_(shape),
        buffer_(new internal::Buffer(type, shape.num_elements(), device)) {}
  Tensor(Allocator*, DataType type, const TensorShape& shape) : Tensor(type, shape) {}
  Tensor(Allocator*, DataType type, const TensorShape& shape, const AllocationAttributes&)
      : Tensor(type, shape) {}
  // A tensor on memory that is there; for this library's own use.
  Tensor(DataType type, const TensorShape& shape, internal::Buffer* buffer)
      : type_(BaseType(type)), shape_(shape), buffer_(buffer) {
    if (buffer) buffer->Ref();
  }
  template <typename T, typename = typename std::enable_if<IsValidDataType<T>::value>::type>
  explicit Tensor(const T& value) : Tensor(DataTypeToEnum<T>::value, TensorShape()) {
    *base<T>() = value;
  }
  explicit Tensor(const char* text) : Tensor(string(text)) {}
  Tensor(const Tensor& other) : Tensor(other.type_, other.shape_, other.buffer_) {
    offset_ = other.offset_;
  }
  Tensor(Tensor&& other) noexcept
      : type_(other.type_),
        shape_(std::move(other.shape_)),
        buffer_(other.buffer_),
        offset_(other.offset_) {
    other.buffer_ = nullptr;
  }
  ~Tensor() {
    if (buffer_) buffer_->Unref();
  }
  Tensor& operator=(Tensor other) {
    std::swap(type_, other.type_);
    std::swap(shape_, other.shape_);
    std::swap(buffer_, other.buffer_);
    std::swap(offset_, other.offset_);
    return *this;
  }

  DataType dtype() const { return type_; }
  const TensorShape& shape() const { return shape_; }
  int dims() const { return shape_.dims(); }
  int64 dim_size(int at) const { return shape_.dim_size(at); }
  int64 NumElements() const { return shape_.num_elements(); }
  bool IsSameSize(const Tensor& other) const { return shape_.IsSameSize(other.shape_); }
  bool SharesBufferWith(const Tensor& other) const {
    return buffer_ != nullptr && buffer_ == other.buffer_;
  }
  bool RefCountIsOne() const { return buffer_ != nullptr && buffer_->RefCountIsOne(); }
  bool IsInitialized() const { return buffer_ != nullptr || NumElements() == 0; }
  size_t TotalBytes() const { return static_cast<size_t>(NumElements() * ElementSize()); }
  size_t AllocatedBytes() const { return TotalBytes(); }
  bool IsAligned() const {
#if defined(EIGEN_MAX_ALIGN_BYTES) && EIGEN_MAX_ALIGN_BYTES > 0
    return reinterpret_cast<uintptr_t>(raw()) % EIGEN_MAX_ALIGN_BYTES == 0;
#else
    return true;
#endif
  }

  bool CopyFrom(const Tensor& other, const TensorShape& shape) {
    if (other.NumElements() != shape.num_elements()) return false;
    const TensorShape wanted = shape;
    *this = other;
    shape_ = wanted;
    return true;
  }
  void UnsafeCopyFromInternal(const Tensor& other, DataType type, const TensorShape& shape) {
    *this = other;
    type_ = type;
    shape_ = shape;
  }
  Status BitcastFrom(const Tensor& other, DataType type, const TensorShape& shape) {
    if (shape.num_elements() * DataTypeSize(type) != static_cast<int64>(other.TotalBytes()))
      return errors::InvalidArgument("input size is not ", shape.DebugString());
    UnsafeCopyFromInternal(other, type, shape);
    return Status::OK();
  }
  // Rows [begin, end) of the first dimension, on the same memory.
  Tensor Slice(int64 begin, int64 end) const {
    CHECK_GE(dims(), 1);
    CHECK(0 <= begin && begin <= end && end <= dim_size(0)) << "rows of " << shape_;
    Tensor result = *this;
    const int64 row = dim_size(0) ? NumElements() / dim_size(0) : 0;
    result.shape_.set_dim(0, end - begin);
    result.offset_ += begin * row * StoredBytes();
    return result;
  }
  Tensor SubSlice(int64 row) const {
    Tensor result = Slice(row, row + 1);
    result.shape_.RemoveDim(0);
    return result;
  }

  template <typename T>
  typename TTypes<T>::Vec vec() { return tensor<T, 1>(); }
  template <typename T>
  typename TTypes<T>::ConstVec vec() const { return tensor<T, 1>(); }
  template <typename T>
  typename TTypes<T>::Matrix matrix() { return tensor<T, 2>(); }
  template <typename T>
  typename TTypes<T>::ConstMatrix matrix() const { return tensor<T, 2>(); }
  template <typename T>
  typename TTypes<T>::Flat flat() { return shaped<T, 1>({NumElements()}); }
  template <typename T>
  typename TTypes<T>::ConstFlat flat() const { return shaped<T, 1>({NumElements()}); }
  template <typename T>
  typename TTypes<T>::UnalignedFlat unaligned_flat() {
    return unaligned_shaped<T, 1>({NumElements()});
  }
  template <typename T>
  typename TTypes<T>::UnalignedConstFlat unaligned_flat() const {
    return unaligned_shaped<T, 1>({NumElements()});
  }

#define SF_VIEW(name, view, constant, arguments, element, sizes)                      \
  template <typename T, int NDIMS>                                                    \
  typename TTypes<T, NDIMS>::view name arguments {                                    \
    return typename TTypes<T, NDIMS>::view(element<T>(), sizes);                      \
  }                                                                                   \
  template <typename T, int NDIMS>                                                    \
  typename TTypes<T, NDIMS>::constant name arguments const {                          \
    return typename TTypes<T, NDIMS>::constant(element<T>(), sizes);                  \
  }
  SF_VIEW(tensor, Tensor, ConstTensor, (), typed, shape_.template AsEigenDSizes<NDIMS>())
  SF_VIEW(shaped, Tensor, ConstTensor, (gtl::ArraySlice<int64> sizes), typed,
          SizesOf<NDIMS>(sizes))
  SF_VIEW(unaligned_shaped, UnalignedTensor, UnalignedConstTensor,
          (gtl::ArraySlice<int64> sizes), unaligned, SizesOf<NDIMS>(sizes))
  SF_VIEW(bit_casted_shaped, Tensor, ConstTensor, (gtl::ArraySlice<int64> sizes), base,
          BitSizesOf<NDIMS>(sizes))
  SF_VIEW(bit_casted_tensor, Tensor, ConstTensor, (), base,
          shape_.template AsEigenDSizes<NDIMS>())
  SF_VIEW(flat_inner_outer_dims, Tensor, ConstTensor, (int64 begin), typed,
          SizesOf<NDIMS>(Flattened(begin, begin + NDIMS)))
#undef SF_VIEW
  // The last NDIMS dimensions are kept, those before them become one with the first of them.
  template <typename T, int NDIMS = 2>
  typename TTypes<T, NDIMS>::Tensor flat_inner_dims() {
    return shaped<T, NDIMS>(Flattened(dims() - NDIMS, dims()));
  }
  template <typename T, int NDIMS = 2>
  typename TTypes<T, NDIMS>::ConstTensor flat_inner_dims() const {
    return shaped<T, NDIMS>(Flattened(dims() - NDIMS, dims()));
  }
  template <typename T, int NDIMS = 2>
  typename TTypes<T, NDIMS>::Tensor flat_outer_dims() {
    return shaped<T, NDIMS>(Flattened(0, NDIMS));
  }
  template <typename T, int NDIMS = 2>
  typename TTypes<T, NDIMS>::ConstTensor flat_outer_dims() const {
    return shaped<T, NDIMS>(Flattened(0, NDIMS));
  }
  template <typename T>
  typename TTypes<T>::Scalar scalar() {
    CheckScalar();
    return typename TTypes<T>::Scalar(typed<T>());
  }
  template <typename T>
  typename TTypes<T>::ConstScalar scalar() const {
    CheckScalar();
    return typename TTypes<T>::ConstScalar(typed<T>());
  }

  StringPiece tensor_data() const {
    return StringPiece(static_cast<const char*>(raw()), TotalBytes());
  }
  void* data() const { return raw(); }
  string SummarizeValue(int64 most, bool = false) const;
  string DebugString(int values = 3) const {
    return strings::StrCat("Tensor<type: ", DataTypeString(type_), " shape: ",
                           shape_.DebugString(), " values: ", SummarizeValue(values), ">");
  }
  string DeviceSafeDebugString() const {
    return strings::StrCat("Tensor<type: ", DataTypeString(type_), " shape: ",
                           shape_.DebugString(), ">");
  }

  // The memory as elements of a type that nobody checks.
  template <typename T>
  T* base() const {
    return static_cast<T*>(raw());
  }
  internal::Buffer* buffer() const { return buffer_; }
  int64 device() const { return buffer_ ? buffer_->device : internal::kHost; }

 private:
  void* raw() const { return buffer_ ? static_cast<char*>(buffer_->data) + offset_ : nullptr; }
  int64 ElementSize() const {
    return type_ == DT_STRING ? sizeof(string) : static_cast<int64>(DataTypeSize(type_));
  }
  int64 StoredBytes() const {
    return type_ == DT_RESOURCE ? sizeof(ResourceHandle) : ElementSize();
  }
  template <typename T>
  T* unaligned() const {
    if (SF_UNLIKELY(type_ != DataTypeToEnum<T>::value)) NotOfType(DataTypeToEnum<T>::value);
    return base<T>();
  }
  template <typename T>
  T* typed() const {
    if (SF_UNLIKELY(!IsAligned())) NotAligned();
    return unaligned<T>();
  }
  SF_RARE void NotOfType(DataType wanted) const {
    CHECK_EQ(static_cast<int>(type_), static_cast<int>(wanted))
        << DataTypeString(wanted) << " expected, got " << DataTypeString(type_);
  }
  SF_RARE void NotAligned() const { CHECK(IsAligned()) << "ptr = " << raw(); }
  SF_RARE void OtherCount(int64 count) const { CHECK_EQ(count, NumElements()); }
  SF_RARE static void OtherRank(int wanted, size_t given) {
    CHECK_EQ(static_cast<size_t>(wanted), given);
  }
  SF_RARE void NoScalar() const { CHECK_EQ(1, NumElements()) << "Must have a one element tensor"; }
  void CheckScalar() const {
    if (SF_UNLIKELY(NumElements() != 1)) NoScalar();
  }
  template <int NDIMS>
  Eigen::DSizes<Eigen::DenseIndex, NDIMS> BitSizesOf(gtl::ArraySlice<int64> sizes) const {
    if (SF_UNLIKELY(sizes.size() != NDIMS)) OtherRank(NDIMS, sizes.size());
    Eigen::DSizes<Eigen::DenseIndex, NDIMS> result;
    for (int at = 0; at < NDIMS; ++at) result[at] = sizes[static_cast<size_t>(at)];
    return result;
  }
  template <int NDIMS>
  Eigen::DSizes<Eigen::DenseIndex, NDIMS> SizesOf(gtl::ArraySlice<int64> sizes) const {
    int64 count = 1;
    for (int64 size : sizes) count *= size;
    if (SF_UNLIKELY(count != NumElements())) OtherCount(count);
    return BitSizesOf<NDIMS>(sizes);
  }
  // Dimensions [begin, end), what is before and behind them within the first and the last.
  gtl::InlinedVector<int64, 4> Flattened(int64 begin, int64 end) const {
    gtl::InlinedVector<int64, 4> result;
    for (int64 at = begin; at < end; ++at)
      result.push_back(at < 0 || at >= dims() ? 1 : dim_size(static_cast<int>(at)));
    for (int64 at = 0; at < std::min<int64>(begin, dims()); ++at)
      result.front() *= dim_size(static_cast<int>(at));
    for (int64 at = std::max<int64>(end, 0); at < dims(); ++at)
      result.back() *= dim_size(static_cast<int>(at));
    return result;
  }

  DataType type_;
  TensorShape shape_;
  internal::Buffer* buffer_ = nullptr;
  int64 offset_ = 0;
};

namespace internal {

template <typename T>
inline void PrintElement(std::ostream& out, const T& value) {
  out << value;
}
inline void PrintElement(std::ostream& out, const int8& value) { out << static_cast<int>(value); }
inline void PrintElement(std::ostream& out, const uint8& value) { out << static_cast<int>(value); }
inline void PrintElement(std::ostream& out, const half& value) { out << static_cast<float>(value); }
inline void PrintElement(std::ostream& out, const bfloat16& value) {
  out << static_cast<float>(value);
}
template <typename Int, int Tag>
inline void PrintElement(std::ostream& out, const Quantized<Int, Tag>& value) {
  out << static_cast<int>(value);
}
inline void PrintElement(std::ostream& out, const string& value) { out << value; }
inline void PrintElement(std::ostream& out, const ResourceHandle& value) {
  out << value.DebugString();
}
inline void PrintElement(std::ostream& out, const Variant&) { out << "<variant>"; }

template <typename T>
inline void PrintPart(std::ostream& out, const T*& value, const TensorShape& shape, int at,
                      int64* left) {
  if (at == shape.dims()) {
    if (*left > 0) PrintElement(out, *value);
    ++value, --*left;
    return;
  }
  const bool inside = at + 1 < shape.dims();
  for (int64 i = 0; i < shape.dim_size(at); ++i) {
    if (*left <= 0) {
      if (!inside) out << "...";
      return;
    }
    if (inside) out << "[";
    if (!inside && i) out << " ";
    PrintPart(out, value, shape, at + 1, left);
    if (inside) out << "]";
  }
}

template <typename T>
inline string Summary(const T* values, const TensorShape& shape, int64 most) {
  std::ostringstream out;
  const bool cut = shape.dims() > 1 && shape.num_elements() > most;
  PrintPart(out, values, shape, 0, &most);
  if (cut) out << "...";
  return out.str();
}

}  // namespace internal

inline string Tensor::SummarizeValue(int64 most, bool) const {
  if (raw() == nullptr && NumElements() > 0) {
    return strings::StrCat("uninitialized Tensor of ", NumElements(), " elements of type ",
                           static_cast<int>(type_));
  }
  if (device() != internal::kHost) return "<on a GPU>";
  switch (type_) {
#define SF_TYPE(name, number, type, text) \
  case DT_##name:                         \
    return internal::Summary(base<const type>(), shape_, most);
    SF_TYPES(SF_TYPE)
#undef SF_TYPE
    default:
      return "";
  }
}

inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.DebugString();
}

class OpKernelContext;
class OpKernelConstruction;

// Memory that a kernel keeps from one run to the next.
class PersistentTensor {
 public:
  PersistentTensor() {}
  explicit PersistentTensor(const Tensor& tensor) : tensor_(tensor) {}
  Tensor* AccessTensor(OpKernelConstruction*) { return &tensor_; }
  Tensor* AccessTensor(OpKernelContext*) { return &tensor_; }
  bool IsInitialized() const { return tensor_.IsInitialized(); }
  int64 NumElements() const { return tensor_.NumElements(); }
  int64 AllocatedBytes() const { return static_cast<int64>(tensor_.AllocatedBytes()); }

 private:
  Tensor tensor_;
};

namespace tensor {
inline Tensor DeepCopy(const Tensor& other) {
  Tensor result(other.dtype(), other.shape());
  if (other.dtype() == DT_STRING) {
    std::copy_n(other.base<string>(), other.NumElements(), result.base<string>());
  } else if (other.TotalBytes()) {
    memcpy(result.base<char>(), other.base<char>(), other.TotalBytes());
  }
  return result;
}
}  // namespace tensor

}  // namespace tensorflow

#endif  // STILLFLOW_TENSOR_H_
