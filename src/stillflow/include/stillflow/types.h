// DataType, its C++ types, and the macros that name groups of them.
#ifndef STILLFLOW_TYPES_H_
#define STILLFLOW_TYPES_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "containers.h"
#include "eigen.h"
#include "status.h"

namespace tensorflow {

// clang-format off
#define SF_TYPES(m)                                                                   \
  m(FLOAT, 1, float, "float")        m(DOUBLE, 2, double, "double")                   \
  m(INT32, 3, int32, "int32")        m(UINT8, 4, uint8, "uint8")                      \
  m(INT16, 5, int16, "int16")        m(INT8, 6, int8, "int8")                         \
  m(STRING, 7, string, "string")     m(COMPLEX64, 8, complex64, "complex64")          \
  m(INT64, 9, int64, "int64")        m(BOOL, 10, bool, "bool")                        \
  m(QINT8, 11, qint8, "qint8")       m(QUINT8, 12, quint8, "quint8")                  \
  m(QINT32, 13, qint32, "qint32")    m(BFLOAT16, 14, bfloat16, "bfloat16")            \
  m(QINT16, 15, qint16, "qint16")    m(QUINT16, 16, quint16, "quint16")               \
  m(UINT16, 17, uint16, "uint16")    m(COMPLEX128, 18, complex128, "complex128")      \
  m(HALF, 19, Eigen::half, "half")   m(RESOURCE, 20, ResourceHandle, "resource")      \
  m(VARIANT, 21, Variant, "variant") m(UINT32, 22, uint32, "uint32")                  \
  m(UINT64, 23, uint64, "uint64")
// clang-format on

enum DataType : int {
  DT_INVALID = 0,
#define SF_TYPE(name, number, type, text) DT_##name = number, DT_##name##_REF = number + 100,
  SF_TYPES(SF_TYPE)
#undef SF_TYPE
};
const DataType DataType_MIN = DT_INVALID;
const DataType DataType_MAX = DT_UINT64_REF;

// Numbers that stand for others by a scale; kernels see what is stored.
template <typename Int, int Tag>
struct Quantized {
  Quantized() : value(0) {}
  Quantized(Int number) : value(number) {}  // NOLINT
  operator int() const { return static_cast<int>(value); }  // NOLINT
  Int value;
};
using qint8 = Quantized<int8, 0>;
using quint8 = Quantized<uint8, 1>;
using qint16 = Quantized<int16, 2>;
using quint16 = Quantized<uint16, 3>;
using qint32 = Quantized<int32, 4>;
using half = Eigen::half;
using bfloat16 = Eigen::bfloat16;
class Variant {};  // values that only Python knows
class ResourceHandle;

template <typename T>
struct DataTypeToEnum {
  static_assert(sizeof(T) == 0, "a type that tensors do not have");
};
template <DataType VALUE>
struct EnumToDataType {};
template <typename T>
struct IsValidDataType {
  static constexpr bool value = false;
};

#define SF_TYPE(name, number, type, text)                                \
  template <>                                                            \
  struct DataTypeToEnum<type> {                                          \
    static constexpr DataType value = DT_##name;                         \
    static constexpr DataType v() { return DT_##name; }                  \
    static constexpr DataType ref() { return DT_##name##_REF; }          \
  };                                                                     \
  template <>                                                            \
  struct EnumToDataType<DT_##name> {                                     \
    typedef type Type;                                                   \
  };                                                                     \
  template <>                                                            \
  struct IsValidDataType<type> {                                         \
    static constexpr bool value = true;                                  \
  };
SF_TYPES(SF_TYPE)
#undef SF_TYPE
// The two 64-bit types that the C++ library names by `long`, where that is another type.
#if defined(__LP64__)
template <>
struct DataTypeToEnum<long> : DataTypeToEnum<int64> {};  // NOLINT
template <>
struct DataTypeToEnum<unsigned long> : DataTypeToEnum<uint64> {};  // NOLINT
#endif
template <typename T>
struct DataTypeToEnum<const T> : DataTypeToEnum<T> {};

inline bool IsRefType(DataType type) { return type > 100; }
inline DataType MakeRefType(DataType type) { return static_cast<DataType>(type + 100); }
inline DataType RemoveRefType(DataType type) {
  return IsRefType(type) ? static_cast<DataType>(type - 100) : type;
}
inline DataType BaseType(DataType type) { return RemoveRefType(type); }

SF_RARE inline string DataTypeString(DataType type) {
  if (IsRefType(type)) return DataTypeString(RemoveRefType(type)) + "_ref";
  switch (type) {
    case DT_INVALID:
      return "INVALID";
#define SF_TYPE(name, number, type, text) \
  case DT_##name:                         \
    return text;
      SF_TYPES(SF_TYPE)
#undef SF_TYPE
    default:
      return strings::StrCat("unknown dtype enum (", static_cast<int>(type), ")");
  }
}

inline string DataType_Name(DataType type) {
  string text = DataTypeString(type);
  for (char& c : text) c = static_cast<char>(toupper(c));
  return "DT_" + text;
}

template <typename T>
struct StoredSize {
  static constexpr int value = sizeof(T);
};
template <>
struct StoredSize<string> {
  static constexpr int value = 0;
};
template <>
struct StoredSize<ResourceHandle> {
  static constexpr int value = 0;
};
template <>
struct StoredSize<Variant> {
  static constexpr int value = 0;
};

// Bytes of an element; 0 of what has no fixed size.
inline int DataTypeSize(DataType type) {
  switch (RemoveRefType(type)) {
#define SF_TYPE(name, number, type, text) \
  case DT_##name:                         \
    return StoredSize<type>::value;
    SF_TYPES(SF_TYPE)
#undef SF_TYPE
    default:
      return 0;
  }
}

inline bool DataTypeCanUseMemcpy(DataType type) { return DataTypeSize(type) > 0; }
inline bool DataTypeIsComplex(DataType type) {
  return type == DT_COMPLEX64 || type == DT_COMPLEX128;
}
inline bool DataTypeIsFloating(DataType type) {
  return type == DT_HALF || type == DT_BFLOAT16 || type == DT_FLOAT || type == DT_DOUBLE;
}
inline bool DataTypeIsQuantized(DataType type) {
  return (type >= DT_QINT8 && type <= DT_QINT32) || type == DT_QINT16 || type == DT_QUINT16;
}
inline bool DataTypeIsUnsigned(DataType type) {
  return type == DT_UINT8 || type == DT_UINT16 || type == DT_UINT32 || type == DT_UINT64;
}
inline bool DataTypeIsInteger(DataType type) {
  return DataTypeIsUnsigned(type) || type == DT_INT8 || type == DT_INT16 || type == DT_INT32 ||
         type == DT_INT64;
}
inline bool DataTypeIsSigned(DataType type) {
  return DataTypeIsInteger(type) && !DataTypeIsUnsigned(type);
}

using DataTypeVector = gtl::InlinedVector<DataType, 4>;
using DataTypeSlice = gtl::ArraySlice<DataType>;
inline string DataTypeSliceString(const DataTypeVector& types) {
  string text;
  for (DataType type : types)
    strings::StrAppend(&text, text.empty() ? "" : ", ", DataTypeString(type));
  return text;
}
inline string DataTypeVectorString(const DataTypeVector& types) {
  return DataTypeSliceString(types);
}

enum MemoryType { DEVICE_MEMORY = 0, HOST_MEMORY = 1 };
using MemoryTypeVector = gtl::InlinedVector<MemoryType, 4>;

static const char* const DEVICE_DEFAULT = "DEFAULT";
static const char* const DEVICE_CPU = "CPU";
static const char* const DEVICE_GPU = "GPU";
static const char* const DEVICE_SYCL = "SYCL";

// The kind of a device, by its name.
class DeviceType {
 public:
  DeviceType(const char* type) : type_(type) {}  // NOLINT
  explicit DeviceType(StringPiece type) : type_(type.ToString()) {}
  const char* type() const { return type_.c_str(); }
  const string& type_string() const { return type_; }
  bool operator==(const DeviceType& other) const { return type_ == other.type_; }
  bool operator!=(const DeviceType& other) const { return type_ != other.type_; }
  bool operator<(const DeviceType& other) const { return type_ < other.type_; }

