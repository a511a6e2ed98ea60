// The rules of InferenceContext, and shape functions that many operations share.
#ifndef STILLFLOW_INFERENCE_RULES_H_
#define STILLFLOW_INFERENCE_RULES_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "inference.h"

namespace tensorflow {
namespace shape_inference {

inline Status InferenceContext::WithRank(ShapeHandle s, int64 rank, ShapeHandle* result) {
  const int32 known = Rank(s);
  *result = known == kUnknownRank ? UnknownShapeOfRank(rank) : s;
  if (known == kUnknownRank || known == rank) return Status::OK();
  *result = ShapeHandle();
  return errors::InvalidArgument("Shape must be rank ", rank, " but is rank ", known);
}

inline Status InferenceContext::WithRankAtLeast(ShapeHandle s, int64 rank, ShapeHandle* result) {
  const int32 known = Rank(s);
  *result = s;
  if (known == kUnknownRank || known >= rank) return Status::OK();
  *result = ShapeHandle();
  return errors::InvalidArgument("Shape must be at least rank ", rank, " but is rank ", known);
}

inline Status InferenceContext::WithRankAtMost(ShapeHandle s, int64 rank, ShapeHandle* result) {
  const int32 known = Rank(s);
  *result = s;
  if (known <= rank) return Status::OK();
  *result = ShapeHandle();
  return errors::InvalidArgument("Shape must be at most rank ", rank, " but is rank ", known);
}

inline Status InferenceContext::WithValue(DimensionHandle d, int64 value,
                                          DimensionHandle* result) {
  const int64 known = Value(d);
  *result = known == value ? d : known == kUnknownDim ? MakeDim(value) : DimensionHandle();
  if (result->IsSet()) return Status::OK();
  return errors::InvalidArgument("Dimension must be ", value, " but is ", known);
}

inline Status InferenceContext::Merge(DimensionHandle a, DimensionHandle b,
                                      DimensionHandle* result) {
  *result = !ValueKnown(b) ? a : b;
  if (!ValueKnown(a) || !ValueKnown(b) || Value(a) == Value(b)) return Status::OK();
  *result = DimensionHandle();
  return errors::InvalidArgument("Dimensions must be equal, but are ", Value(a), " and ",
                                 Value(b));
}

inline Status InferenceContext::Merge(ShapeHandle a, ShapeHandle b, ShapeHandle* result) {
  *result = RankKnown(b) ? b : a;
  if (!RankKnown(a) || !RankKnown(b)) return Status::OK();
  *result = ShapeHandle();
  if (Rank(a) != Rank(b)) {
    return errors::InvalidArgument("Shapes must be equal rank, but are ", Rank(a), " and ",
                                   Rank(b));
  }
  std::vector<DimensionHandle> sizes(static_cast<size_t>(Rank(a)));
  for (int at = 0; at < Rank(a); ++at) {
    const DimensionHandle x = Dim(a, at), y = Dim(b, at);
    if (!Merge(x, y, &sizes[static_cast<size_t>(at)]).ok()) {
      return errors::InvalidArgument("Dimension ", at, " in both shapes must be equal, but are ",
                                     Value(x), " and ", Value(y), ". Shapes are ",
                                     DebugString(a), " and ", DebugString(b), ".");
    }
  }
  *result = MakeShape(sizes);
  return Status::OK();
}

inline Status InferenceContext::MergePrefix(ShapeHandle s, ShapeHandle prefix,
                                            ShapeHandle* s_result, ShapeHandle* prefix_result) {
  *s_result = *prefix_result = ShapeHandle();
  if (!RankKnown(prefix) || !RankKnown(s)) {
    *s_result = s;
    *prefix_result = prefix;
    return Status::OK();
  }
  ShapeHandle ignored, tail;
  TF_RETURN_IF_ERROR(WithRankAtLeast(s, Rank(prefix), &ignored));
  TF_RETURN_IF_ERROR(Subshape(s, Rank(prefix), &tail));
  std::vector<DimensionHandle> sizes(static_cast<size_t>(Rank(prefix)));
  for (int at = 0; at < Rank(prefix); ++at)
    TF_RETURN_IF_ERROR(Merge(Dim(s, at), Dim(prefix, at), &sizes[static_cast<size_t>(at)]));
  *prefix_result = MakeShape(sizes);
  return Concatenate(*prefix_result, tail, s_result);
}

inline Status InferenceContext::Subshape(ShapeHandle s, int64 begin, ShapeHandle* result) {
  return Subshape(s, begin, std::numeric_limits<int64>::max(), result);
}
inline Status InferenceContext::Subshape(ShapeHandle s, int64 begin, int64 end,
                                         ShapeHandle* result) {
  return Subshape(s, begin, end, 1, result);
}
inline Status InferenceContext::Subshape(ShapeHandle s, int64 begin, int64 end, int64 stride,
                                         ShapeHandle* result) {
  const int64 rank = Rank(s);
  if (!RankKnown(s)) {
    *result = begin == 0 && end == std::numeric_limits<int64>::max() ? s : UnknownShape();
    return Status::OK();
  }
  const int64 first = begin < 0 ? begin + rank : std::min(begin, rank);
  const int64 last = end < 0 ? end + rank : std::min(end, rank);
  for (const auto& end_of : {std::make_pair("start", first), std::make_pair("end", last)}) {
    if (end_of.second >= 0) continue;
    *result = ShapeHandle();
    return errors::InvalidArgument("Subshape ", end_of.first, " out of bounds: ",
                                   end_of.first[0] == 's' ? begin : end, ", for shape with rank ",
                                   rank);
  }
  if (stride > 0 && first > last) {
    *result = ShapeHandle();
    return errors::InvalidArgument("Subshape must have computed start <= end, but is ", first,
                                   " and ", last, " (computed from start ", begin, " and end ",
                                   end, " over shape with rank ", rank, ")");
  }
  std::vector<DimensionHandle> sizes;
  for (int64 at = first; stride > 0 ? at < last : at > last; at += stride)
    sizes.push_back(Dim(s, at));
  *result = MakeShape(sizes);
  return Status::OK();
}

inline Status InferenceContext::Concatenate(ShapeHandle a, ShapeHandle b, ShapeHandle* result) {
  if (!RankKnown(a) || !RankKnown(b)) {
    *result = UnknownShape();
    return Status::OK();
  }
  std::vector<DimensionHandle> sizes = a.ptr_->sizes_;
  sizes.insert(sizes.end(), b.ptr_->sizes_.begin(), b.ptr_->sizes_.end());
  *result = MakeShape(sizes);
  return Status::OK();
}

inline Status InferenceContext::ReplaceDim(ShapeHandle s, int64 at, DimensionHandle size,
                                           ShapeHandle* result) {
  if (!RankKnown(s)) {
    *result = UnknownShape();
    return Status::OK();
  }
  const int64 index = at < 0 ? at + Rank(s) : at;
  if (index < 0 || index >= Rank(s)) {
    *result = ShapeHandle();
    return errors::InvalidArgument("Out of range dim_index ", at, " for shape with ", Rank(s),
                                   " dimensions");
  }
  std::vector<DimensionHandle> sizes = s.ptr_->sizes_;
  sizes[static_cast<size_t>(index)] = size;
  *result = MakeShape(sizes);
  return Status::OK();
}

inline Status InferenceContext::Divide(DimensionHandle d, DimensionOrConstant by, bool evenly,
                                       DimensionHandle* result) {
  const int64 size = Value(d), divisor = Value(by);
  if (divisor == 1) {
    *result = d;
  } else if (!ValueKnown(d) || !ValueKnown(by)) {
    *result = UnknownDim();
  } else {
    if (divisor <= 0) {
      return errors::InvalidArgument("Divisor must be positive but is ", divisor);
    }
    if (evenly && size % divisor != 0) {
      return errors::InvalidArgument("Dimension size must be evenly divisible by ", divisor,
                                     " but is ", size);
    }
    *result = MakeDim(size / divisor);
  }
  return Status::OK();
}

inline Status InferenceContext::Add(DimensionHandle a, DimensionOrConstant b,
                                    DimensionHandle* result) {
  return Combine(a, b, result, [](int64 x, int64 y) { return x + y; });
}
inline Status InferenceContext::Subtract(DimensionHandle a, DimensionOrConstant b,
                                         DimensionHandle* result) {
  if (ValueKnown(a) && ValueKnown(b) && Value(a) < Value(b)) {
    return errors::InvalidArgument("Negative dimension size caused by subtracting ", Value(b),
                                   " from ", Value(a));
  }
  return Combine(a, b, result, [](int64 x, int64 y) { return x - y; });
}
inline Status InferenceContext::Multiply(DimensionHandle a, DimensionOrConstant b,
                                         DimensionHandle* result) {
  if (Value(a) == 0 || Value(b) == 0) {
    *result = MakeDim(0);
    return Status::OK();
  }
  return Combine(a, b, result, [](int64 x, int64 y) { return x * y; });
}
inline Status InferenceContext::Min(DimensionHandle a, DimensionOrConstant b,
                                    DimensionHandle* result) {
  return Combine(a, b, result, [](int64 x, int64 y) { return std::min(x, y); });
}
inline Status InferenceContext::Max(DimensionHandle a, DimensionOrConstant b,
                                    DimensionHandle* result) {
  return Combine(a, b, result, [](int64 x, int64 y) { return std::max(x, y); });
}

inline Status InferenceContext::GetScalarFromTensor(const Tensor* value, int64* result) {
  if (value->dims() != 0) {
    return errors::InvalidArgument("Input must be scalar but has rank ", value->dims());
  }
  if (value->dtype() == DT_INT32) {
    *result = *value->base<int32>();
  } else if (value->dtype() == DT_INT64) {
    *result = *value->base<int64>();
  } else {
    return errors::InvalidArgument("Scalar input must be int32 or int64.");
  }
  return Status::OK();
}

inline Status InferenceContext::MakeDimForScalarInput(int at, DimensionHandle* result) {
  const Tensor* value = input_tensor(at);
  if (value == nullptr) {
    *result = UnknownDim();
    return Status::OK();
  }
  int64 size;
  TF_RETURN_IF_ERROR(GetScalarFromTensor(value, &size));
  if (size < 0) {
    return errors::InvalidArgument("Dimension size, given by scalar input ", at,
                                   ", must be non-negative but is ", size);
  }
  *result = MakeDim(size);
  return Status::OK();
}

inline Status InferenceContext::MakeShapeFromShapeTensor(int at, ShapeHandle* result) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(WithRank(input(at), 1, &shape));
  Input& given = At(at);
  given.asked_as_shape = true;
  if (!given.as_shape.IsSet()) return MakeShapeFromTensor(nullptr, shape, result);
  *result = given.as_shape;
  return Status::OK();
}

inline Status InferenceContext::MakeShapeFromTensor(const Tensor* value, ShapeHandle shape,
                                                    ShapeHandle* result) {
  if (value == nullptr) {
    const DimensionHandle rank = Dim(shape, 0);
    *result = ValueKnown(rank) ? UnknownShapeOfRank(Value(rank)) : UnknownShape();
    return Status::OK();
  }
  if (value->dims() != 1) {
    return errors::InvalidArgument("Input tensor must be rank 1, but was rank ", value->dims());
  }
  if (value->dtype() != DT_INT32 && value->dtype() != DT_INT64) {
    return errors::InvalidArgument("Input tensor must be int32 or int64, but was ",
                                   DataTypeString(value->dtype()));
  }
  std::vector<DimensionHandle> sizes;
  for (int64 i = 0; i < value->NumElements(); ++i) {
    const int64 size =
        value->dtype() == DT_INT32 ? value->base<int32>()[i] : value->base<int64>()[i];
    if (size < -1) {
      return errors::InvalidArgument("Invalid value in tensor used for shape: ", size);
    }
    sizes.push_back(MakeDim(size));
  }
  *result = MakeShape(sizes);
  return Status::OK();
}

inline Status UnchangedShape(InferenceContext* c) {
  c->set_output(0, c->input(0));
  return Status::OK();
}
inline Status UnknownShape(InferenceContext* c) {
  for (int at = 0; at < c->num_outputs(); ++at) c->set_output(at, c->UnknownShape());
  return Status::OK();
}
inline Status NoOutputs(InferenceContext*) { return Status::OK(); }
inline Status ScalarShape(InferenceContext* c) {
  c->set_output(0, c->Scalar());
  return Status::OK();
}
inline Status UnchangedShapeWithRank(InferenceContext* c, int32 rank) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), rank, &shape));
  c->set_output(0, shape);
  return Status::OK();
}
inline Status UnchangedShapeWithRankAtLeast(InferenceContext* c, int32 rank) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), rank, &shape));
  c->set_output(0, shape);
  return Status::OK();
}
inline Status UnchangedShapeWithRankAtMost(InferenceContext* c, int32 rank) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(c->WithRankAtMost(c->input(0), rank, &shape));
  c->set_output(0, shape);
  return Status::OK();
}
inline Status MergeBothInputsShapeFn(InferenceContext* c) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(c->Merge(c->input(0), c->input(1), &shape));
  c->set_output(0, shape);
  return Status::OK();
}
inline Status ExplicitShape(InferenceContext* c) {
  PartialTensorShape shape;
  TF_RETURN_IF_ERROR(c->GetAttr("shape", &shape));
  ShapeHandle handle;
  TF_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(shape, &handle));
  c->set_output(0, handle);
  return Status::OK();
}

