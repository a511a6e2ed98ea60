// Shape functions: InferenceContext, and those that many operations share.
#ifndef STILLFLOW_INFERENCE_H_
#define STILLFLOW_INFERENCE_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "attributes.h"

namespace tensorflow {
namespace shape_inference {

class Dimension {
 public:
  Dimension(int64 size, Dimension* before) : value_(size), before_(before) {}
  const int64 value_;
  Dimension* const before_;  // the one that was made before this one
};

class DimensionHandle {
 public:
  DimensionHandle() {}
  bool SameHandle(DimensionHandle other) const { return ptr_ == other.ptr_; }
  size_t Handle() const { return reinterpret_cast<size_t>(ptr_); }
  bool IsSet() const { return ptr_ != nullptr; }

 private:
  friend class InferenceContext;
  explicit DimensionHandle(const Dimension* dimension) : ptr_(dimension) {}
  const Dimension* ptr_ = nullptr;
};

class Shape {
 public:
  explicit Shape(Shape* before) : known_(false), before_(before) {}
  Shape(const std::vector<DimensionHandle>& sizes, Shape* before)
      : known_(true), sizes_(sizes), before_(before) {}
  const bool known_;
  const std::vector<DimensionHandle> sizes_;
  Shape* const before_;
};

class ShapeHandle {
 public:
  ShapeHandle() {}
  bool SameHandle(ShapeHandle other) const { return ptr_ == other.ptr_; }
  size_t Handle() const { return reinterpret_cast<size_t>(ptr_); }
  bool IsSet() const { return ptr_ != nullptr; }

 private:
  friend class InferenceContext;
  explicit ShapeHandle(const Shape* shape) : ptr_(shape) {}
  const Shape* ptr_ = nullptr;
};

// A dimension, or a number that stands for one.
struct DimensionOrConstant {
  DimensionOrConstant(DimensionHandle handle) : dim(handle) {}  // NOLINT
  template <typename Int, typename = typename std::enable_if<std::is_integral<Int>::value>::type>
  DimensionOrConstant(Int value) : val(static_cast<int64>(value)) {}  // NOLINT
  DimensionHandle dim;
  int64 val = 0;
};

struct ShapeAndType {
  ShapeAndType() {}
  ShapeAndType(ShapeHandle s, DataType t) : shape(s), dtype(t) {}
  ShapeHandle shape;
  DataType dtype = DT_INVALID;
};

// What a shape function sees of its node.
class InferenceContext {
 public:
  static constexpr int64 kUnknownDim = -1;
  static constexpr int32 kUnknownRank = -1;

  InferenceContext(const NodeDef& node, const internal::Arguments& inputs,
                   const internal::Arguments& outputs)
      : node_(node),
        input_names_(inputs),
        output_names_(outputs),
        outputs_(static_cast<size_t>(outputs.Total())) {
    inputs_.Reserve(inputs.Total());
  }
  SF_RARE ~InferenceContext() {
    for (const Dimension* made = dimensions_; made;) {
      const Dimension* before = made->before_;
      delete made;
      made = before;
    }
    for (const Shape* made = shapes_; made;) {
      const Shape* before = made->before_;
      delete made;
      made = before;
    }
  }

  int num_inputs() const { return inputs_.size(); }
  ShapeHandle input(int64 at) const {
    if (SF_UNLIKELY(at < 0 || at >= num_inputs())) throw internal::CheckFailed("no such input");
    return inputs_[static_cast<int>(at)].shape;
  }
  Status input(StringPiece name, std::vector<ShapeHandle>* result) const {
    int begin, end;
    if (!input_names_.Range(name, &begin, &end)) {
      return errors::InvalidArgument("Unknown input name: ", name);
    }
    result->clear();
    for (; begin < end; ++begin) result->push_back(inputs_[begin].shape);
    return Status::OK();
  }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  ShapeHandle output(int64 at) const {
    CheckOutput(at);
    return outputs_[static_cast<size_t>(at)];
  }
  Status output(StringPiece name, std::vector<ShapeHandle>* result) const {
    int begin, end;
    TF_RETURN_IF_ERROR(OutputRange(name, &begin, &end));
    result->assign(outputs_.begin() + begin, outputs_.begin() + end);
    return Status::OK();
  }
  void set_output(int at, ShapeHandle shape) {
    CheckOutput(at);
    outputs_[static_cast<size_t>(at)] = shape;
  }
  Status set_output(StringPiece name, const std::vector<ShapeHandle>& shapes) {
    int begin, end;
    TF_RETURN_IF_ERROR(OutputRange(name, &begin, &end));
    if (end - begin != static_cast<int>(shapes.size())) {
      return errors::InvalidArgument("Must have exactly ", end - begin, " shapes.");
    }
    std::copy(shapes.begin(), shapes.end(), outputs_.begin() + begin);
    return Status::OK();
  }

