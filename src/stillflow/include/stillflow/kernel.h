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

// Objects of a session that its kernels share, made where they are first asked for.
struct Resources {
  std::mutex mutex;
  ResourceMgr* manager = nullptr;
};
// How a manager is made and destroyed; set by sources that know its type (resource.h).
struct ManagerMaker {
  ResourceMgr* (*make)();
  void (*destroy)(ResourceMgr*);
};
SF_LOCAL inline ManagerMaker& HowToManage() {
  static ManagerMaker maker = {nullptr, nullptr};
  return maker;
}
SF_RARE inline ResourceMgr* ManagerOf(Resources* resources) {
  std::lock_guard<std::mutex> held(resources->mutex);
  if (!resources->manager && HowToManage().make) resources->manager = HowToManage().make();
  return resources->manager;
}

// Tensors on one side of a kernel: their arguments, types and places.
struct Side {
  Arguments names;
  DataTypeVector types;
  std::vector<MemoryType> memory;

  SF_RARE void ReadFrom(Reader* reader) {
    names.ReadFrom(reader);
    types = DataTypeVector(static_cast<size_t>(names.Total()));
    for (DataType& type : types) type = static_cast<DataType>(reader->Number());
  }
  int count() const { return static_cast<int>(types.size()); }
  DataType type(int at) const { return types[Checked(at)]; }
  MemoryType place(int at) const { return memory[Checked(at)]; }
  Status Range(StringPiece name, int* begin, int* end) const {
    if (names.Range(name, begin, end)) return Status::OK();
    return errors::InvalidArgument("Unknown argument name: ", name);
  }
  size_t Checked(int at) const {
    if (SF_UNLIKELY(at < 0 || at >= count())) throw CheckFailed("there is no such tensor");
    return static_cast<size_t>(at);
  }
  // With a GPU's kernel tensors are in its memory, but for the arguments named here.
  SF_RARE void Place(bool on_gpu, const Rows& on_host) {
    memory = std::vector<MemoryType>(types.size(), HOST_MEMORY);
    for (int at = 0; on_gpu && at < count(); ++at)
      if (DataTypeSize(type(at)) > 0) memory[static_cast<size_t>(at)] = DEVICE_MEMORY;
    Reader reader(on_host.writer.data);
    for (int64 left = on_host.count; left > 0; --left) {
      int begin, end;
      names.Range(reader.Piece(), &begin, &end);
      for (; begin < end; ++begin) memory[static_cast<size_t>(begin)] = HOST_MEMORY;
    }
  }
};

// What Python gives a kernel when it is made; the kernel keeps it.
struct Making : public core::RefCounted {
  NodeDef node;
  string device_type;
  int64 device = kHost;  // the number of a GPU
  Side inputs, outputs;
  Resources* resources = nullptr;
  mutable CancellationManager cancellation;

  SF_RARE void ReadFrom(Reader* reader) {
    node.ReadFrom(reader);
    device_type = reader->Text();
    device = reader->Number();
    inputs.ReadFrom(reader);
    outputs.ReadFrom(reader);
  }
  int64 DeviceOf(MemoryType memory) const { return memory == DEVICE_MEMORY ? device : kHost; }
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

// What a kernel knows of its node, while it is made and afterwards.
class OfNode {
 public:
  explicit OfNode(const Making* making) : making_(making), device_(making->node.device()) {}
  const NodeDef& def() const { return making_->node; }
  int num_inputs() const { return making_->inputs.count(); }
  int num_outputs() const { return making_->outputs.count(); }
  DataType input_type(int at) const { return making_->inputs.type(at); }
  DataType output_type(int at) const { return making_->outputs.type(at); }
  const DataTypeVector& input_types() const { return making_->inputs.types; }
  const DataTypeVector& output_types() const { return making_->outputs.types; }
  DeviceBase* device() { return &device_; }

 protected:
  const Making* making_;
  DeviceBase device_;
};

}  // namespace internal

