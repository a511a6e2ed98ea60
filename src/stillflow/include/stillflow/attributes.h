// Messages between the library and Python, and the attributes of a node, which come in one.
//
// A message is a row of 64-bit integers, doubles and texts (their length, then their bytes).
#ifndef STILLFLOW_ATTRIBUTES_H_
#define STILLFLOW_ATTRIBUTES_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "tensor.h"

namespace tensorflow {

namespace internal {

class Writer {
 public:
  void Number(int64 value) { Bytes(&value, sizeof(value)); }
  void Text(const string& text) {
    Number(static_cast<int64>(text.size()));
    Bytes(text.data(), text.size());
  }
  void Bytes(const void* bytes, size_t size) { data.append(static_cast<const char*>(bytes), size); }
  void Texts(const std::vector<string>& texts) {
    Number(static_cast<int64>(texts.size()));
    for (const string& text : texts) Text(text);
  }
  void Shape(const ShapeBase& shape) {
    Number(shape.dims());
    for (int64 size : shape.sizes()) Number(size);
  }
  void Value(const Tensor& tensor);

  string data;
};

class Reader {
 public:
  Reader(const char* data, int64 size) : data_(data), end_(data + size) {}
  int64 Number() { return Fixed<int64>(); }
  double Real() { return Fixed<double>(); }
  string Text() {
    const int64 size = Number();
    const char* text = Take(size);
    return string(text, static_cast<size_t>(size));
  }
  std::vector<string> Texts() {
    std::vector<string> result(static_cast<size_t>(Number()));
    for (string& text : result) text = Text();
    return result;
  }
  PartialTensorShape Shape() {
    const int64 rank = Number();
    if (rank < 0) return PartialTensorShape();
    PartialTensorShape shape(nullptr, 0);
    for (int64 at = 0; at < rank; ++at) shape.AddDim(Number());
    return shape;
  }
  Tensor Value() {
    const DataType type = static_cast<DataType>(Number());
    TensorShape shape;
    CHECK(Shape().AsTensorShape(&shape)) << "a value without a shape";
    Tensor result(type, shape);
    if (type == DT_STRING) {
      for (int64 at = 0; at < shape.num_elements(); ++at) result.base<string>()[at] = Text();
    } else {
      const int64 size = Number();
      memcpy(result.base<char>(), Take(size), static_cast<size_t>(size));
    }
    return result;
  }

 private:
  template <typename T>
  T Fixed() {
    T value;
    memcpy(&value, Take(sizeof(T)), sizeof(T));
    return value;
  }
  const char* Take(int64 size) {
    CHECK(size >= 0 && size <= end_ - data_) << "a message that ends too soon";
    const char* taken = data_;
    data_ += size;
    return taken;
  }
  const char* data_;
  const char* end_;
};

inline void Writer::Value(const Tensor& tensor) {
  Number(tensor.dtype());
  Shape(tensor.shape());
  if (tensor.dtype() == DT_STRING) {
    for (int64 at = 0; at < tensor.NumElements(); ++at) Text(tensor.base<string>()[at]);
  } else if (tensor.dtype() == DT_RESOURCE) {
    for (int64 at = 0; at < tensor.NumElements(); ++at) {
      const ResourceHandle& handle = tensor.base<ResourceHandle>()[at];
      Text(handle.device());
      Text(handle.container());
      Text(handle.name());
      Text(handle.maybe_type_name());
      Number(static_cast<int64>(handle.hash_code()));
    }
  } else {
    Text(string(tensor.base<char>(), tensor.TotalBytes()));
  }
}

}  // namespace internal

// A function of the graph, by name; kernels of libraries cannot call it.
class NameAttrList {
 public:
  const string& name() const { return name_; }
  void set_name(const string& name) { name_ = name; }

 private:
  string name_;
};

// The value of one attribute, or of a list: its kind says which members hold it.
class AttrValue {
 public:
  string kind;  // "int", "list(int)", ...
  std::vector<int64> ints;  // integers, truths and types
  std::vector<double> reals;
  std::vector<string> texts;  // strings and names of functions
  std::vector<PartialTensorShape> shapes;
  std::vector<Tensor> tensors;

  int64 i() const { return ints.at(0); }
  bool b() const { return ints.at(0) != 0; }
  float f() const { return static_cast<float>(reals.at(0)); }
  const string& s() const { return texts.at(0); }
  DataType type() const { return static_cast<DataType>(ints.at(0)); }

  static AttrValue Read(internal::Reader* reader) {
    AttrValue value;
    value.kind = reader->Text();
    const string element = value.element();
    for (int64 left = reader->Number(); left > 0; --left) {
      if (element == "float") {
        value.reals.push_back(reader->Real());
      } else if (element == "string" || element == "func") {
        value.texts.push_back(reader->Text());
      } else if (element == "shape") {
        value.shapes.push_back(reader->Shape());
      } else if (element == "tensor") {
        value.tensors.push_back(reader->Value());
      } else {
        value.ints.push_back(reader->Number());
      }
    }
    return value;
  }
  bool is_list() const { return kind.compare(0, 5, "list(") == 0; }
  string element() const { return is_list() ? kind.substr(5, kind.size() - 6) : kind; }
};

// The node that a kernel is made for, or whose shapes are inferred.
class NodeDef {
 public:
  const string& name() const { return name_; }
  const string& op() const { return op_; }
  const string& device() const { return device_; }
  const std::map<string, AttrValue>& attr() const { return attributes_; }
  const AttrValue* Find(const string& name) const { return gtl::FindOrNull(attributes_, name); }
  string DebugString() const { return strings::StrCat("{{node ", name_, "}} = ", op_); }