  // The value of an input, null where it is not known while the graph is built.
  const Tensor* input_tensor(int at) {
    if (at < 0 || at >= num_inputs()) return nullptr;
    inputs_[at].asked = true;
    return inputs_[at].value.get();
  }
  bool requested_input_tensor(int at) const {
    return at >= 0 && at < num_inputs() && inputs_[at].asked;
  }

  AttrSlice attrs() const { return AttrSlice(node_); }
  const NodeDef& node_def() const { return node_; }
  template <typename T>
  Status GetAttr(StringPiece name, T* result) const {
    return GetNodeAttr(node_, name, result);
  }

  bool RankKnown(ShapeHandle s) const { return s.IsSet() && s.ptr_->known_; }
  int32 Rank(ShapeHandle s) const {
    return RankKnown(s) ? static_cast<int32>(s.ptr_->sizes_.size()) : kUnknownRank;
  }
  DimensionHandle Dim(ShapeHandle s, int64 at) {
    return RankKnown(s) ? DimKnownRank(s, at) : UnknownDim();
  }
  DimensionHandle DimKnownRank(ShapeHandle s, int64 at) const {
    return s.ptr_->sizes_.at(static_cast<size_t>(at < 0 ? at + Rank(s) : at));
  }
  static int64 Value(DimensionOrConstant d) { return d.dim.IsSet() ? d.dim.ptr_->value_ : d.val; }
  static bool ValueKnown(DimensionOrConstant d) { return Value(d) != kUnknownDim; }
  bool FullyDefined(ShapeHandle s) const {
    if (!RankKnown(s)) return false;
    for (DimensionHandle d : s.ptr_->sizes_)
      if (!ValueKnown(d)) return false;
    return true;
  }
  DimensionHandle NumElements(ShapeHandle s) {
    if (!RankKnown(s)) return UnknownDim();
    int64 count = 1;
    bool known = true;
    for (DimensionHandle d : s.ptr_->sizes_) {
      if (Value(d) == 0) return MakeDim(0);
      if (ValueKnown(d)) count *= Value(d);
      else known = false;
    }
    return known ? MakeDim(count) : UnknownDim();
  }
  string DebugString(ShapeHandle s) const {
    if (!RankKnown(s)) return "?";
    string text = "[";
    for (DimensionHandle d : s.ptr_->sizes_)
      strings::StrAppend(&text, text.size() > 1 ? "," : "", DebugString(d));
    return text + "]";
  }
  string DebugString(DimensionHandle d) const {
    return ValueKnown(d) ? strings::StrCat(Value(d)) : "?";
  }
  string DebugString() const { return node_.DebugString(); }

  SF_RARE DimensionHandle MakeDim(DimensionOrConstant d) {
    if (d.dim.IsSet()) return d.dim;
    dimensions_ = new Dimension(d.val, dimensions_);
    return DimensionHandle(dimensions_);
  }
  DimensionHandle UnknownDim() { return MakeDim(kUnknownDim); }
  SF_RARE ShapeHandle MakeShape(const std::vector<DimensionHandle>& sizes) {
    shapes_ = new Shape(sizes, shapes_);
    return ShapeHandle(shapes_);
  }
  ShapeHandle MakeShape(std::initializer_list<DimensionOrConstant> sizes) {
    std::vector<DimensionHandle> handles;
    for (const DimensionOrConstant& size : sizes) handles.push_back(MakeDim(size));
    return MakeShape(handles);
  }
  ShapeHandle UnknownShape() {
    shapes_ = new Shape(shapes_);
    return ShapeHandle(shapes_);
  }
  ShapeHandle UnknownShapeOfRank(int64 rank) {
    std::vector<DimensionHandle> sizes(static_cast<size_t>(rank));
    for (DimensionHandle& size : sizes) size = UnknownDim();
    return MakeShape(sizes);
  }
  ShapeHandle Scalar() { return MakeShape(std::vector<DimensionHandle>()); }
  ShapeHandle Vector(DimensionOrConstant size) { return MakeShape({size}); }
  ShapeHandle Matrix(DimensionOrConstant rows, DimensionOrConstant columns) {
    return MakeShape({rows, columns});
  }
  Status MakeShapeFromPartialTensorShape(const PartialTensorShape& shape, ShapeHandle* result) {
    *result = FromShape(shape);
    return Status::OK();
  }
  Status MakeShapeFromTensorShape(const TensorShape& shape, ShapeHandle* result) {
    *result = FromShape(shape);
    return Status::OK();
  }