class OpKernelConstruction : public internal::OfNode {
 public:
  explicit OpKernelConstruction(const internal::Making* making) : OfNode(making) {}
  Env* env() const { return Env::Default(); }
  template <typename T>
  Status GetAttr(StringPiece name, T* value) const {
    return GetNodeAttr(def(), name, value);
  }
  bool HasAttr(StringPiece name) const { return HasNodeAttr(def(), name); }
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
  int graph_def_version() const { return 134; }
  FunctionLibraryRuntime* function_library() const { return nullptr; }
  ResourceMgr* resource_manager() const { return internal::ManagerOf(making_->resources); }
  const Status& status() const { return status_; }
  void SetStatus(const Status& status) { status_.Update(status); }
  void CtxFailure(const Status& status) { SetStatus(status); }
  void CtxFailure(const char*, int, const Status& status) { SetStatus(status); }
  void CtxFailureWithWarning(const Status& status) { SetStatus(status); }
  void CtxFailureWithWarning(const char*, int, const Status& status) { SetStatus(status); }
  const internal::Making* making() const { return making_; }

 private:
  Status status_;
};

class AsyncOpKernel;

class OpKernel : public internal::OfNode {
 public:
  explicit OpKernel(OpKernelConstruction* context) : OfNode(context->making()) { making_->Ref(); }
  virtual ~OpKernel() { making_->Unref(); }
  virtual void Compute(OpKernelContext* context) = 0;
  virtual AsyncOpKernel* AsAsync() { return nullptr; }
  virtual bool IsExpensive() { return true; }

  const string& name() const { return making_->node.name(); }
  StringPiece name_view() const { return name(); }
  const string& type_string() const { return making_->node.op(); }
  StringPiece type_string_view() const { return type_string(); }
  const string& requested_device() const { return making_->node.device(); }
  const std::vector<MemoryType>& input_memory_types() const { return making_->inputs.memory; }
  const std::vector<MemoryType>& output_memory_types() const { return making_->outputs.memory; }
  Status InputRange(StringPiece name, int* begin, int* end) const {
    return making_->inputs.Range(name, begin, end);
  }
  Status OutputRange(StringPiece name, int* begin, int* end) const {
    return making_->outputs.Range(name, begin, end);
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
  const internal::Making& making() const { return *making_; }

 private:
  TF_DISALLOW_COPY_AND_ASSIGN(OpKernel);
};

namespace internal {

struct KernelRecord {
  string op, device, label;
  const char* class_name = "";
  int priority = 0;
  Rows constraints, host_memory;
  OpKernel* (*make)(OpKernelConstruction*) = nullptr;
  KernelRecord* next = nullptr;
};

SF_LOCAL inline Registry<KernelRecord>& Kernels() {
  static Registry<KernelRecord> kernels;
  return kernels;
}

}  // namespace internal

class KernelDefBuilder {
 public:
  SF_RARE explicit KernelDefBuilder(const char* op) : record_(new internal::KernelRecord) {
    record_->op = op;
  }
  SF_RARE KernelDefBuilder& Device(const char* type) { return record_->device = type, *this; }
  KernelDefBuilder& Device(const DeviceType& type) { return Device(type.type()); }
  SF_RARE KernelDefBuilder& TypeConstraint(const char* name, gtl::ArraySlice<DataType> allowed) {
    internal::Writer* row = record_->constraints.Next();
    row->Text(name);
    row->Number(static_cast<int64>(allowed.size()));
    for (DataType type : allowed) row->Number(type);
    return *this;
  }
  KernelDefBuilder& TypeConstraint(const char* name, DataType allowed) {
    return TypeConstraint(name, gtl::ArraySlice<DataType>(&allowed, 1));
  }
  template <typename T>
  KernelDefBuilder& TypeConstraint(const char* name) {
    return TypeConstraint(name, DataTypeToEnum<T>::v());
  }
  SF_RARE KernelDefBuilder& HostMemory(const char* argument) {
    record_->host_memory.Next()->Text(argument);
    return *this;
  }
  KernelDefBuilder& Label(const char* label) { return record_->label = label, *this; }
  KernelDefBuilder& Priority(int priority) { return record_->priority = priority, *this; }
  internal::KernelRecord* record() const { return record_; }

 private:
  internal::KernelRecord* record_;
};

namespace register_kernel {
using Name = KernelDefBuilder;
}  // namespace register_kernel

namespace internal {
struct KernelRegistration {
  SF_RARE KernelRegistration(KernelRecord* record, const char* class_name,
                     OpKernel* (*make)(OpKernelConstruction*)) {
    record->class_name = class_name;
    record->make = make;
    Kernels().Add(record);
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
