// OpKernel and what it is made with; REGISTER_KERNEL_BUILDER.
#ifndef STILLFLOW_KERNEL_H_
#define STILLFLOW_KERNEL_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "device.h"
#include "op.h"

namespace tensorflow {

class OpKernel;
class OpKernelContext;
class ResourceMgr;
class FunctionLibraryRuntime;

namespace internal {

// What Python gives a kernel when it is made.
struct Making {
  NodeDef node;
  string device_type;
  std::vector<string> input_names, output_names;  // of arguments
  std::vector<int64> input_counts, output_counts;  // how many tensors each of them is
  DataTypeVector input_types, output_types;
  std::vector<MemoryType> input_memory, output_memory;
  int64 device = kHost;  // the number of a GPU
  ResourceMgr* resources = nullptr;

  static Making Read(Reader* reader) {
    Making made;
    made.node = NodeDef::Read(reader);
    made.device_type = reader->Text();
    made.device = reader->Number();
    ReadArguments(reader, &made.input_names, &made.input_counts, &made.input_types);
    ReadArguments(reader, &made.output_names, &made.output_counts, &made.output_types);
    return made;
  }
  // Where tensors are: with a GPU's kernel, in its memory but for the arguments named here.
  void PlaceIn(const std::vector<string>& on_host) {
    input_memory = Memory(input_names, input_counts, input_types, on_host);
    output_memory = Memory(output_names, output_counts, output_types, on_host);
  }
  int64 DeviceOf(MemoryType memory) const { return memory == DEVICE_MEMORY ? device : kHost; }
  // The range of tensors that an argument stands for.
  static Status Range(const std::vector<string>& names, const std::vector<int64>& counts,
                      StringPiece name, int* begin, int* end) {
    *begin = 0;
    for (size_t at = 0; at < names.size(); ++at) {
      *end = *begin + static_cast<int>(counts[at]);
      if (names[at] == name.ToString()) return Status::OK();
      *begin = *end;
    }
    return errors::InvalidArgument("Unknown argument name: ", name);
  }

