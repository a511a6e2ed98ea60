// Copies between a tensor and a row of a batch, along the first dimension.
#ifndef STILLFLOW_BATCHES_H_
#define STILLFLOW_BATCHES_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "tensor.h"

namespace tensorflow {
namespace batch_util {

// Copies elements, which have to be as many, from the beginning of one tensor to that of another.
inline Status CopyAll(const Tensor& from, Tensor* to, const Tensor& element, const Tensor& slice) {
  if (from.NumElements() != to->NumElements()) {
    return errors::Internal(
        "ValidateInput Cannot perform copy: number of elements does not match.  Shapes are: "
        "[element]: ",
        element.shape().DebugString(), ", [parent slice]: ", slice.shape().DebugString());
  }
  if (from.dtype() != to->dtype()) {
    return errors::Internal("cannot copy ", DataTypeString(from.dtype()), " to ",
                            DataTypeString(to->dtype()));
  }
  if (from.dtype() == DT_STRING) {
    std::copy_n(from.base<string>(), from.NumElements(), to->base<string>());
  } else if (from.dtype() == DT_RESOURCE) {
    std::copy_n(from.base<ResourceHandle>(), from.NumElements(), to->base<ResourceHandle>());
  } else if (from.TotalBytes()) {
    memcpy(to->base<char>(), from.base<char>(), from.TotalBytes());
  }
  return Status::OK();
}

inline Status CopyElementToSlice(const Tensor& element, Tensor* parent, int64 index) {
  Tensor slice = parent->SubSlice(index);
  return CopyAll(element, &slice, element, slice);
}
inline Status CopySliceToElement(const Tensor& parent, Tensor* element, int64 index) {
  const Tensor slice = parent.SubSlice(index);
  return CopyAll(slice, element, *element, slice);
}
inline Status MaybeMoveSliceToElement(Tensor* parent, Tensor* element, int64 index) {
  return CopySliceToElement(*parent, element, index);
}

}  // namespace batch_util
}  // namespace tensorflow

#endif  // STILLFLOW_BATCHES_H_
