// TensorShape, PartialTensorShape and what is asked of them.
#ifndef STILLFLOW_SHAPE_H_
#define STILLFLOW_SHAPE_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "types.h"

namespace tensorflow {

struct TensorShapeDim {
  explicit TensorShapeDim(int64 number) : size(number) {}
  int64 size;
};

// Sizes that may be unknown (-1), of a rank that may be unknown.
class ShapeBase {
 public:
  static constexpr int MaxDimensions() { return 254; }
  int dims() const { return known_rank_ ? static_cast<int>(sizes_.size()) : -1; }
  int64 dim_size(int at) const {
    CheckDim(at, static_cast<int>(sizes_.size()) - 1);
    return sizes_[static_cast<size_t>(at)];
  }
  gtl::InlinedVector<int64, 4> dim_sizes() const {
    return gtl::InlinedVector<int64, 4>(sizes_.begin(), sizes_.end());
  }
  bool unknown_rank() const { return !known_rank_; }
  int64 num_elements() const {
    if (!known_rank_) return -1;
    int64 count = 1;
    for (int64 size : sizes_) {
      if (size < 0) return -1;
      count *= size;
    }
    return count;
  }
  SF_RARE string DebugString() const {
    if (!known_rank_) return "<unknown>";
    string text = "[";
    for (size_t at = 0; at < sizes_.size(); ++at) {
      if (at) text += ",";
      strings::StrAppend(&text, sizes_[at] < 0 ? "?" : strings::AlphaNum(sizes_[at]));
    }
    return text + "]";
  }
  size_t unused_capacity() const { return 0; }
  const std::vector<int64>& sizes() const { return sizes_; }

 protected:
  void CheckDim(int at, int last) const {
    if (SF_UNLIKELY(at < 0 || at > last)) NoDim(at);
  }
  void CheckRank(int wanted, const char* least = "") const {
    if (SF_UNLIKELY(*least ? wanted < dims() : wanted != dims())) NotOfRank(wanted, least);
  }
  SF_RARE void NoDim(int at) const {
    CHECK(false) << "dimension " << at << " of " << DebugString();
  }
  SF_RARE void NotOfRank(int wanted, const char* least) const {
    CHECK_EQ(wanted, dims()) << "Asking for tensor of " << least << wanted
                             << " dimensions from a tensor of " << dims() << " dimensions";
  }
  std::vector<int64> sizes_;
  bool known_rank_ = true;
};

class TensorShape : public ShapeBase {
 public:
  class Iterator {
   public:
    Iterator(const TensorShape* shape, int at) : shape_(shape), at_(at) {}
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }
    void operator++() { ++at_; }
    TensorShapeDim operator*() const { return TensorShapeDim(shape_->dim_size(at_)); }

   private:
    const TensorShape* shape_;
    int at_;
  };

  TensorShape() {}
  TensorShape(std::initializer_list<int64> sizes)  // NOLINT
      : TensorShape(sizes.begin(), sizes.size()) {}
  TensorShape(gtl::ArraySlice<int64> sizes)  // NOLINT
      : TensorShape(sizes.data(), sizes.size()) {}
  template <int N>
  TensorShape(const gtl::InlinedVector<int64, N>& sizes)  // NOLINT
      : TensorShape(sizes.data(), sizes.size()) {}
  TensorShape(const std::vector<int64>& sizes)  // NOLINT
      : TensorShape(sizes.data(), sizes.size()) {}
  TensorShape(const int64* sizes, size_t rank) {
    for (size_t at = 0; at < rank; ++at) AddDim(sizes[at]);
  }

