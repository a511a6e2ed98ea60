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
  SF_RARE void Number(int64 value) { Bytes(&value, sizeof(value)); }
  SF_RARE void Text(StringPiece text) {
    Number(static_cast<int64>(text.size()));
    Bytes(text.data(), text.size());
  }
  void Bytes(const void* bytes, size_t size) { data.append(static_cast<const char*>(bytes), size); }
  SF_RARE void Shape(const ShapeBase& shape) {
    Number(shape.dims());
    for (int64 size : shape.sizes()) Number(size);
  }
  void Value(const Tensor& tensor);

  string data;
};

// A part of a message: rows, and how many they are.
struct Rows {
  Writer* Next() {
    ++count;
    return &writer;
  }
  SF_RARE void WriteTo(Writer* whole) const {
    whole->Number(count);
    whole->Bytes(writer.data.data(), writer.data.size());
  }
  int64 count = 0;
  Writer writer;
};

class Reader {
 public:
  Reader() : Reader(nullptr, 0) {}
  Reader(const char* data, int64 size) : data_(data), end_(data + size) {}
  explicit Reader(StringPiece message) : Reader(message.data(), static_cast<int64>(message.size())) {}
  SF_RARE int64 Number() { return Fixed<int64>(); }
  double Real() { return Fixed<double>(); }
  SF_RARE StringPiece Piece() {
    const int64 size = Number();
    return StringPiece(Take(size), static_cast<size_t>(size));
  }
  SF_RARE string Text() { return Piece().ToString(); }
  SF_RARE PartialTensorShape Shape() {
    const int64 rank = Number();
    if (rank < 0) return PartialTensorShape();
    PartialTensorShape shape(nullptr, 0);
    for (int64 at = 0; at < rank; ++at) shape.AddDim(Number());
    return shape;
  }
  SF_RARE Tensor Value() {
    const DataType type = static_cast<DataType>(Number());
    TensorShape shape;
    if (!Shape().AsTensorShape(&shape)) throw CheckFailed("a value has no shape");
    Tensor result(type, shape);
    if (type == DT_STRING) {
      for (int64 at = 0; at < shape.num_elements(); ++at) result.base<string>()[at] = Text();
    } else {
      const StringPiece bytes = Piece();
      memcpy(result.base<char>(), bytes.data(), bytes.size());
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
    if (SF_UNLIKELY(size < 0 || size > end_ - data_)) throw CheckFailed("a message ends too soon");
    const char* taken = data_;
    data_ += size;
    return taken;
  }
  const char* data_;
  const char* end_;
};

SF_RARE inline void Writer::Value(const Tensor& tensor) {
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
    Text(tensor.tensor_data());
  }
}

// The arguments of an operation: their names, and how many tensors each of them is.
class Arguments {
 public:
  void ReadFrom(Reader* reader) { message_ = reader->Text(); }
  SF_RARE int Total() const {
    int begin, end;
    Range(StringPiece(), &begin, &end);
    return end;
  }
  // The range of tensors that an argument stands for; false for a name that is none.
  TF_ATTRIBUTE_NOINLINE bool Range(StringPiece name, int* begin, int* end) const {
    Reader reader(message_);
    *begin = *end = 0;
    for (int64 left = reader.Number(); left > 0; --left) {
      const bool found = reader.Piece() == name;
      *begin = *end;
      *end += static_cast<int>(reader.Number());
      if (found) return true;
    }
    return false;
  }

 private:
  string message_;
};

// As many objects as there is room for; cheap to compile.
template <typename T>
class Fixed {
 public:
  Fixed() : items_(nullptr), size_(0) {}
  ~Fixed() { Clear(); }
  void Reserve(int room) {
    items_ = static_cast<T*>(operator new(sizeof(T) * static_cast<size_t>(room)));
  }
  template <typename... Parts>
  T& Add(Parts&&... parts) {
    return *new (items_ + size_++) T(std::forward<Parts>(parts)...);
  }
  void Clear() {
    while (size_ > 0) items_[--size_].~T();
    operator delete(items_);
    items_ = nullptr;
  }
  int size() const { return size_; }
  T& operator[](int at) const { return items_[at]; }