inline Status MatMulShape(InferenceContext* c) {
  ShapeHandle a, b;
  bool transpose_a, transpose_b;
  DimensionHandle merged;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 2, &a));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &b));
  TF_RETURN_IF_ERROR(c->GetAttr("transpose_a", &transpose_a));
  TF_RETURN_IF_ERROR(c->GetAttr("transpose_b", &transpose_b));
  TF_RETURN_IF_ERROR(c->Merge(c->Dim(a, transpose_a ? 0 : 1), c->Dim(b, transpose_b ? 1 : 0),
                              &merged));
  c->set_output(0, c->Matrix(c->Dim(a, transpose_a ? 1 : 0), c->Dim(b, transpose_b ? 0 : 1)));
  return Status::OK();
}

// The shape of two inputs that are broadcast against each other.
inline Status BroadcastBinaryOpOutputShapeFn(InferenceContext* c, int output) {
  ShapeHandle a = c->input(0), b = c->input(1);
  if (!c->RankKnown(a) || !c->RankKnown(b)) {
    c->set_output(output, c->UnknownShape());
    return Status::OK();
  }
  const int32 rank = std::max(c->Rank(a), c->Rank(b));
  std::vector<DimensionHandle> sizes;
  for (int32 at = 0; at < rank; ++at) {
    const int32 i = at - rank + c->Rank(a), j = at - rank + c->Rank(b);
    const DimensionHandle x = i < 0 ? c->MakeDim(1) : c->Dim(a, i);
    const DimensionHandle y = j < 0 ? c->MakeDim(1) : c->Dim(b, j);
    const int64 m = c->Value(x), n = c->Value(y);
    DimensionHandle size;
    if (m == 1 || n == 1) {
      size = m == 1 ? y : x;
    } else if (m < 0 && n < 0) {
      size = x.SameHandle(y) ? x : c->UnknownDim();
    } else if (m < 0 || n < 0) {
      size = m < 0 ? y : x;
    } else {
      TF_RETURN_IF_ERROR(c->Merge(x, y, &size));
    }
    sizes.push_back(size);
  }
  c->set_output(output, c->MakeShape(sizes));
  return Status::OK();
}
inline Status BroadcastBinaryOpShapeFn(InferenceContext* c) {
  return BroadcastBinaryOpOutputShapeFn(c, 0);
}

}  // namespace shape_inference
}  // namespace tensorflow

#endif  // STILLFLOW_INFERENCE_RULES_H_