 private:
  string type_;
};

#define TF_CALL_float(m) m(float)
#define TF_CALL_double(m) m(double)
#define TF_CALL_int8(m) m(::tensorflow::int8)
#define TF_CALL_int16(m) m(::tensorflow::int16)
#define TF_CALL_int32(m) m(::tensorflow::int32)
#define TF_CALL_int64(m) m(::tensorflow::int64)
#define TF_CALL_uint8(m) m(::tensorflow::uint8)
#define TF_CALL_uint16(m) m(::tensorflow::uint16)
#define TF_CALL_uint32(m) m(::tensorflow::uint32)
#define TF_CALL_uint64(m) m(::tensorflow::uint64)
#define TF_CALL_bool(m) m(bool)
#define TF_CALL_string(m) m(string)
#define TF_CALL_tstring(m) m(string)
#define TF_CALL_half(m) m(Eigen::half)
#define TF_CALL_bfloat16(m) m(::tensorflow::bfloat16)
#define TF_CALL_complex64(m) m(::tensorflow::complex64)
#define TF_CALL_complex128(m) m(::tensorflow::complex128)
#define TF_CALL_resource(m) m(::tensorflow::ResourceHandle)
#define TF_CALL_variant(m) m(::tensorflow::Variant)
#define TF_CALL_qint8(m) m(::tensorflow::qint8)
#define TF_CALL_quint8(m) m(::tensorflow::quint8)
#define TF_CALL_qint16(m) m(::tensorflow::qint16)
#define TF_CALL_quint16(m) m(::tensorflow::quint16)
#define TF_CALL_qint32(m) m(::tensorflow::qint32)
#define TF_CALL_INTEGRAL_TYPES(m)                                                    \
  TF_CALL_int64(m) TF_CALL_int32(m) TF_CALL_uint16(m) TF_CALL_int16(m) TF_CALL_uint8(m) \
      TF_CALL_int8(m)
#define TF_CALL_REAL_NUMBER_TYPES(m) \
  TF_CALL_INTEGRAL_TYPES(m) TF_CALL_half(m) TF_CALL_bfloat16(m) TF_CALL_float(m) TF_CALL_double(m)
#define TF_CALL_REAL_NUMBER_TYPES_NO_BFLOAT16(m) \
  TF_CALL_INTEGRAL_TYPES(m) TF_CALL_half(m) TF_CALL_float(m) TF_CALL_double(m)
#define TF_CALL_REAL_NUMBER_TYPES_NO_INT32(m)                                          \
  TF_CALL_half(m) TF_CALL_bfloat16(m) TF_CALL_float(m) TF_CALL_double(m) TF_CALL_int64(m) \
      TF_CALL_uint16(m) TF_CALL_int16(m) TF_CALL_uint8(m) TF_CALL_int8(m)
#define TF_CALL_NUMBER_TYPES(m) \
  TF_CALL_REAL_NUMBER_TYPES(m) TF_CALL_complex64(m) TF_CALL_complex128(m)
#define TF_CALL_NUMBER_TYPES_NO_INT32(m) \
  TF_CALL_REAL_NUMBER_TYPES_NO_INT32(m) TF_CALL_complex64(m) TF_CALL_complex128(m)
#define TF_CALL_POD_TYPES(m) TF_CALL_NUMBER_TYPES(m) TF_CALL_bool(m)
#define TF_CALL_POD_STRING_TYPES(m) TF_CALL_POD_TYPES(m) TF_CALL_string(m)
#define TF_CALL_ALL_TYPES(m) \
  TF_CALL_POD_STRING_TYPES(m) TF_CALL_resource(m) TF_CALL_variant(m)
#define TF_CALL_QUANTIZED_TYPES(m) TF_CALL_qint8(m) TF_CALL_quint8(m) TF_CALL_qint32(m)
#define TF_CALL_SAVE_RESTORE_TYPES(m) TF_CALL_POD_STRING_TYPES(m) TF_CALL_QUANTIZED_TYPES(m)
#define TF_CALL_GPU_NUMBER_TYPES_NO_HALF(m) TF_CALL_float(m) TF_CALL_double(m)
#define TF_CALL_GPU_NUMBER_TYPES(m) TF_CALL_half(m) TF_CALL_float(m) TF_CALL_double(m)
#define TF_CALL_GPU_ALL_TYPES(m) \
  TF_CALL_GPU_NUMBER_TYPES(m) TF_CALL_bool(m) TF_CALL_complex64(m) TF_CALL_complex128(m)
#define TF_CALL_UNSIGNED_INTEGRAL_TYPES(m) TF_CALL_uint16(m) TF_CALL_uint8(m)
#define TF_CALL_SIGNED_INTEGRAL_TYPES(m) \
  TF_CALL_int64(m) TF_CALL_int32(m) TF_CALL_int16(m) TF_CALL_int8(m)
#define TF_CALL_SYCL_NUMBER_TYPES(m) TF_CALL_float(m) TF_CALL_double(m)

}  // namespace tensorflow

#endif  // STILLFLOW_TYPES_H_
