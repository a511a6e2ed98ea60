// What a library of operations exports: the table of the plain C interface.
#ifndef STILLFLOW_LIBRARY_H_
#define STILLFLOW_LIBRARY_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "context.h"
#include "resource.h"

namespace tensorflow {
namespace internal {

// The answer of this thread's last call.
SF_LOCAL inline string& Answer() {
  static thread_local string answer;
  return answer;
}

inline int64 Fail(const Status& status) {
  if (!status.ok()) Answer() = status.error_message();
  return status.code();
}

// Runs a function whose exceptions are errors, too.
template <typename Function>
inline int64 Guarded(Function function) {
  try {
    return Fail(function());
  } catch (const std::bad_alloc&) {
    return Fail(errors::ResourceExhausted("OOM when allocating a tensor"));
  } catch (const std::exception& error) {
    return Fail(errors::Internal(error.what()));
  } catch (...) {
    return Fail(errors::Internal("The kernel threw an object that is no std::exception"));
  }
}

inline const char* Give(int64_t* size) {
  *size = static_cast<int64_t>(Answer().size());
  return Answer().data();
}

inline const char* Describe(int64_t* size) {
  Writer writer;
  writer.Number(static_cast<int64>(Ops().size()));
  for (const OpRecord& op : Ops()) {
    writer.Text(op.name);
    writer.Text(op.doc);
    writer.Texts(op.inputs);
    writer.Texts(op.outputs);
    writer.Texts(op.attributes);
    writer.Number(op.is_stateful | op.is_commutative << 1 | op.is_aggregate << 2 |
                  op.allows_uninitialized << 3 | (op.shape_function ? 1 : 0) << 4);
  }
  writer.Number(static_cast<int64>(Kernels().size()));
  for (const KernelRecord& kernel : Kernels()) {
    for (const string* text : {&kernel.op, &kernel.device, &kernel.label, &kernel.class_name})
      writer.Text(*text);
    writer.Number(kernel.priority);
    writer.Number(static_cast<int64>(kernel.constraints.size()));
    for (const auto& constraint : kernel.constraints) {
      writer.Text(constraint.first);
      writer.Number(static_cast<int64>(constraint.second.size()));
      for (DataType type : constraint.second) writer.Number(type);
    }
    writer.Texts(kernel.host_memory);
  }
  Answer() = writer.data;
  return Give(size);
}

inline shape_inference::InferenceContext::Sections ReadSections(Reader* reader) {
  shape_inference::InferenceContext::Sections sections;
  for (int64 left = reader->Number(); left > 0; --left) {
    const string name = reader->Text();
    sections.emplace_back(name, static_cast<int>(reader->Number()));
  }
  return sections;
}

// The answer has the inputs whose values were asked for, those that were read as shapes, and the
// shapes of the outputs.
inline int64_t Infer(int64_t op, const char* request, int64_t size) {
  return Guarded([&]() -> Status {
    Reader reader(request, size);
    const NodeDef node = NodeDef::Read(&reader);
    const auto inputs = ReadSections(&reader), outputs = ReadSections(&reader);
    shape_inference::InferenceContext context(node, inputs, outputs);
    for (int at = 0; at < context.Total(inputs); ++at) context.AddInput(reader.Shape());
    for (int64 left = reader.Number(); left > 0; --left) {
      const int at = static_cast<int>(reader.Number());
      context.SetValue(at, reader.Value());
    }
    for (int64 left = reader.Number(); left > 0; --left) {
      const int at = static_cast<int>(reader.Number());
      context.SetShapeValue(at, reader.Shape());
    }
    const Status status = Ops().at(static_cast<size_t>(op)).shape_function(&context);
    Writer writer;
    for (const std::set<int>* asked : {&context.asked(), &context.asked_shapes()}) {
      writer.Number(static_cast<int64>(asked->size()));
      for (int at : *asked) writer.Number(at);
    }
    if (!status.ok()) writer.Text(status.error_message());
    for (int at = 0; status.ok() && at < context.num_outputs(); ++at)
      writer.Shape(context.OutputShape(at));
    Answer() = writer.data;
    if (status.ok()) return Status::OK();
    return Status(status.code(), writer.data);
  });
}

inline int64_t Make(int64_t kernel, const char* request, int64_t size, void* resources,
                    void** result) {
  return Guarded([&]() -> Status {
    Reader reader(request, size);
    Making making = Making::Read(&reader);
    making.resources = static_cast<ResourceMgr*>(resources);
    const KernelRecord& record = Kernels().at(static_cast<size_t>(kernel));
    making.PlaceIn(record.host_memory);
    OpKernelConstruction context(&making);
    std::unique_ptr<OpKernel> made(record.make(&context));
    if (context.status().ok()) *result = made.release();
    return context.status();
  });
}

inline int64_t Run(void* kernel, const sf_call* call) {
  return Guarded([&]() -> Status {
    OpKernelContext context(static_cast<OpKernel*>(kernel), call);
    static_cast<OpKernel*>(kernel)->Compute(&context);
    if (context.status().ok()) context.Finish();
    return context.status();
  });
}

// A tensor's type and shape, then the address of its numbers, with the GPU and the address of the
// memory that they are a part of; or its texts or handles.
inline const char* ReadTensor(void* address, int64_t* size) {
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
  Answer() = writer.data;
  return Give(size);
}

inline void Destroy(void* kernel) {
  Guarded([&]() -> Status {
    delete static_cast<OpKernel*>(kernel);
    return Status::OK();
  });
}
inline void ReleaseTensor(void* tensor) { delete static_cast<Tensor*>(tensor); }
inline void* MakeResources() { return new ResourceMgr(); }
inline void DestroyResources(void* resources) { delete static_cast<ResourceMgr*>(resources); }

inline void Connect(const sf_memory* memory) { DeviceMemory() = *memory; }

SF_LOCAL inline const sf_library* Table() {
  static const sf_library table = {STILLFLOW_ABI, Describe,      Infer,           Make,
                                   Destroy,       Run,           Give,            ReadTensor,
                                   ReleaseTensor, MakeResources, DestroyResources, Connect};
  return &table;
}

}  // namespace internal
}  // namespace tensorflow

extern "C" SF_VISIBLE inline const sf_library* stillflow_op_library() {
  return tensorflow::internal::Table();
}

#endif  // STILLFLOW_LIBRARY_H_