 private:
  std::vector<MemoryType> Memory(const std::vector<string>& names,
                                 const std::vector<int64>& counts, const DataTypeVector& types,
                                 const std::vector<string>& on_host) const {
    std::vector<MemoryType> memory;
    for (size_t at = 0; at < names.size(); ++at) {
      const bool named = std::find(on_host.begin(), on_host.end(), names[at]) != on_host.end();
      for (int64 left = counts[at]; left > 0; --left) {
        const bool fits = DataTypeSize(types[memory.size()]) > 0;
        memory.push_back(device == kHost || named || !fits ? HOST_MEMORY : DEVICE_MEMORY);
      }
    }
    return memory;
  }
  static void ReadArguments(Reader* reader, std::vector<string>* names,
                            std::vector<int64>* counts, DataTypeVector* types) {
    for (int64 left = reader->Number(); left > 0; --left) {
      names->push_back(reader->Text());
      counts->push_back(reader->Number());
      for (int64 one = counts->back(); one > 0; --one)
        types->push_back(static_cast<DataType>(reader->Number()));
    }
  }
};

inline Status CheckTypes(const DataTypeVector& inputs, const DataTypeVector& outputs,
                         const DataTypeSlice& wanted_inputs, const DataTypeSlice& wanted_outputs) {
  const auto fits = [](const DataTypeVector& have, const DataTypeSlice& wanted) {
    if (have.size() != wanted.size()) return false;
    for (size_t at = 0; at < have.size(); ++at)
      if (have[at] != wanted[at] && RemoveRefType(have[at]) != wanted[at]) return false;
    return true;
  };
  if (fits(inputs, wanted_inputs) && fits(outputs, wanted_outputs)) return Status::OK();
  const auto text = [](const DataTypeSlice& types) {
    return DataTypeSliceString(DataTypeVector(types.begin(), types.end()));
  };
  return errors::InvalidArgument("Signature mismatch, have: ", DataTypeSliceString(inputs), "->",
                                 DataTypeSliceString(outputs), " expected: ",
                                 text(wanted_inputs), "->", text(wanted_outputs));
}

}  // namespace internal

class OpKernelConstruction {
 public:
  explicit OpKernelConstruction(const internal::Making* making)
      : making_(making), device_(making->node.device()) {}
  Env* env() const { return Env::Default(); }
  const NodeDef& def() const { return making_->node; }
  template <typename T>
  Status GetAttr(StringPiece name, T* value) const {
    return GetNodeAttr(def(), name, value);
  }
  bool HasAttr(StringPiece name) const { return HasNodeAttr(def(), name); }
  int num_inputs() const { return static_cast<int>(making_->input_types.size()); }
  int num_outputs() const { return static_cast<int>(making_->output_types.size()); }
  DataType input_type(int at) const { return making_->input_types.at(static_cast<size_t>(at)); }
  DataType output_type(int at) const { return making_->output_types.at(static_cast<size_t>(at)); }
  const DataTypeVector& input_types() const { return making_->input_types; }
  const DataTypeVector& output_types() const { return making_->output_types; }
  Status MatchSignature(const DataTypeSlice inputs, const DataTypeSlice outputs) const {
    return internal::CheckTypes(input_types(), output_types(), inputs, outputs);
  }
  Status allocate_temp(DataType type, const TensorShape& shape, Tensor* result,
                       AllocatorAttributes attributes = AllocatorAttributes()) {
    *result = Tensor(type, shape, attributes.on_host() ? internal::kHost : making_->device);
    return Status::OK();
  }
  Status allocate_persistent(DataType type, const TensorShape& shape, PersistentTensor* kept,
                             Tensor** result) {
    *kept = PersistentTensor(Tensor(type, shape, making_->device));
    if (result) *result = kept->AccessTensor(this);
    return Status::OK();
  }
  const DeviceType device_type() const { return DeviceType(making_->device_type.c_str()); }
  DeviceBase* device() { return &device_; }
  int graph_def_version() const { return 134; }
  FunctionLibraryRuntime* function_library() const { return nullptr; }
  ResourceMgr* resource_manager() const { return making_->resources; }
  const Status& status() const { return status_; }
  void SetStatus(const Status& status) { status_.Update(status); }
  void CtxFailure(const Status& status) { SetStatus(status); }
  void CtxFailure(const char*, int, const Status& status) { SetStatus(status); }
  void CtxFailureWithWarning(const Status& status) { SetStatus(status); }
  void CtxFailureWithWarning(const char*, int, const Status& status) { SetStatus(status); }
  const internal::Making& making() const { return *making_; }

 private:
  const internal::Making* making_;
  DeviceBase device_;
  Status status_;
};

class AsyncOpKernel;

class OpKernel {
 public:
  explicit OpKernel(OpKernelConstruction* context)
      : making_(context->making()), device_(context->def().device()) {}
  virtual ~OpKernel() {}
  virtual void Compute(OpKernelContext* context) = 0;
  virtual AsyncOpKernel* AsAsync() { return nullptr; }
  virtual bool IsExpensive() { return true; }

