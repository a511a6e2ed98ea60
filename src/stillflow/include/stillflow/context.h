// OpKernelContext: the inputs and outputs of one run of a kernel.
#ifndef STILLFLOW_CONTEXT_H_
#define STILLFLOW_CONTEXT_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "kernel.h"

namespace tensorflow {

class OpInputList;
class OpOutputList;
class OpMutableInputList;

struct FrameAndIter {
  uint64 frame_id = 0;
  int64 iter_id = 0;
};

class OpKernelContext {
 public:
  OpKernelContext(OpKernel* kernel, const sf_call* call);
  ~OpKernelContext() { Release(); }

  Env* env() const { return Env::Default(); }
  const OpKernel& op_kernel() const { return *kernel_; }
  int64 step_id() const { return call_->step; }
  FrameAndIter frame_iter() const { return FrameAndIter(); }
  DeviceBase* device() const { return kernel_->device(); }
  CancellationManager* cancellation_manager() const { return &kernel_->making().cancellation; }
  FunctionLibraryRuntime* function_library() const { return nullptr; }
  ResourceMgr* resource_manager() const {
    return internal::ManagerOf(kernel_->making().resources);
  }
  DeviceContext* input_device_context(int) { return nullptr; }
  // Null on the host, as in TensorFlow.
  DeviceContext* op_device_context() {
    return call_->device == internal::kHost ? nullptr : &device_context_;
  }
  template <typename Device>
  const Device& eigen_device() const {
    return internal::EigenDevice<Device>::Get(call_->device, call_->stream);
  }
#if !defined(STILLFLOW_MINI_EIGEN)
  const Eigen::ThreadPoolDevice& eigen_cpu_device() const {
    return eigen_device<Eigen::ThreadPoolDevice>();
  }
#endif
  const Eigen::GpuDevice& eigen_gpu_device() const { return eigen_device<Eigen::GpuDevice>(); }
  AllocatorAttributes input_alloc_attr(int at) const {
    return AttributesOf(input_memory_type(at));
  }
  AllocatorAttributes output_alloc_attr(int at) const {
    return AttributesOf(output_memory_type(at));
  }
  Allocator* get_allocator(AllocatorAttributes) { return cpu_allocator(); }
  MemoryType input_memory_type(int at) const { return kernel_->making().inputs.place(at); }
  MemoryType output_memory_type(int at) const { return kernel_->making().outputs.place(at); }
  bool track_allocations() const { return false; }
  bool is_input_dead() const { return false; }
  bool output_required(int) const { return true; }
  void record_persistent_memory_allocation(int64, int64 = -1) {}
  void record_temp_memory_allocation(int64, const Tensor&) {}

  int num_inputs() const { return inputs_.size(); }
  int num_outputs() const { return outputs_.size(); }
  DataType input_dtype(int at) const { return kernel_->input_type(at); }
  Status input_dtype(StringPiece name, DataType* type) const {
    int at;
    TF_RETURN_IF_ERROR(OneInput(name, &at));
    *type = input_dtype(at);
    return Status::OK();
  }
  DataType expected_output_dtype(int at) const { return kernel_->output_type(at); }
  bool input_is_ref(int at) const { return IsRefType(input_dtype(at)); }
  bool has_input(int at) const { return at >= 0 && at < num_inputs(); }