  static NodeDef Read(internal::Reader* reader) {
    NodeDef node;
    node.name_ = reader->Text();
    node.op_ = reader->Text();
    node.device_ = reader->Text();
    for (int64 left = reader->Number(); left > 0; --left) {
      const string name = reader->Text();
      node.attributes_[name] = AttrValue::Read(reader);
    }
    return node;
  }

 private:
  string name_, op_, device_;
  std::map<string, AttrValue> attributes_;
};

namespace internal {

// How a value of each C++ type is read: the kind of attribute, and its i-th element.
template <typename T>
struct FromAttr;
#define SF_FROM_ATTR(type, name, list, expression)                          \
  template <>                                                               \
  struct FromAttr<type> {                                                   \
    static const char* Kind() { return name; }                              \
    static size_t Count(const AttrValue& value) { return value.list.size(); } \
    static Status Get(const AttrValue& value, size_t at, type* result) {    \
      expression;                                                           \
      return Status::OK();                                                  \
    }                                                                       \
  };
SF_FROM_ATTR(int64, "int", ints, *result = value.ints[at])
SF_FROM_ATTR(bool, "bool", ints, *result = value.ints[at] != 0)
SF_FROM_ATTR(DataType, "type", ints, *result = static_cast<DataType>(value.ints[at]))
SF_FROM_ATTR(float, "float", reals, *result = static_cast<float>(value.reals[at]))
SF_FROM_ATTR(string, "string", texts, *result = value.texts[at])
SF_FROM_ATTR(NameAttrList, "func", texts, result->set_name(value.texts[at]))
SF_FROM_ATTR(PartialTensorShape, "shape", shapes, *result = value.shapes[at])
SF_FROM_ATTR(Tensor, "tensor", tensors, *result = value.tensors[at])
SF_FROM_ATTR(TensorShape, "shape", shapes,
             if (!value.shapes[at].AsTensorShape(result)) return errors::InvalidArgument(
                 "Shape ", value.shapes[at].DebugString(), " is not fully defined"))
SF_FROM_ATTR(int32, "int", ints, *result = static_cast<int32>(value.ints[at]);
             if (*result != value.ints[at]) return errors::InvalidArgument(
                 "Attr has value ", value.ints[at], " out of range for an int32"))
#undef SF_FROM_ATTR

inline Status FindAttr(const NodeDef& node, StringPiece name, const string& kind,
                       const AttrValue** found) {
  *found = node.Find(name.ToString());
  if (*found == nullptr) {
    return errors::NotFound("No attr named '", name, "' in NodeDef:\n\t ", "[[{{node ",
                            node.name(), "}}]]");
  }
  if ((*found)->kind != kind) {
    return errors::InvalidArgument("AttrValue had value with type '", (*found)->kind, "' when '",
                                   kind, "' expected\n\t for attr '", name, "'\n\t ; NodeDef: ",
                                   "{{node ", node.name(), "}}");
  }
  return Status::OK();
}

}  // namespace internal

template <typename T>
inline Status GetNodeAttr(const NodeDef& node, StringPiece name, T* result) {
  const AttrValue* value;
  TF_RETURN_IF_ERROR(internal::FindAttr(node, name, internal::FromAttr<T>::Kind(), &value));
  return internal::FromAttr<T>::Get(*value, 0, result);
}

template <typename List>
inline Status GetListAttr(const NodeDef& node, StringPiece name, List* result) {
  using Element = typename List::value_type;
  using From = internal::FromAttr<Element>;
  const AttrValue* value;
  const string kind = strings::StrCat("list(", From::Kind(), ")");
  TF_RETURN_IF_ERROR(internal::FindAttr(node, name, kind, &value));
  result->clear();
  for (size_t at = 0; at < From::Count(*value); ++at) {
    Element element{};
    TF_RETURN_IF_ERROR(From::Get(*value, at, &element));
    result->push_back(element);
  }
  return Status::OK();
}
template <typename T>
inline Status GetNodeAttr(const NodeDef& node, StringPiece name, std::vector<T>* result) {
  return GetListAttr(node, name, result);
}
template <typename T, int N>
inline Status GetNodeAttr(const NodeDef& node, StringPiece name,
                          gtl::InlinedVector<T, N>* result) {
  return GetListAttr(node, name, result);
}
inline Status GetNodeAttr(const NodeDef& node, StringPiece name, const AttrValue** result) {
  *result = node.Find(name.ToString());
  if (*result) return Status::OK();
  return errors::NotFound("No attr named '", name, "' in NodeDef:");
}
inline bool HasNodeAttr(const NodeDef& node, StringPiece name) {
  return node.Find(name.ToString()) != nullptr;
}

// The attributes of a node, as kernels and shape functions take them along.
class AttrSlice {
 public:
  AttrSlice(const NodeDef& node) : node_(&node) {}  // NOLINT
  const AttrValue* Find(StringPiece name) const { return node_->Find(name.ToString()); }
  const NodeDef& node() const { return *node_; }

 private:
  const NodeDef* node_;
};
template <typename T>
inline Status GetNodeAttr(const AttrSlice& attributes, StringPiece name, T* result) {
  return GetNodeAttr(attributes.node(), name, result);
}
inline string SummarizeNodeDef(const NodeDef& node) { return node.DebugString(); }
inline string FormatNodeDefForError(const NodeDef& node) { return node.DebugString(); }

}  // namespace tensorflow

#endif  // STILLFLOW_ATTRIBUTES_H_