  void AddDim(int64 size) {
    if (SF_UNLIKELY(size < 0 || dims() >= MaxDimensions())) CannotAdd(size);
    sizes_.push_back(size);
  }
  void AppendShape(const TensorShape& other) {
    for (int64 size : other.sizes_) AddDim(size);
  }
  void InsertDim(int at, int64 size) {
    if (SF_UNLIKELY(size < 0 || dims() >= MaxDimensions())) CannotAdd(size);
    CheckDim(at, dims());
    sizes_.insert(sizes_.begin() + at, size);
  }
  void set_dim(int at, int64 size) {
    if (SF_UNLIKELY(size < 0)) CannotAdd(size);
    CheckDim(at, dims() - 1);
    sizes_[static_cast<size_t>(at)] = size;
  }
  void RemoveDim(int at) {
    CheckDim(at, dims() - 1);
    sizes_.erase(sizes_.begin() + at);
  }
  void RemoveDimRange(int begin, int end) {
    begin = begin < 0 ? dims() + begin + 1 : begin;
    end = end < 0 ? dims() + end + 1 : end;
    CHECK(begin >= 0 && end <= dims()) << "dimensions of " << DebugString();
    if (begin < end) sizes_.erase(sizes_.begin() + begin, sizes_.begin() + end);
  }
  void RemoveLastDims(int count) { RemoveDimRange(dims() - count, dims()); }
  void Clear() { sizes_.clear(); }
  bool IsSameSize(const TensorShape& other) const { return sizes_ == other.sizes_; }
  bool operator==(const TensorShape& other) const { return IsSameSize(other); }
  bool operator!=(const TensorShape& other) const { return !IsSameSize(other); }
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, dims()); }

  template <int NDIMS, typename IndexType = Eigen::DenseIndex>
  Eigen::DSizes<IndexType, NDIMS> AsEigenDSizes() const {
    CheckRank(NDIMS);
    return Padded<NDIMS, IndexType>();
  }
  template <int NDIMS, typename IndexType = Eigen::DenseIndex>
  Eigen::DSizes<IndexType, NDIMS> AsEigenDSizesWithPadding() const {
    CheckRank(NDIMS, "at least ");
    return Padded<NDIMS, IndexType>();
  }

 private:
  template <int NDIMS, typename IndexType>
  Eigen::DSizes<IndexType, NDIMS> Padded() const {
    Eigen::DSizes<IndexType, NDIMS> result;
    for (int at = 0; at < NDIMS; ++at)
      result[at] = at < dims() ? static_cast<IndexType>(sizes_[static_cast<size_t>(at)]) : 1;
    return result;
  }
  SF_RARE void CannotAdd(int64 size) const {
    CHECK_GE(size, 0);
    CHECK_LT(dims(), MaxDimensions()) << "Too many dimensions in tensor";
  }
};

class PartialTensorShape : public ShapeBase {
 public:
  PartialTensorShape() { known_rank_ = false; }
  PartialTensorShape(std::initializer_list<int64> sizes)  // NOLINT
      : PartialTensorShape(sizes.begin(), sizes.size()) {}
  PartialTensorShape(gtl::ArraySlice<int64> sizes)  // NOLINT
      : PartialTensorShape(sizes.data(), sizes.size()) {}
  PartialTensorShape(const int64* sizes, size_t rank) { sizes_.assign(sizes, sizes + rank); }
  PartialTensorShape(const TensorShape& shape) { sizes_ = shape.sizes(); }  // NOLINT