  const Tensor& input(int at) const { return InputAt(at).tensor; }
  Status input(StringPiece name, const Tensor** result) const {
    int at;
    TF_RETURN_IF_ERROR(OneInput(name, &at));
    *result = &input(at);
    return Status::OK();
  }
  Status input_list(StringPiece name, OpInputList* list);
  Status mutable_input_list(StringPiece name, OpMutableInputList* list);
  Status output_list(StringPiece name, OpOutputList* list);
  // The tensor of a variable, changed in place.
  Tensor mutable_input(int at, bool) {
    CHECK(input_is_ref(at)) << "input " << at << " is no reference";
    return input(at);
  }
  Status mutable_input(StringPiece name, Tensor* result, bool lock_held) {
    int at;
    TF_RETURN_IF_ERROR(OneInput(name, &at));
    *result = mutable_input(at, lock_held);
    return Status::OK();
  }
  mutex* input_ref_mutex(int) { return RefMutex(); }
  Status input_ref_mutex(StringPiece, mutex** result) {
    *result = RefMutex();
    return Status::OK();
  }
  void replace_ref_input(int at, const Tensor& tensor, bool) {
    InputAt(at).tensor = tensor;
    InputAt(at).replaced = true;
  }
  void forward_ref_input_to_ref_output(int input, int output) {
    OutputAt(output).forwarded = input;
  }
  bool forward_input_to_output_with_shape(int, int, const TensorShape&, Tensor**) { return false; }
  bool ValidateInputsAreSameShape(OpKernel*) {
    for (int at = 1; at < num_inputs(); ++at) {
      if (input(at).IsSameSize(input(0))) continue;
      SetStatus(errors::InvalidArgument(
          "Inputs to operation ", kernel_->name(), " of type ", kernel_->type_string(),
          " must have the same size and shape.  Input 0: ", input(0).shape().DebugString(),
          " != input ", at, ": ", input(at).shape().DebugString()));
      return false;
    }
    return true;
  }
  Status MatchSignature(const DataTypeSlice inputs, const DataTypeSlice outputs) {
    return internal::CheckTypes(kernel_->input_types(), kernel_->output_types(), inputs, outputs);
  }

  Status allocate_output(int at, const TensorShape& shape, Tensor** result);
  Status allocate_output(int at, const TensorShape& shape, Tensor** result, AllocatorAttributes) {
    return allocate_output(at, shape, result);
  }
  Status allocate_output(StringPiece name, const TensorShape& shape, Tensor** result) {
    int at;
    TF_RETURN_IF_ERROR(OneOutput(name, &at));
    return allocate_output(at, shape, result);
  }
  Status allocate_output(StringPiece name, const TensorShape& shape, Tensor** result,
                         AllocatorAttributes) {
    return allocate_output(name, shape, result);
  }
  Status forward_input_or_allocate_output(gtl::ArraySlice<int>, int at, const TensorShape& shape,
                                          Tensor** result) {
    return allocate_output(at, shape, result);
  }
  Status forward_input_or_allocate_output(gtl::ArraySlice<StringPiece>, StringPiece name,
                                          const TensorShape& shape, Tensor** result) {
    return allocate_output(name, shape, result);
  }
  Status allocate_temp(DataType type, const TensorShape& shape, Tensor* result,
                       AllocatorAttributes attributes = AllocatorAttributes(),
                       const AllocationAttributes& = {}) {
    *result = Tensor(type, shape, attributes.on_host() ? internal::kHost : call_->device);
    return Status::OK();
  }
  Status forward_input_or_allocate_temp(gtl::ArraySlice<int>, DataType type,
                                        const TensorShape& shape,
                                        const AllocatorAttributes& attributes, Tensor* result) {
    return allocate_temp(type, shape, result, attributes);
  }
  Status allocate_persistent(DataType type, const TensorShape& shape, PersistentTensor* kept,
                             Tensor** result,
                             AllocatorAttributes attributes = AllocatorAttributes()) {
    Tensor made;
    TF_RETURN_IF_ERROR(allocate_temp(type, shape, &made, attributes));
    *kept = PersistentTensor(made);
    if (result) *result = kept->AccessTensor(this);
    return Status::OK();
  }
  void set_output(int at, const Tensor& tensor) {
    CHECK_EQ(static_cast<int>(tensor.dtype()),
             static_cast<int>(RemoveRefType(expected_output_dtype(at))));
    OutputAt(at).tensor.reset(new Tensor(tensor));
    call_->results[at] = SF_NOTHING;  // the memory that was allocated for it, if any, is not used
  }
  Status set_output(StringPiece name, const Tensor& tensor) {
    int at;
    TF_RETURN_IF_ERROR(OneOutput(name, &at));
    set_output(at, tensor);
    return Status::OK();
  }
  void set_output_ref(int at, mutex*, Tensor* tensor) { set_output(at, *tensor); }
  Status set_output_ref(StringPiece name, mutex*, Tensor* tensor) {
    return set_output(name, *tensor);
  }
  Tensor* mutable_output(int at) { return OutputAt(at).tensor.get(); }
  Status mutable_output(StringPiece name, Tensor** result) {
    int at;
    TF_RETURN_IF_ERROR(OneOutput(name, &at));
    *result = mutable_output(at);
    return Status::OK();
  }