 private:
  T* items_;
  int size_;
  TF_DISALLOW_COPY_AND_ASSIGN(Fixed);
};

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

  static AttrValue Read(internal::Reader reader_at) {
    internal::Reader* reader = &reader_at;
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

// The node that a kernel is made for, or whose shapes are inferred. Its attributes are read from
// the message where a source asks for them.
class NodeDef {
 public:
  NodeDef() {}
  NodeDef(const NodeDef& other)
      : name_(other.name_), op_(other.op_), device_(other.device_), message_(other.message_) {}
  ~NodeDef() {
    if (free_) free_(values_);
  }
  const string& name() const { return name_; }
  const string& op() const { return op_; }
  const string& device() const { return device_; }
  const std::map<string, AttrValue>& attr() const {
    static std::mutex reading;
    std::lock_guard<std::mutex> held(reading);
    if (values_ == nullptr) {
      auto* values = new std::map<string, AttrValue>();
      internal::Reader reader(message_);
      for (int64 left = reader.Number(); left > 0; --left) {
        const string name = reader.Text();
        (*values)[name] = AttrValue::Read(internal::Reader(reader.Piece()));
      }
      values_ = values;
      free_ = [](void* made) { delete static_cast<std::map<string, AttrValue>*>(made); };
    }
    return *static_cast<const std::map<string, AttrValue>*>(values_);
  }
  const AttrValue* Find(const string& name) const { return gtl::FindOrNull(attr(), name); }
  string DebugString() const { return strings::StrCat("{{node ", name_, "}} = ", op_); }

  // The message of an attribute, empty where there is none.
  SF_RARE StringPiece Message(StringPiece name) const {
    internal::Reader reader(message_);
    for (int64 left = reader.Number(); left > 0; --left) {
      const bool found = reader.Piece() == name;
      const StringPiece message = reader.Piece();
      if (found) return message;
    }
    return StringPiece();
  }
  SF_RARE void ReadFrom(internal::Reader* reader) {
    name_ = reader->Text();
    op_ = reader->Text();
    device_ = reader->Text();
    message_ = reader->Text();
  }

 private:
  void operator=(const NodeDef&) = delete;
  string name_, op_, device_, message_;
  mutable void* values_ = nullptr;
  mutable void (*free_)(void*) = nullptr;
};

namespace internal {

// How a value of each C++ type is read: the kind of attribute, and an element of it.
template <typename T>
struct FromAttr;
#define SF_FROM_ATTR(type, name, expression)         \
  template <>                                        \
  struct FromAttr<type> {                            \
    static const char* Kind() { return name; }       \
    static Status Get(Reader* reader, type* result) { \
      expression;                                    \
      return Status::OK();                           \
    }                                                \
  };
SF_FROM_ATTR(int64, "int", *result = reader->Number())
SF_FROM_ATTR(bool, "bool", *result = reader->Number() != 0)
SF_FROM_ATTR(DataType, "type", *result = static_cast<DataType>(reader->Number()))
SF_FROM_ATTR(float, "float", *result = static_cast<float>(reader->Real()))
SF_FROM_ATTR(string, "string", *result = reader->Text())
SF_FROM_ATTR(NameAttrList, "func", result->set_name(reader->Text()))
SF_FROM_ATTR(PartialTensorShape, "shape", *result = reader->Shape())
SF_FROM_ATTR(Tensor, "tensor", *result = reader->Value())
SF_FROM_ATTR(TensorShape, "shape", const PartialTensorShape shape = reader->Shape();
             if (!shape.AsTensorShape(result)) return errors::InvalidArgument(
                 "Shape ", shape.DebugString(), " is not fully defined"))
SF_FROM_ATTR(int32, "int", const int64 value = reader->Number();
             *result = static_cast<int32>(value);
             if (*result != value) return errors::InvalidArgument(
                 "Attr has value ", value, " out of range for an int32"))
#undef SF_FROM_ATTR

// Finds an attribute; its kind and its number of elements are read.
SF_RARE inline Status FindAttr(const NodeDef& node, StringPiece name, const char* list, const char* kind,
                       Reader* reader, int64* count) {
  const StringPiece message = node.Message(name);
  if (message.empty()) {
    return errors::NotFound("No attr named '", name, "' in NodeDef:\n\t ", "[[{{node ",
                            node.name(), "}}]]");
  }
  *reader = Reader(message);
  const StringPiece found = reader->Piece();
  const string wanted = strings::StrCat(list, kind, *list ? ")" : "");
  if (found != wanted) {
    return errors::InvalidArgument("AttrValue had value with type '", found, "' when '", wanted,
                                   "' expected\n\t for attr '", name, "'\n\t ; NodeDef: ",
                                   "{{node ", node.name(), "}}");
  }
  *count = reader->Number();
  return Status::OK();
}

}  // namespace internal

template <typename T>
inline Status GetNodeAttr(const NodeDef& node, StringPiece name, T* result) {
  using From = internal::FromAttr<T>;
  internal::Reader reader;
  int64 count;
  TF_RETURN_IF_ERROR(internal::FindAttr(node, name, "", From::Kind(), &reader, &count));
  return From::Get(&reader, result);
}

template <typename List>
inline Status GetListAttr(const NodeDef& node, StringPiece name, List* result) {
  using Element = typename List::value_type;
  using From = internal::FromAttr<Element>;
  internal::Reader reader;
  int64 count;
  TF_RETURN_IF_ERROR(internal::FindAttr(node, name, "list(", From::Kind(), &reader, &count));
  result->clear();
  for (; count > 0; --count) {
    Element element{};
    TF_RETURN_IF_ERROR(From::Get(&reader, &element));
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
  return !node.Message(name).empty();
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