  void AddDim(int64 size) {
    if (known_rank_) sizes_.push_back(size);
  }
  void set_dim(int at, int64 size) { sizes_.at(at) = size; }
  PartialTensorShape Concatenate(int64 size) const {
    PartialTensorShape result = *this;
    result.AddDim(size);
    return result;
  }
  PartialTensorShape Concatenate(const PartialTensorShape& other) const {
    if (!known_rank_ || !other.known_rank_) return PartialTensorShape();
    PartialTensorShape result = *this;
    result.sizes_.insert(result.sizes_.end(), other.sizes_.begin(), other.sizes_.end());
    return result;
  }
  bool IsFullyDefined() const { return num_elements() >= 0; }
  bool AsTensorShape(TensorShape* result) const {
    if (!IsFullyDefined()) return false;
    *result = TensorShape(sizes_.data(), sizes_.size());
    return true;
  }
  bool IsCompatibleWith(const PartialTensorShape& other) const {
    if (!known_rank_ || !other.known_rank_) return true;
    if (sizes_.size() != other.sizes_.size()) return false;
    for (size_t at = 0; at < sizes_.size(); ++at) {
      const int64 a = sizes_[at], b = other.sizes_[at];
      if (a >= 0 && b >= 0 && a != b) return false;
    }
    return true;
  }
  bool IsIdenticalTo(const PartialTensorShape& other) const {
    return known_rank_ == other.known_rank_ && sizes_ == other.sizes_;
  }
  Status MergeWith(const PartialTensorShape& other, PartialTensorShape* result) const {
    if (!IsCompatibleWith(other)) {
      return errors::InvalidArgument("PartialTensorShape: Incompatible shapes during merge: ",
                                     DebugString(), " vs. ", other.DebugString());
    }
    *result = known_rank_ ? *this : other;
    if (known_rank_ && other.known_rank_)
      for (size_t at = 0; at < sizes_.size(); ++at)
        result->sizes_[at] = std::max(sizes_[at], other.sizes_[at]);
    return Status::OK();
  }
  template <typename Int>
  static Status MakePartialShape(const Int* sizes, int rank, PartialTensorShape* result) {
    *result = PartialTensorShape(nullptr, 0);
    for (int at = 0; at < rank; ++at) result->AddDim(sizes[at]);
    return Status::OK();
  }
};

inline std::ostream& operator<<(std::ostream& out, const ShapeBase& shape) {
  return out << shape.DebugString();
}

class TensorShapeUtils {
 public:
  static bool IsScalar(const ShapeBase& shape) { return shape.dims() == 0; }
  static bool IsVector(const ShapeBase& shape) { return shape.dims() == 1; }
  static bool IsVectorOrHigher(const ShapeBase& shape) { return shape.dims() >= 1; }
  static bool IsMatrix(const ShapeBase& shape) { return shape.dims() == 2; }
  static bool IsMatrixOrHigher(const ShapeBase& shape) { return shape.dims() >= 2; }
  static bool IsSquareMatrix(const ShapeBase& shape) {
    return shape.dims() == 2 && shape.dim_size(0) == shape.dim_size(1);
  }
  static bool IsScalarOrVector(const ShapeBase& shape) {
    return shape.dims() == 0 || shape.dims() == 1;
  }
  template <typename Int>
  static Status MakeShape(const Int* sizes, int64 rank, TensorShape* result) {
    *result = TensorShape();
    for (int64 at = 0; at < rank; ++at) {
      if (sizes[at] < 0) {
        return errors::InvalidArgument("Dimension ", static_cast<int64>(sizes[at]),
                                       " must be >= 0");
      }
      result->AddDim(sizes[at]);
    }
    return Status::OK();
  }
  template <typename Int>
  static Status MakeShape(gtl::ArraySlice<Int> sizes, TensorShape* result) {
    return MakeShape(sizes.data(), sizes.size(), result);
  }
  static string ShapeListString(const gtl::ArraySlice<TensorShape>& shapes) {
    string text = "[";
    for (const TensorShape& shape : shapes)
      strings::StrAppend(&text, text.size() > 1 ? ", " : "", shape.DebugString());
    return text + "]";
  }
  static bool StartsWith(const TensorShape& shape, const TensorShape& prefix) {
    return shape.dims() >= prefix.dims() &&
           std::equal(prefix.sizes().begin(), prefix.sizes().end(), shape.sizes().begin());
  }
  static bool EndsWith(const TensorShape& shape, const TensorShape& suffix) {
    return shape.dims() >= suffix.dims() &&
           std::equal(suffix.sizes().rbegin(), suffix.sizes().rend(), shape.sizes().rbegin());
  }
  template <typename Int>
  static Status NumElements(gtl::ArraySlice<Int> sizes, int64* count) {
    *count = 1;
    for (Int size : sizes) *count *= size;
    return Status::OK();
  }
};

}  // namespace tensorflow

#endif  // STILLFLOW_SHAPE_H_