  const NodeDef& def() const { return making_.node; }
  const string& name() const { return making_.node.name(); }
  StringPiece name_view() const { return name(); }
  const string& type_string() const { return making_.node.op(); }
  StringPiece type_string_view() const { return type_string(); }
  const string& requested_device() const { return making_.node.device(); }
  int num_inputs() const { return static_cast<int>(making_.input_types.size()); }
  int num_outputs() const { return static_cast<int>(making_.output_types.size()); }
  DataType input_type(int at) const { return making_.input_types.at(static_cast<size_t>(at)); }
  DataType output_type(int at) const { return making_.output_types.at(static_cast<size_t>(at)); }
  const DataTypeVector& input_types() const { return making_.input_types; }
  const DataTypeVector& output_types() const { return making_.output_types; }
  const std::vector<MemoryType>& input_memory_types() const { return making_.input_memory; }
  const std::vector<MemoryType>& output_memory_types() const { return making_.output_memory; }
  Status InputRange(StringPiece name, int* begin, int* end) const {
    return internal::Making::Range(making_.input_names, making_.input_counts, name, begin, end);
  }
  Status OutputRange(StringPiece name, int* begin, int* end) const {
    return internal::Making::Range(making_.output_names, making_.output_counts, name, begin, end);
  }
  Status MakeShape(const Tensor& value, TensorShape* shape) const {
    if (!TensorShapeUtils::IsVector(value.shape())) {
      return errors::InvalidArgument("shape must be a vector of {int32,int64}, got shape ",
                                     value.shape().DebugString());
    }
    if (value.dtype() == DT_INT32) {
      return TensorShapeUtils::MakeShape(value.base<int32>(), value.NumElements(), shape);
    }
    if (value.dtype() == DT_INT64) {
      return TensorShapeUtils::MakeShape(value.base<int64>(), value.NumElements(), shape);
    }
    return errors::InvalidArgument("shape must be a vector of {int32,int64}.");
  }
  const internal::Making& making() const { return making_; }
  DeviceBase* device() { return &device_; }

 private:
  const internal::Making making_;
  DeviceBase device_;
  TF_DISALLOW_COPY_AND_ASSIGN(OpKernel);
};

namespace internal {

struct KernelRecord {
  string op, device, label, class_name;
  int priority = 0;
  std::vector<std::pair<string, std::vector<DataType>>> constraints;
  std::vector<string> host_memory;
  OpKernel* (*make)(OpKernelConstruction*) = nullptr;
};

SF_LOCAL inline std::vector<KernelRecord>& Kernels() {
  static std::vector<KernelRecord> kernels;
  return kernels;
}

}  // namespace internal

class KernelDefBuilder {
 public:
  explicit KernelDefBuilder(const char* op) { record_.op = op; }
  KernelDefBuilder& Device(const char* type) { return record_.device = type, *this; }
  KernelDefBuilder& Device(const DeviceType& type) { return Device(type.type()); }
  KernelDefBuilder& TypeConstraint(const char* name, gtl::ArraySlice<DataType> allowed) {
    record_.constraints.emplace_back(name,
                                     std::vector<DataType>(allowed.begin(), allowed.end()));
    return *this;
  }
  KernelDefBuilder& TypeConstraint(const char* name, DataType allowed) {
    return TypeConstraint(name, gtl::ArraySlice<DataType>(&allowed, 1));
  }
  template <typename T>
  KernelDefBuilder& TypeConstraint(const char* name) {
    return TypeConstraint(name, DataTypeToEnum<T>::v());
  }
  KernelDefBuilder& HostMemory(const char* argument) {
    return record_.host_memory.push_back(argument), *this;
  }
  KernelDefBuilder& Label(const char* label) { return record_.label = label, *this; }
  KernelDefBuilder& Priority(int priority) { return record_.priority = priority, *this; }
  const internal::KernelRecord& record() const { return record_; }

 private:
  internal::KernelRecord record_;
};

namespace register_kernel {
using Name = KernelDefBuilder;
}  // namespace register_kernel

namespace internal {
struct KernelRegistration {
  KernelRegistration(KernelRecord record, const char* class_name,
                     OpKernel* (*make)(OpKernelConstruction*)) {
    record.class_name = class_name;
    record.make = make;
    Kernels().push_back(record);
  }
};
}  // namespace internal

#define REGISTER_KERNEL_BUILDER(builder, ...)                                                 \
  static const ::tensorflow::internal::KernelRegistration SF_UNIQUE(sf_kernel)                \
      TF_ATTRIBUTE_UNUSED(::tensorflow::register_kernel::builder.record(), #__VA_ARGS__,      \
                          [](::tensorflow::OpKernelConstruction* context)                     \
                              -> ::tensorflow::OpKernel* { return new __VA_ARGS__(context); });
#define REGISTER_SYSTEM_KERNEL_BUILDER(builder, ...) REGISTER_KERNEL_BUILDER(builder, __VA_ARGS__)

}  // namespace tensorflow

#endif  // STILLFLOW_KERNEL_H_
