// Kernels for GPUs. Those of a simulated one compute here, in its memory.
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

using namespace tensorflow;

REGISTER_OP("ScaleThere")
    .Attr("T: {float, double, int32}")
    .Input("x: T")
    .Input("by: int32")
    .Output("y: T")
    .Output("counts: int32");
template <typename T>
class ScaleThereOp : public OpKernel {
 public:
  explicit ScaleThereOp(OpKernelConstruction* context)
      : OpKernel(context), device_(context->device_type().type()) {}
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    const int by = context->input(1).scalar<int32>()();
    Tensor scaled, *counts = nullptr;
    OP_REQUIRES_OK(context, context->allocate_temp(x.dtype(), x.shape(), &scaled));
    for (int64 i = 0; i < x.NumElements(); ++i) scaled.flat<T>()(i) = by * x.flat<T>()(i);
    context->set_output(0, scaled);
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({4}), &counts));
    const bool there = device_ == DEVICE_GPU;
    counts->vec<int32>()(0) = x.NumElements();
    counts->vec<int32>()(1) = there;
    counts->vec<int32>()(2) = context->op_device_context() != nullptr;
    counts->vec<int32>()(3) = context->input_memory_type(0) == DEVICE_MEMORY &&
                              context->input_memory_type(1) == HOST_MEMORY;
  }

 private:
  const string device_;
};
REGISTER_KERNEL_BUILDER(Name("ScaleThere").Device(DEVICE_CPU).TypeConstraint<float>("T"),
                        ScaleThereOp<float>);
REGISTER_KERNEL_BUILDER(Name("ScaleThere").Device(DEVICE_CPU).TypeConstraint<int32>("T"),
                        ScaleThereOp<int32>);
REGISTER_KERNEL_BUILDER(Name("ScaleThere").Device(DEVICE_GPU).TypeConstraint<float>("T")
                            .HostMemory("by").HostMemory("counts"),
                        ScaleThereOp<float>);

// Gives what it was given the time before, and the sum of all.
REGISTER_OP("RememberThere").Input("x: float").Output("before: float").Output("sum: float")
    .SetIsStateful();
class RememberThereOp : public OpKernel {
 public:
  explicit RememberThereOp(OpKernelConstruction* context) : OpKernel(context) {
    Tensor* sum = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_persistent(DT_FLOAT, TensorShape({1}), &sum_, &sum));
    sum->flat<float>()(0) = 0;
  }
  void Compute(OpKernelContext* context) override {
    const Tensor before = before_.NumElements() ? before_ : context->input(0);
    before_ = context->input(0);
    context->set_output(0, before);
    Tensor* sum = sum_.AccessTensor(context);
    for (int64 i = 0; i < before_.NumElements(); ++i)
      sum->flat<float>()(0) += before_.flat<float>()(i);
    context->set_output(1, *sum);
  }

 private:
  Tensor before_;
  PersistentTensor sum_;
};
REGISTER_KERNEL_BUILDER(Name("RememberThere").Device(DEVICE_GPU), RememberThereOp);

// Writes every other element.
REGISTER_OP("HalfWrittenThere").Input("x: float").Output("y: float");
class HalfWrittenThereOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, context->input(0).shape(), &y));
    for (int64 i = 0; i < y->NumElements(); i += 2) y->flat<float>()(i) = 1;
  }
};
REGISTER_KERNEL_BUILDER(Name("HalfWrittenThere").Device(DEVICE_GPU), HalfWrittenThereOp);

REGISTER_OP("AddThere").Input("variable: Ref(float)").Input("by: float").Output("same: Ref(float)");
class AddThereOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor variable = context->mutable_input(0, false);
    const float by = context->input(1).flat<float>()(0);
    for (int64 i = 0; i < variable.NumElements(); ++i) variable.flat<float>()(i) += by;
    context->forward_ref_input_to_ref_output(0, 0);
  }
};
REGISTER_KERNEL_BUILDER(Name("AddThere").Device(DEVICE_GPU), AddThereOp);
