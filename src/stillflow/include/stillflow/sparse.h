// SparseTensor: indices, values and a dense shape, in one object.
#ifndef STILLFLOW_SPARSE_H_
#define STILLFLOW_SPARSE_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "context.h"

namespace tensorflow {
namespace sparse {

// The elements that share an index in some dimensions.
class Group {
 public:
  Group(const Tensor* indices, const Tensor* values, std::vector<int64> dims, int64 begin,
        int64 end)
      : indices_(indices), values_(values), dims_(std::move(dims)), begin_(begin), end_(end) {}
  std::vector<int64> group() const {
    std::vector<int64> result;
    for (int64 dim : dims_) result.push_back(indices_->matrix<int64>()(begin_, dim));
    return result;
  }
  TTypes<int64>::UnalignedConstMatrix indices() const {
    const int64 rank = indices_->dim_size(1);
    return TTypes<int64>::UnalignedConstMatrix(indices_->base<int64>() + begin_ * rank,
                                               end_ - begin_, rank);
  }
  template <typename T>
  typename TTypes<T>::UnalignedConstVec values() const {
    return typename TTypes<T>::UnalignedConstVec(values_->base<T>() + begin_, end_ - begin_);
  }

 private:
  const Tensor* indices_;
  const Tensor* values_;
  std::vector<int64> dims_;
  int64 begin_, end_;
};

class GroupIterable {
 public:
  using VarDimArray = gtl::ArraySlice<int64>;
  GroupIterable(const Tensor& indices, const Tensor& values, VarDimArray dims)
      : indices_(indices), values_(values), dims_(dims.begin(), dims.end()) {}

  class IteratorStep {
   public:
    IteratorStep(const GroupIterable* all, int64 at) : all_(all), begin_(at) { Extend(); }
    bool operator!=(const IteratorStep& other) const { return begin_ != other.begin_; }
    IteratorStep& operator++() {
      begin_ = end_;
      Extend();
      return *this;
    }
    Group operator*() const {
      return Group(&all_->indices_, &all_->values_, all_->dims_, begin_, end_);
    }

   private:
    void Extend() {
      const int64 count = all_->indices_.dim_size(0);
      const auto indices = all_->indices_.matrix<int64>();
      for (end_ = begin_; end_ < count; ++end_)
        for (int64 dim : all_->dims_)
          if (indices(end_, dim) != indices(begin_, dim)) return;
    }
    const GroupIterable* all_;
    int64 begin_, end_ = 0;
  };
  IteratorStep begin() const { return IteratorStep(this, 0); }
  IteratorStep end() const { return IteratorStep(this, indices_.dim_size(0)); }

 private:
  const Tensor indices_, values_;
  const std::vector<int64> dims_;
};

class SparseTensor {
 public:
  using VarDimArray = gtl::ArraySlice<int64>;
  using ShapeArray = gtl::InlinedVector<int64, 8>;

  SparseTensor() {}
  SparseTensor(Tensor indices, Tensor values, const TensorShape& shape)
      : SparseTensor(indices, values, Array(shape.sizes()), Natural(shape.dims())) {}
  SparseTensor(Tensor indices, Tensor values, VarDimArray shape)
      : SparseTensor(indices, values, shape, Natural(static_cast<int>(shape.size()))) {}
  SparseTensor(Tensor indices, Tensor values, const TensorShape& shape, VarDimArray order)
      : SparseTensor(indices, values, Array(shape.sizes()), order) {}
  SparseTensor(Tensor indices, Tensor values, VarDimArray shape, VarDimArray order)
      : indices_(indices),
        values_(values),
        shape_(shape.begin(), shape.end()),
        order_(order.begin(), order.end()) {
    CHECK_EQ(indices.dims(), 2) << "indices must be a matrix";
    CHECK_EQ(values.dims(), 1) << "values must be a vector";
  }
  static Status Create(Tensor indices, Tensor values, const TensorShape& shape,
                       SparseTensor* result) {
    return Make(SparseTensor(indices, values, shape), result);
  }
  static Status Create(Tensor indices, Tensor values, VarDimArray shape, SparseTensor* result) {
    return Make(SparseTensor(indices, values, shape), result);
  }
  static Status Create(Tensor indices, Tensor values, const TensorShape& shape, VarDimArray order,
                       SparseTensor* result) {
    return Make(SparseTensor(indices, values, shape, order), result);
  }
  static Status Create(Tensor indices, Tensor values, VarDimArray shape, VarDimArray order,
                       SparseTensor* result) {
    return Make(SparseTensor(indices, values, shape, order), result);
  }

