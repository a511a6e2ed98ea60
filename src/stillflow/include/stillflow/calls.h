// From the words of a call to tensors, and back.
#ifndef STILLFLOW_CALLS_H_
#define STILLFLOW_CALLS_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "context.h"

namespace tensorflow {

namespace internal {

struct Piece {
  int64 address, size;
};

SF_RARE inline void ReadHandle(Reader reader, ResourceHandle* handle) {
  handle->set_device(reader.Text());
  handle->set_container(reader.Text());
  handle->set_name(reader.Text());
  handle->set_maybe_type_name(reader.Text());
  handle->set_hash_code(static_cast<uint64>(reader.Number()));
}

// A tensor of texts or handles.
TF_ATTRIBUTE_NOINLINE inline Tensor ReadPieces(DataType type, const TensorShape& shape,
                                               const Piece* pieces) {
  Tensor tensor(type, shape);
  for (int64 i = 0; i < shape.num_elements(); ++i) {
    const char* text = reinterpret_cast<const char*>(pieces[i].address);
    if (type == DT_STRING) {
      tensor.base<string>()[i].assign(text, static_cast<size_t>(pieces[i].size));
    } else {
      ReadHandle(Reader(text, pieces[i].size), tensor.base<ResourceHandle>() + i);
    }
  }
  return tensor;
}

inline bool SameShape(const int64* words, const TensorShape& shape) {
  return words[1] == shape.dims() &&
         std::equal(shape.sizes().begin(), shape.sizes().end(), words + 2);
}

}  // namespace internal

inline OpKernelContext::OpKernelContext(OpKernel* kernel, const sf_call* call)
    : kernel_(kernel), call_(call), device_context_(call->device, call->stream) {
  const int inputs = kernel->num_inputs(), outputs = kernel->num_outputs();
  inputs_.Reserve(inputs);
  outputs_.Reserve(outputs);
  for (int at = 0; at < outputs; ++at) outputs_.Add();
  std::fill_n(call->results, inputs + outputs, SF_NOTHING);
  const int64* words = reinterpret_cast<const int64*>(call->inputs);
  for (int at = 0; at < inputs; ++at) {
    TensorShape shape(words + 2, static_cast<size_t>(words[1]));
    inputs_.Add(ReadInput(at, words, shape));
    words += 2 + shape.dims();
  }
}

inline Tensor OpKernelContext::ReadInput(int at, const int64* words, const TensorShape& shape) {
  const DataType type = kernel_->input_type(at), base = RemoveRefType(type);
  if (base == DT_STRING || base == DT_RESOURCE) {
    return internal::ReadPieces(base, shape, reinterpret_cast<const internal::Piece*>(words[0]));
  }
  const int64 bytes = shape.num_elements() * DataTypeSize(base);
  internal::Buffer* buffer = Borrow(words[0], bytes, input_memory_type(at));
  if (words[0] % internal::kAlignment != 0 && !IsRefType(type)) buffer->Detach();
  return Tensor(base, shape, buffer);
}

inline Status OpKernelContext::allocate_output(int at, const TensorShape& shape,
                                               Tensor** result) {
  if (at < 0 || at >= num_outputs()) {
    return errors::Internal("allocate_output with bad index=", at, " kernel=", kernel_->name());
  }
  const DataType type = RemoveRefType(expected_output_dtype(at));
  Output& output = outputs_[at];
  if (DataTypeSize(type) == 0) {
    output.tensor.reset(new Tensor(type, shape));
    *result = output.tensor.get();
    return Status::OK();
  }
  const int64* words = Offer(at);
  int64 memory = words[0];
  int how = SF_OFFERED;
  if (!internal::SameShape(words, shape) || output.tensor) {
    how = SF_ALLOCATED;
    memory = call_->allocate(call_->user, at, type, shape.dims(),
                             reinterpret_cast<const int64_t*>(shape.sizes().data()));
    if (memory == 0 && shape.num_elements() > 0) {
      return errors::ResourceExhausted("OOM when allocating tensor with shape",
                                       shape.DebugString(), " and type ", DataTypeString(type));
    }
  }
  call_->results[at] = how;
  if (how == SF_ALLOCATED) {
    output.asked = true;
    output.memory = memory;
    output.given = shape;
  }
  const int64 bytes = shape.num_elements() * DataTypeSize(type);
  internal::Buffer* buffer = Borrow(memory, bytes, output_memory_type(at));
  if (bytes > 0 && buffer->device == internal::kHost) {
    memset(reinterpret_cast<void*>(memory), 0, static_cast<size_t>(bytes));
  }
  output.tensor.reset(new Tensor(type, shape, buffer));
  *result = output.tensor.get();
  return Status::OK();
}

inline const int64* OpKernelContext::Offer(int at) const {
  const int64* words = reinterpret_cast<const int64*>(call_->offers);
  for (int other = 0; other < at; ++other) words += 2 + std::max<int64>(words[1], 0);
  return words;
}

inline bool OpKernelContext::IsAsGiven(int at) const {
  const Output& output = outputs_[at];
  const int64 memory = reinterpret_cast<int64>(output.tensor->data());
  if (call_->results[at] == SF_OFFERED) {
    return memory == Offer(at)[0] && internal::SameShape(Offer(at), output.tensor->shape());
  }
  return output.asked && memory == output.memory && output.tensor->shape() == output.given;
}

inline void OpKernelContext::Finish() {
  for (int at = 0; at < num_outputs(); ++at) {
    const Output& output = outputs_[at];
    if (output.forwarded >= 0) {
      call_->results[at] = -1 - output.forwarded;
    } else if (output.tensor && !IsAsGiven(at)) {
      call_->results[at] = reinterpret_cast<int64>(new Tensor(*output.tensor));
    }
  }
  for (int at = 0; at < num_inputs(); ++at) {
    if (!inputs_[at].replaced) continue;
    call_->results[num_outputs() + at] = reinterpret_cast<int64>(new Tensor(inputs_[at].tensor));
  }
}

inline void OpKernelContext::Release() {
  inputs_.Clear();
  outputs_.Clear();
  while (borrowed_) {
    internal::Buffer* buffer = borrowed_;
    borrowed_ = buffer->next;
    if (!buffer->RefCountIsOne()) buffer->Detach();
    buffer->Unref();
  }
}

inline Status OpKernelContext::input_list(StringPiece name, OpInputList* list) {
  int begin, end;
  TF_RETURN_IF_ERROR(kernel_->InputRange(name, &begin, &end));
  *list = OpInputList(this, begin, end);
  return Status::OK();
}
inline Status OpKernelContext::mutable_input_list(StringPiece name, OpMutableInputList* list) {
  int begin, end;
  TF_RETURN_IF_ERROR(kernel_->InputRange(name, &begin, &end));
  *list = OpMutableInputList(this, begin, end);
  return Status::OK();
}
inline Status OpKernelContext::output_list(StringPiece name, OpOutputList* list) {
  int begin, end;
  TF_RETURN_IF_ERROR(kernel_->OutputRange(name, &begin, &end));
  *list = OpOutputList(this, begin, end);
  return Status::OK();
}

}  // namespace tensorflow

#include "library.h"

#endif  // STILLFLOW_CALLS_H_
