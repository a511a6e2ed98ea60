// What a library of operations exports: the table of the plain C interface.
#ifndef STILLFLOW_LIBRARY_H_
#define STILLFLOW_LIBRARY_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "context.h"

namespace tensorflow {
namespace internal {

// The answer of this thread's last call.
SF_LOCAL inline string& Answer() {
  static thread_local string answer;
  return answer;
}

SF_RARE inline int64 Fail(const Status& status) {
  if (!status.ok()) Answer() = status.error_message();
  return status.code();
}

// What is being handled, an exception, as an error.
SF_RARE inline int64 Caught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(errors::ResourceExhausted("OOM when allocating a tensor"));
  } catch (const std::exception& error) {
    return Fail(errors::Internal(error.what()));
  } catch (...) {
    return Fail(errors::Internal("The kernel threw an object that is no std::exception"));
  }
}

SF_RARE inline const char* Give(int64_t* size) {
  *size = static_cast<int64_t>(Answer().size());
  return Answer().data();
}

SF_RARE inline const char* Describe(int64_t* size) {
  Writer writer;
  writer.Number(Ops().count);
  for (const OpRecord* op = Ops().first; op; op = op->next) {
    writer.Text(op->name);
    writer.Text(op->doc);
    for (const Rows* rows : {&op->inputs, &op->outputs, &op->attributes}) rows->WriteTo(&writer);
    writer.Number(op->is_stateful | op->is_commutative << 1 | op->is_aggregate << 2 |
                  op->allows_uninitialized << 3 | (op->shape_function ? 1 : 0) << 4);
  }
  writer.Number(Kernels().count);
  for (const KernelRecord* kernel = Kernels().first; kernel; kernel = kernel->next) {
    for (const string* text : {&kernel->op, &kernel->device, &kernel->label}) writer.Text(*text);
    writer.Text(kernel->class_name);
    writer.Number(kernel->priority);
    kernel->constraints.WriteTo(&writer);
    kernel->host_memory.WriteTo(&writer);
  }
  Answer().swap(writer.data);
  return Give(size);
}

SF_RARE inline Status RunShapeFunction(int64 op, Reader reader, Writer* writer) {
  using shape_inference::InferenceContext;
  NodeDef node;
  Arguments inputs, outputs;
  node.ReadFrom(&reader);
  inputs.ReadFrom(&reader);
  outputs.ReadFrom(&reader);
  InferenceContext context(node, inputs, outputs);
  const int count = inputs.Total();
  for (int at = 0; at < count; ++at) context.AddInput(reader.Shape());
  for (int64 left = reader.Number(); left > 0; --left) {
    const int at = static_cast<int>(reader.Number());
    context.At(at).value.reset(new Tensor(reader.Value()));
  }
  for (int64 left = reader.Number(); left > 0; --left) {
    const int at = static_cast<int>(reader.Number());
    context.At(at).as_shape = context.FromShape(reader.Shape());
  }
  const Status status = Ops().At(op)->shape_function(&context);
  for (bool InferenceContext::Input::*asked :
       {&InferenceContext::Input::asked, &InferenceContext::Input::asked_as_shape}) {
    Rows rows;
    for (int at = 0; at < count; ++at)
      if (context.At(at).*asked) rows.Next()->Number(at);
    rows.WriteTo(writer);
  }
  if (!status.ok()) writer->Text(status.error_message());
  for (int at = 0; status.ok() && at < context.num_outputs(); ++at)
    writer->Shape(context.OutputShape(at));
  return status;
}

// The answer has the inputs whose values were asked for, those that were read as shapes, and the
// shapes of the outputs.
SF_RARE inline int64_t Infer(int64_t op, const char* request, int64_t size) {
  try {
    Writer writer;
    const Status status = RunShapeFunction(op, Reader(request, size), &writer);
    Answer().swap(writer.data);
    return status.code();
  } catch (...) {
    return Caught();
  }
}

SF_RARE inline int64_t Make(int64_t kernel, const char* request, int64_t size, void* resources,
                    void** result) {
  try {
    const KernelRecord* record = Kernels().At(kernel);
    const core::RefCountPtr<Making> making(new Making);
    Reader reader(request, size);
    making->ReadFrom(&reader);
    making->resources = static_cast<Resources*>(resources);
    making->inputs.Place(making->device != kHost, record->host_memory);
    making->outputs.Place(making->device != kHost, record->host_memory);
    OpKernelConstruction context(making.get());
    std::unique_ptr<OpKernel> made(record->make(&context));
    if (context.status().ok()) *result = made.release();
    return Fail(context.status());
  } catch (...) {
    return Caught();
  }
}

inline int64_t Run(void* kernel, const sf_call* call) {
  try {
    OpKernelContext context(static_cast<OpKernel*>(kernel), call);
    static_cast<OpKernel*>(kernel)->Compute(&context);
    if (context.status().ok()) context.Finish();
    return Fail(context.status());
  } catch (...) {
    return Caught();
  }
}

// A tensor's type and shape, then the address of its numbers, with the GPU and the address of the
// memory that they are a part of; or its texts or handles.
SF_RARE inline const char* ReadTensor(void* address, int64_t* size) {
  const Tensor& tensor = *static_cast<Tensor*>(address);
  Writer writer;
  if (DataTypeSize(tensor.dtype()) == 0) {
    writer.Value(tensor);
  } else {
    writer.Number(tensor.dtype());
    writer.Shape(tensor.shape());
    writer.Number(reinterpret_cast<int64>(tensor.data()));
    writer.Number(tensor.device());
    writer.Number(tensor.buffer() ? reinterpret_cast<int64>(tensor.buffer()->data) : 0);
  }
  Answer().swap(writer.data);
  return Give(size);
}

inline void Destroy(void* kernel) {
  try {
    delete static_cast<OpKernel*>(kernel);
  } catch (...) {
    Caught();
  }
}
SF_RARE inline void Cancel(void* kernel) {
  static_cast<OpKernel*>(kernel)->making().cancellation.StartCancel();
}
inline void ReleaseTensor(void* tensor) { delete static_cast<Tensor*>(tensor); }
inline void* MakeResources() { return new Resources(); }
inline void DestroyResources(void* address) {
  auto* resources = static_cast<Resources*>(address);
  if (resources->manager) HowToManage().destroy(resources->manager);
  delete resources;
}

inline void Connect(const sf_memory* memory) { DeviceMemory() = *memory; }

SF_LOCAL inline const sf_library* Table() {
  static const sf_library table = {STILLFLOW_ABI, Describe,      Infer,           Make,
                                   Destroy,       Run,           Give,            ReadTensor,
                                   ReleaseTensor, MakeResources, DestroyResources, Connect,
                                   Cancel};
  return &table;
}

}  // namespace internal
}  // namespace tensorflow

extern "C" SF_VISIBLE inline const sf_library* stillflow_op_library() {
  return tensorflow::internal::Table();
}

#endif  // STILLFLOW_LIBRARY_H_