  int64 num_entries() const { return indices_.dim_size(0); }
  int dims() const { return static_cast<int>(shape_.size()); }
  const Tensor& indices() const { return indices_; }
  const Tensor& values() const { return values_; }
  DataType dtype() const { return values_.dtype(); }
  VarDimArray shape() const { return VarDimArray(shape_.data(), shape_.size()); }
  VarDimArray order() const { return VarDimArray(order_.data(), order_.size()); }

  Status IndicesValid() const {
    const auto indices = indices_.matrix<int64>();
    for (int64 at = 0; at < num_entries(); ++at) {
      bool later = at == 0;
      for (size_t place = 0; place < order_.size(); ++place) {
        const int64 dim = order_[place], index = indices(at, dim);
        if (index < 0 || index >= shape_[static_cast<size_t>(dim)]) {
          return errors::InvalidArgument(Named(at), " is out of bounds: need 0 <= index < [",
                                         str_util::Join(shape_, ","), "]");
        }
        if (later) continue;
        if (index < indices(at - 1, dim)) {
          return errors::InvalidArgument(
              Named(at),
              " is out of order. Many sparse ops require sorted indices.\n"
              "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n");
        }
        later = index > indices(at - 1, dim);
      }
      if (!later) return errors::InvalidArgument(Named(at), " is repeated");
    }
    return Status::OK();
  }
  GroupIterable group(VarDimArray dims) const { return GroupIterable(indices_, values_, dims); }
  template <typename T>
  void Reorder(VarDimArray order) {
    order_.assign(order.begin(), order.end());
    const int64 count = num_entries(), rank = dims();
    std::vector<int64> places;
    for (int64 at = 0; at < count; ++at) places.push_back(at);
    const auto old_indices = tensor::DeepCopy(indices_);
    const auto old_values = tensor::DeepCopy(values_);
    const int64* from = old_indices.base<int64>();
    std::stable_sort(places.begin(), places.end(), [&](int64 a, int64 b) {
      for (int64 dim : order_)
        if (from[a * rank + dim] != from[b * rank + dim])
          return from[a * rank + dim] < from[b * rank + dim];
      return false;
    });
    for (int64 at = 0; at < count; ++at) {
      const int64 place = places[static_cast<size_t>(at)];
      std::copy_n(from + place * rank, rank, indices_.base<int64>() + at * rank);
      values_.base<T>()[at] = old_values.base<T>()[place];
    }
  }
  template <typename T>
  bool ToDense(Tensor* out, bool initialize = true) {
    auto dense = out->flat<T>();
    if (initialize) dense.setConstant(T());
    const auto indices = indices_.matrix<int64>();
    const auto values = values_.vec<T>();
    for (int64 at = 0; at < num_entries(); ++at) {
      int64 place = 0;
      for (int dim = 0; dim < dims(); ++dim) {
        const int64 index = indices(at, dim), size = shape_[static_cast<size_t>(dim)];
        if (index < 0 || index >= size) return false;
        place = place * size + index;
      }
      dense(place) = values(at);
    }
    return true;
  }

 private:
  static gtl::ArraySlice<int64> Array(const std::vector<int64>& sizes) { return sizes; }
  static ShapeArray Natural(int rank) {
    ShapeArray order;
    for (int at = 0; at < rank; ++at) order.push_back(at);
    return order;
  }
  string Named(int64 at) const {
    const int64* index = indices_.base<int64>() + at * dims();
    return strings::StrCat("indices[", at, "] = [",
                           str_util::Join(gtl::ArraySlice<int64>(index, dims()), ","), "]");
  }
  static Status Make(SparseTensor made, SparseTensor* result) {
    *result = std::move(made);
    return Status::OK();
  }

  Tensor indices_, values_;
  ShapeArray shape_, order_;
};

}  // namespace sparse
}  // namespace tensorflow

#endif  // STILLFLOW_SPARSE_H_
