// TensorFormat and Padding, bounds checks, and other small utilities of kernels.
#ifndef STILLFLOW_FORMATS_H_
#define STILLFLOW_FORMATS_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "context.h"

namespace tensorflow {

enum Padding { VALID = 1, SAME = 2, EXPLICIT = 3 };

inline string GetPaddingAttrString() { return "padding: {'SAME', 'VALID'}"; }
inline string GetPaddingAttrStringWithExplicit() {
  return "padding: {'SAME', 'VALID', 'EXPLICIT'}";
}
inline string GetExplicitPaddingsAttrString() { return "explicit_paddings: list(int) = []"; }

inline Status GetNodeAttr(const NodeDef& node, StringPiece name, Padding* result) {
  string text;
  TF_RETURN_IF_ERROR(GetNodeAttr(node, name, &text));
  for (const auto& each : {std::make_pair("SAME", SAME), std::make_pair("VALID", VALID),
                           std::make_pair("EXPLICIT", EXPLICIT)}) {
    if (text != each.first) continue;
    *result = each.second;
    return Status::OK();
  }
  return errors::NotFound(text, " is not an allowed padding type");
}

enum TensorFormat {
  FORMAT_NHWC = 0,
  FORMAT_NCHW = 1,
  FORMAT_NCHW_VECT_C = 2,
  FORMAT_NHWC_VECT_W = 3,
  FORMAT_HWNC = 4,
  FORMAT_HWCN = 5,
};

SF_LOCAL inline bool FormatFromString(const string& text, TensorFormat* format) {
  static const std::map<string, TensorFormat> known = {
      {"NHWC", FORMAT_NHWC}, {"NDHWC", FORMAT_NHWC}, {"NCHW", FORMAT_NCHW},
      {"NCDHW", FORMAT_NCHW}, {"NCHW_VECT_C", FORMAT_NCHW_VECT_C},
      {"NHWC_VECT_W", FORMAT_NHWC_VECT_W}, {"HWNC", FORMAT_HWNC}, {"HWCN", FORMAT_HWCN}};
  const auto found = known.find(text);
  if (found == known.end()) return false;
  *format = found->second;
  return true;
}
SF_LOCAL inline string ToString(TensorFormat format) {
  static const char* const names[] = {"NHWC", "NCHW", "NCHW_VECT_C", "NHWC_VECT_W", "HWNC", "HWCN"};
  return names[format];
}
inline string GetConvnetDataFormatAttrString() {
  return "data_format: { 'NHWC', 'NCHW' } = 'NHWC' ";
}
inline string GetConvnet3dDataFormatAttrString() {
  return "data_format: { 'NDHWC', 'NCDHW' } = 'NDHWC' ";
}

// The place of a dimension: 'N', 'C', 'H', 'W', or a number of a spatial one.
template <int NUM_SPATIAL_DIMS>
inline int GetTensorDimIndex(TensorFormat format, char dimension, int num_total_dims) {
  const int last = num_total_dims - 1;
  const bool channels_first = format == FORMAT_NCHW;
  const int spatial = channels_first ? 2 : format == FORMAT_NHWC ? 1 : 0;
  switch (dimension) {
    case 'N':
      return format == FORMAT_HWNC ? last - 1 : format == FORMAT_HWCN ? last : 0;
    case 'C':
      return channels_first ? 1 : format == FORMAT_HWCN ? last - 1 : last;
    case '0':
    case '1':
    case '2':
      return spatial + dimension - '0';
    case 'D':
      return spatial;
    case 'H':
      return spatial + NUM_SPATIAL_DIMS - 2;
    case 'W':
      return spatial + NUM_SPATIAL_DIMS - 1;
    default:
      LOG(FATAL) << "Invalid dimension: " << dimension;
      return -1;
  }
}
template <int NUM_SPATIAL_DIMS = 2>
inline int GetTensorDimIndex(TensorFormat format, char dimension) {
  return GetTensorDimIndex<NUM_SPATIAL_DIMS>(format, dimension, NUM_SPATIAL_DIMS + 2);
}
inline int GetTensorSpatialDims(int dims, TensorFormat) { return dims - 2; }
inline int GetTensorDimsFromSpatialDims(int spatial, TensorFormat) { return spatial + 2; }
inline int GetTensorBatchDimIndex(int dims, TensorFormat format) {
  return GetTensorDimIndex<2>(format, 'N', dims);
}
inline int GetTensorFeatureDimIndex(int dims, TensorFormat format) {
  return GetTensorDimIndex<2>(format, 'C', dims);
}
inline int GetTensorSpatialDimIndex(int, TensorFormat format, int spatial) {
  return (format == FORMAT_NCHW ? 2 : format == FORMAT_NHWC ? 1 : 0) + spatial;
}
inline int64 GetTensorDim(const TensorShape& shape, TensorFormat format, char dimension) {
  const int spatial = shape.dims() - 2;
  const int at = spatial == 3 ? GetTensorDimIndex<3>(format, dimension)
                              : GetTensorDimIndex<2>(format, dimension, shape.dims());
  return shape.dim_size(at);
}
inline int64 GetTensorDim(const Tensor& tensor, TensorFormat format, char dimension) {
  return GetTensorDim(tensor.shape(), format, dimension);
}
template <typename T>
inline T GetTensorDim(gtl::ArraySlice<T> sizes, TensorFormat format, char dimension) {
  return sizes[static_cast<size_t>(
      GetTensorDimIndex<2>(format, dimension, static_cast<int>(sizes.size())))];
}
template <typename T>
inline T GetTensorDim(const std::vector<T>& sizes, TensorFormat format, char dimension) {
  return GetTensorDim(gtl::ArraySlice<T>(sizes), format, dimension);
}
inline TensorShape ShapeFromFormat(TensorFormat format, int64 n, gtl::ArraySlice<int64> spatial,
                                   int64 c) {
  TensorShape shape({n});
  if (format == FORMAT_NCHW) shape.AddDim(c);
  for (int64 size : spatial) shape.AddDim(size);
  if (format != FORMAT_NCHW) shape.AddDim(c);
  return shape;
}
inline TensorShape ShapeFromFormat(TensorFormat format, int64 n, int64 h, int64 w, int64 c) {
  return ShapeFromFormat(format, n, {h, w}, c);
}

inline Status GetWindowedOutputSizeVerboseV2(int64 input, int64 filter, int64 dilation,
                                             int64 stride, Padding padding, int64* output,
                                             int64* before, int64* after) {
  if (stride <= 0) return errors::InvalidArgument("Stride must be > 0, but got ", stride);
  if (dilation < 1) {
    return errors::InvalidArgument("Dilation rate must be >= 1, but got ", dilation);
  }
  const int64 reach = (filter - 1) * dilation + 1;
  if (padding == SAME) {
    *output = (input + stride - 1) / stride;
    const int64 all = std::max<int64>(0, (*output - 1) * stride + reach - input);
    *before = all / 2;
    *after = all - *before;
  } else {
    if (padding == VALID) *before = *after = 0;
    *output = (input + *before + *after - reach + stride) / stride;
  }
  if (*output >= 0) return Status::OK();
  return errors::InvalidArgument("Computed output size would be negative: ", *output,
                                 " [input_size: ", input, ", effective_filter_size: ", reach,
                                 ", stride: ", stride, "]");
}
inline Status GetWindowedOutputSizeVerbose(int64 input, int64 filter, int64 stride,
                                           Padding padding, int64* output, int64* before,
                                           int64* after) {
  return GetWindowedOutputSizeVerboseV2(input, filter, 1, stride, padding, output, before, after);
}
inline Status GetWindowedOutputSizeV2(int64 input, int64 filter, int64 dilation, int64 stride,
                                      Padding padding, int64* output, int64* before) {
  int64 after = 0;
  return GetWindowedOutputSizeVerboseV2(input, filter, dilation, stride, padding, output, before,
                                        &after);
}
inline Status GetWindowedOutputSize(int64 input, int64 filter, int64 stride, Padding padding,
                                    int64* output, int64* before) {
  return GetWindowedOutputSizeV2(input, filter, 1, stride, padding, output, before);
}

// True for 0 <= index < limit, of any types of integers.
template <typename Index, typename Limit>
EIGEN_ALWAYS_INLINE EIGEN_DEVICE_FUNC bool FastBoundsCheck(const Index index, const Limit limit) {
  return static_cast<unsigned long long>(index) < static_cast<unsigned long long>(limit);
}

namespace internal {
// The value as it is now, whatever another thread writes there.
template <typename T>
EIGEN_ALWAYS_INLINE EIGEN_DEVICE_FUNC const T SubtleMustCopy(const T& value) {
  const volatile T* place = &value;
  return *place;
}
}  // namespace internal

inline Status ReadBoolFromEnvVar(StringPiece name, bool otherwise, bool* value) {
  const char* text = getenv(name.ToString().c_str());
  *value = text ? (string(text) == "1" || str_util::Lowercase(text) == "true") : otherwise;
  return Status::OK();
}

}  // namespace tensorflow

#endif  // STILLFLOW_FORMATS_H_