  const Status& status() const { return status_; }
  SF_RARE void SetStatus(const Status& status) {
    std::lock_guard<std::mutex> held(mutex_);
    status_.Update(status);
  }
  void CtxFailure(const Status& status) { SetStatus(status); }
  SF_RARE void CtxFailure(const char* file, int line, const Status& status) {
    if (VLOG_IS_ON(1)) {
      const string text = strings::StrCat("OP_REQUIRES failed at ", file, ":", line, " : ");
      internal::WriteLine(__FILE__, __LINE__, INFO, text + status.ToString());
    }
    SetStatus(status);
  }
  void CtxFailureWithWarning(const Status& status) { SetStatus(status); }
  void CtxFailureWithWarning(const char* file, int line, const Status& status) {
    CtxFailure(file, line, status);
  }

  // For the library's own use: hands the results over.
  void Finish();
  int64 stream() const { return call_->stream; }

 private:
  struct Input {
    explicit Input(Tensor&& value) : tensor(std::move(value)) {}
    Tensor tensor;
    bool replaced = false;  // a reference that was given another tensor
  };
  struct Output {
    std::unique_ptr<Tensor> tensor;
    int forwarded = -1;  // the reference that it is
    bool asked = false;  // of Python, for memory
    int64 memory = 0;    // that Python gave, for a shape
    TensorShape given;
  };
  Input& InputAt(int at) const {
    if (SF_UNLIKELY(at < 0 || at >= num_inputs())) NoSuch(at, "num_inputs()", num_inputs());
    return inputs_[at];
  }
  Output& OutputAt(int at) const {
    if (SF_UNLIKELY(at < 0 || at >= num_outputs())) NoSuch(at, "num_outputs()", num_outputs());
    return outputs_[at];
  }
  SF_RARE void NoSuch(int at, const char* what, int count) const {
    internal::LogMessageFatal(__FILE__, __LINE__,
                              strings::StrCat("index < ", what, " (", at, " vs. ", count, ") "))
            .stream()
        << " name: " << kernel_->name();
  }
  // Lets go of PyTorch's memory; what the kernel keeps of it is copied.
  void Release();
  internal::Buffer* Borrow(int64 memory, int64 bytes, MemoryType type) {
    auto* buffer = new internal::Buffer(reinterpret_cast<void*>(memory), bytes,
                                        kernel_->making().DeviceOf(type));
    buffer->next = borrowed_;
    return borrowed_ = buffer;
  }
  const int64* Offer(int at) const;
  // True if an output is in the memory that it was given: a kernel can assign another tensor.
  bool IsAsGiven(int at) const;
  Tensor ReadInput(int at, const int64* words, const TensorShape& shape);
  static AllocatorAttributes AttributesOf(MemoryType type) {
    AllocatorAttributes attributes;
    attributes.set_on_host(type == HOST_MEMORY);
    return attributes;
  }
  SF_LOCAL static mutex* RefMutex() {
    static mutex shared;
    return &shared;
  }
  Status OneInput(StringPiece name, int* at) const {
    int end;
    TF_RETURN_IF_ERROR(kernel_->InputRange(name, at, &end));
    if (end == *at + 1) return Status::OK();
    return errors::InvalidArgument("OpKernel used list-valued input name '", name,
                                   "' when single-valued input was expected");
  }
  Status OneOutput(StringPiece name, int* at) const {
    int end;
    TF_RETURN_IF_ERROR(kernel_->OutputRange(name, at, &end));
    if (end == *at + 1) return Status::OK();
    return errors::InvalidArgument("OpKernel used list-valued output name '", name,
                                   "' when single-valued output was expected");
  }

