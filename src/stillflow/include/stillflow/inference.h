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
  explicit Dimension(int64 size) : value_(size) {}
  const int64 value_;
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
  Shape() : known_(false) {}
  explicit Shape(std::vector<DimensionHandle> sizes) : known_(true), sizes_(std::move(sizes)) {}
  const bool known_;
  const std::vector<DimensionHandle> sizes_;
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
  using Sections = std::vector<std::pair<string, int>>;  // arguments: name, number of tensors

  InferenceContext(const NodeDef& node, Sections inputs, Sections outputs)
      : node_(node), input_sections_(std::move(inputs)), output_sections_(std::move(outputs)) {
    outputs_.resize(static_cast<size_t>(Total(output_sections_)));
  }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  ShapeHandle input(int64 at) const { return inputs_.at(static_cast<size_t>(at)); }
  Status input(StringPiece name, std::vector<ShapeHandle>* result) const {
    return OfArgument(input_sections_, inputs_, name, "input", result);
  }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  ShapeHandle output(int64 at) const { return outputs_.at(static_cast<size_t>(at)); }
  Status output(StringPiece name, std::vector<ShapeHandle>* result) const {
    return OfArgument(output_sections_, outputs_, name, "output", result);
  }
  void set_output(int at, ShapeHandle shape) { outputs_.at(static_cast<size_t>(at)) = shape; }
  Status set_output(StringPiece name, const std::vector<ShapeHandle>& shapes) {
    int begin = 0;
    for (const auto& section : output_sections_) {
      if (section.first == name.ToString()) {
        if (section.second != static_cast<int>(shapes.size())) {
          return errors::InvalidArgument("Must have exactly ", section.second, " shapes.");
        }
        std::copy(shapes.begin(), shapes.end(), outputs_.begin() + begin);
        return Status::OK();
      }
      begin += section.second;
    }
    return errors::InvalidArgument("Unknown output name: ", name);
  }

  // The value of an input, null where it is not known while the graph is built.
  const Tensor* input_tensor(int at) {
    Ask(at);
    const auto found = values_.find(at);
    return found == values_.end() ? nullptr : &found->second;
  }
  bool requested_input_tensor(int at) const { return asked_.count(at) > 0; }

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
    return ValueKnown(d) ? std::to_string(Value(d)) : "?";
  }
  string DebugString() const { return node_.DebugString(); }

  DimensionHandle MakeDim(DimensionOrConstant d) {
    if (d.dim.IsSet()) return d.dim;
    dimensions_.emplace_back(new Dimension(d.val));
    return DimensionHandle(dimensions_.back().get());
  }
  DimensionHandle UnknownDim() { return MakeDim(kUnknownDim); }
  ShapeHandle MakeShape(const std::vector<DimensionHandle>& sizes) {
    shapes_.emplace_back(new Shape(sizes));
    return ShapeHandle(shapes_.back().get());
  }
  ShapeHandle MakeShape(std::initializer_list<DimensionOrConstant> sizes) {
    std::vector<DimensionHandle> handles;
    for (const DimensionOrConstant& size : sizes) handles.push_back(MakeDim(size));
    return MakeShape(handles);
  }
  ShapeHandle UnknownShape() {
    shapes_.emplace_back(new Shape());
    return ShapeHandle(shapes_.back().get());
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

  // What a handle of a variable says of the variable.
  const std::vector<ShapeAndType>* input_handle_shapes_and_types(int at) const {
    const auto found = handles_.find(at);
    return found == handles_.end() ? nullptr : &found->second;
  }
  void set_output_handle_shapes_and_types(int, const std::vector<ShapeAndType>&) {}

  // For the library's own use.
  void AddInput(const PartialTensorShape& shape) { inputs_.push_back(FromShape(shape)); }
  void SetValue(int at, Tensor value) { values_[at] = std::move(value); }
  void SetShapeValue(int at, const PartialTensorShape& shape) {
    shape_values_[at] = FromShape(shape);
  }
  const std::set<int>& asked() const { return asked_; }
  const std::set<int>& asked_shapes() const { return asked_shapes_; }
  PartialTensorShape OutputShape(int at) const {
    const ShapeHandle s = outputs_[static_cast<size_t>(at)];
    if (!RankKnown(s)) return PartialTensorShape();
    PartialTensorShape shape(nullptr, 0);
    for (DimensionHandle d : s.ptr_->sizes_) shape.AddDim(Value(d));
    return shape;
  }
  static int Total(const Sections& sections) {
    int total = 0;
    for (const auto& section : sections) total += section.second;
    return total;
  }

 private:
  void Ask(int at) { asked_.insert(at); }
  ShapeHandle FromShape(const ShapeBase& shape) {
    if (shape.unknown_rank()) return UnknownShape();
    std::vector<DimensionHandle> sizes;
    for (int64 size : shape.sizes()) sizes.push_back(MakeDim(size));
    return MakeShape(sizes);
  }
  static Status OfArgument(const Sections& sections, const std::vector<ShapeHandle>& shapes,
                           StringPiece name, const char* what, std::vector<ShapeHandle>* result) {
    int begin = 0;
    for (const auto& section : sections) {
      if (section.first == name.ToString()) {
        result->assign(shapes.begin() + begin, shapes.begin() + begin + section.second);
        return Status::OK();
      }
      begin += section.second;
    }
    return errors::InvalidArgument("Unknown ", what, " name: ", name);
  }
  template <typename Compute>
  Status Combine(DimensionHandle a, DimensionOrConstant b, DimensionHandle* result,
                 Compute compute) {
    *result = ValueKnown(a) && ValueKnown(b) ? MakeDim(compute(Value(a), Value(b))) : UnknownDim();
    return Status::OK();
  }

  const NodeDef& node_;
  Sections input_sections_, output_sections_;
  std::vector<ShapeHandle> inputs_, outputs_;
  std::map<int, Tensor> values_;
  std::map<int, std::vector<ShapeAndType>> handles_;
  std::map<int, ShapeHandle> shape_values_;  // of inputs that are read as shapes
  std::set<int> asked_, asked_shapes_;
  std::vector<std::unique_ptr<Dimension>> dimensions_;
  std::vector<std::unique_ptr<Shape>> shapes_;
};

using OpShapeInferenceFn = std::function<Status(InferenceContext*)>;

}  // namespace shape_inference

using OpShapeInferenceFn = shape_inference::OpShapeInferenceFn;

}  // namespace tensorflow

#include "inference_rules.h"

#endif  // STILLFLOW_INFERENCE_H_