  Status WithRank(ShapeHandle s, int64 rank, ShapeHandle* result);
  Status WithRankAtLeast(ShapeHandle s, int64 rank, ShapeHandle* result);
  Status WithRankAtMost(ShapeHandle s, int64 rank, ShapeHandle* result);
  Status WithValue(DimensionHandle d, int64 value, DimensionHandle* result);
  Status Merge(DimensionHandle a, DimensionHandle b, DimensionHandle* result);
  Status Merge(ShapeHandle a, ShapeHandle b, ShapeHandle* result);
  Status MergePrefix(ShapeHandle s, ShapeHandle prefix, ShapeHandle* s_result,
                     ShapeHandle* prefix_result);
  Status Subshape(ShapeHandle s, int64 begin, ShapeHandle* result);
  Status Subshape(ShapeHandle s, int64 begin, int64 end, ShapeHandle* result);
  Status Subshape(ShapeHandle s, int64 begin, int64 end, int64 stride, ShapeHandle* result);
  Status Concatenate(ShapeHandle a, ShapeHandle b, ShapeHandle* result);
  Status ReplaceDim(ShapeHandle s, int64 at, DimensionHandle size, ShapeHandle* result);
  Status Divide(DimensionHandle d, DimensionOrConstant by, bool evenly, DimensionHandle* result);
  Status Add(DimensionHandle a, DimensionOrConstant b, DimensionHandle* result);
  Status Subtract(DimensionHandle a, DimensionOrConstant b, DimensionHandle* result);
  Status Multiply(DimensionHandle a, DimensionOrConstant b, DimensionHandle* result);
  Status Min(DimensionHandle a, DimensionOrConstant b, DimensionHandle* result);
  Status Max(DimensionHandle a, DimensionOrConstant b, DimensionHandle* result);
  Status MakeShapeFromShapeTensor(int at, ShapeHandle* result);
  Status MakeShapeFromTensor(const Tensor* value, ShapeHandle shape, ShapeHandle* result);
  Status GetScalarFromTensor(const Tensor* value, int64* result);
  Status MakeDimForScalarInput(int at, DimensionHandle* result);

  // What a handle of a variable says of the variable: nobody asks that here.
  const std::vector<ShapeAndType>* input_handle_shapes_and_types(int) const { return nullptr; }
  void set_output_handle_shapes_and_types(int, const std::vector<ShapeAndType>&) {}

  // For the library's own use: an input, and what is asked of its value.
  struct Input {
    ShapeHandle shape;
    std::unique_ptr<Tensor> value;
    ShapeHandle as_shape;  // where the input is read as a shape
    bool asked = false, asked_as_shape = false;
  };
  void AddInput(const PartialTensorShape& shape) { inputs_.Add().shape = FromShape(shape); }
  Input& At(int at) { return inputs_[at]; }
  SF_RARE PartialTensorShape OutputShape(int at) const {
    const ShapeHandle s = outputs_[static_cast<size_t>(at)];
    if (!RankKnown(s)) return PartialTensorShape();
    PartialTensorShape shape(nullptr, 0);
    for (DimensionHandle d : s.ptr_->sizes_) shape.AddDim(Value(d));
    return shape;
  }
  SF_RARE ShapeHandle FromShape(const ShapeBase& shape) {
    if (shape.unknown_rank()) return UnknownShape();
    std::vector<DimensionHandle> sizes(shape.sizes().size());
    for (size_t at = 0; at < sizes.size(); ++at) sizes[at] = MakeDim(shape.sizes()[at]);
    return MakeShape(sizes);
  }

 private:
  void CheckOutput(int64 at) const {
    if (SF_UNLIKELY(at < 0 || at >= num_outputs())) throw internal::CheckFailed("no such output");
  }
  Status OutputRange(StringPiece name, int* begin, int* end) const {
    if (output_names_.Range(name, begin, end)) return Status::OK();
    return errors::InvalidArgument("Unknown output name: ", name);
  }
  template <typename Compute>
  Status Combine(DimensionHandle a, DimensionOrConstant b, DimensionHandle* result,
                 Compute compute) {
    *result = ValueKnown(a) && ValueKnown(b) ? MakeDim(compute(Value(a), Value(b))) : UnknownDim();
    return Status::OK();
  }

  const NodeDef& node_;
  const internal::Arguments &input_names_, &output_names_;
  internal::Fixed<Input> inputs_;
  std::vector<ShapeHandle> outputs_;
  Dimension* dimensions_ = nullptr;  // the last that was made
  Shape* shapes_ = nullptr;
};

using OpShapeInferenceFn = std::function<Status(InferenceContext*)>;

}  // namespace shape_inference

using OpShapeInferenceFn = shape_inference::OpShapeInferenceFn;

}  // namespace tensorflow

#include "inference_rules.h"

#endif  // STILLFLOW_INFERENCE_H_