  OpKernel* kernel_;
  const sf_call* call_;
  internal::Fixed<Input> inputs_;
  internal::Fixed<Output> outputs_;
  internal::Buffer* borrowed_ = nullptr;  // PyTorch's memory
  DeviceContext device_context_;
  Status status_;
  std::mutex mutex_;
};

// The tensors of a list argument.
class OpInputList {
 public:
  class Iterator {
   public:
    Iterator(const OpInputList* list, int at) : list_(list), at_(at) {}
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    Iterator& operator++() { return ++at_, *this; }
    const Tensor& operator*() const { return (*list_)[at_]; }

   private:
    const OpInputList* list_;
    int at_;
  };
  OpInputList() {}
  OpInputList(OpKernelContext* context, int begin, int end)
      : context_(context), begin_(begin), end_(end) {}
  int size() const { return end_ - begin_; }
  const Tensor& operator[](int at) const { return context_->input(begin_ + at); }
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, size()); }

 private:
  OpKernelContext* context_ = nullptr;
  int begin_ = 0, end_ = 0;
};

class OpMutableInputList {
 public:
  OpMutableInputList() {}
  OpMutableInputList(OpKernelContext* context, int begin, int end)
      : context_(context), begin_(begin), end_(end) {}
  int size() const { return end_ - begin_; }
  Tensor at(int at, bool lock_held) { return context_->mutable_input(begin_ + at, lock_held); }
  mutex* ref_mutex(int at) { return context_->input_ref_mutex(begin_ + at); }

 private:
  OpKernelContext* context_ = nullptr;
  int begin_ = 0, end_ = 0;
};

class OpOutputList {
 public:
  OpOutputList() {}
  OpOutputList(OpKernelContext* context, int begin, int end)
      : context_(context), begin_(begin), end_(end) {}
  int size() const { return end_ - begin_; }
  Tensor* operator[](int at) { return context_->mutable_output(begin_ + at); }
  DataType expected_output_dtype(int at) const {
    return context_->expected_output_dtype(begin_ + at);
  }
  Status allocate(int at, const TensorShape& shape, Tensor** result) {
    return context_->allocate_output(begin_ + at, shape, result);
  }
  void set(int at, const Tensor& tensor) { context_->set_output(begin_ + at, tensor); }

 private:
  OpKernelContext* context_ = nullptr;
  int begin_ = 0, end_ = 0;
};

// A kernel that says itself when it is done; whoever runs it waits.
class AsyncOpKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  using DoneCallback = std::function<void()>;
  virtual void ComputeAsync(OpKernelContext* context, DoneCallback done) = 0;
  AsyncOpKernel* AsAsync() final { return this; }
  void Compute(OpKernelContext* context) final {
    auto done = std::make_shared<Notification>();
    ComputeAsync(context, [done] { done->Notify(); });
    done->WaitForNotification();
  }
};

#define OP_REQUIRES(context, condition, ...)                    \
  do {                                                          \
    if (SF_UNLIKELY(!(condition))) {                            \
      (context)->CtxFailure(__FILE__, __LINE__, (__VA_ARGS__)); \
      return;                                                   \
    }                                                           \
  } while (0)
#define OP_REQUIRES_OK(context, ...)                                    \
  do {                                                                  \
    ::tensorflow::Status sf_status(__VA_ARGS__);                        \
    if (SF_UNLIKELY(!sf_status.ok())) {                                 \
      (context)->CtxFailureWithWarning(__FILE__, __LINE__, sf_status);  \
      return;                                                           \
    }                                                                   \
  } while (0)
#define OP_REQUIRES_ASYNC(context, condition, status, done) \
  do {                                                      \
    if (SF_UNLIKELY(!(condition))) {                        \
      (context)->CtxFailure(__FILE__, __LINE__, (status));  \
      done();                                               \
      return;                                               \
    }                                                       \
  } while (0)
#define OP_REQUIRES_OK_ASYNC(context, status, done)                    \
  do {                                                                 \
    ::tensorflow::Status sf_status(status);                            \
    if (SF_UNLIKELY(!sf_status.ok())) {                                \
      (context)->CtxFailureWithWarning(__FILE__, __LINE__, sf_status); \
      done();                                                          \
      return;                                                          \
    }                                                                  \
  } while (0)

}  // namespace tensorflow

#include "calls.h"

#endif  // STILLFLOW_CONTEXT_H_
