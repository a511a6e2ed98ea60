// References, persistent tensors, resources, counters.
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/lib/core/refcount.h"
#include "tensorflow/core/platform/mutex.h"

using namespace tensorflow;

REGISTER_OP("AddInPlace")
    .Input("variable: Ref(float)")
    .Input("by: float")
    .Output("same: Ref(float)")
    .SetShapeFn([](shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      return Status::OK();
    });
class AddInPlaceOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    mutex_lock held(*context->input_ref_mutex(0));
    Tensor variable = context->mutable_input(0, true);
    OP_REQUIRES(context, variable.IsInitialized(),
                errors::FailedPrecondition("the variable has no value"));
    const float by = context->input(1).scalar<float>()();
    auto values = variable.flat<float>();
    for (int i = 0; i < values.size(); ++i) values(i) += by;
    context->forward_ref_input_to_ref_output(0, 0);
  }
};
REGISTER_KERNEL_BUILDER(Name("AddInPlace").Device(DEVICE_CPU), AddInPlaceOp);

REGISTER_OP("RunningSum").Input("x: float").Output("sum: float").Output("runs: int64")
    .SetIsStateful()
    .SetShapeFn([](shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      c->set_output(1, c->Scalar());
      return Status::OK();
    });
class RunningSumOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    mutex_lock held(mu_);
    const Tensor& x = context->input(0);
    Tensor* kept = nullptr;
    if (runs_ == 0) {
      OP_REQUIRES_OK(context, context->allocate_persistent(DT_FLOAT, x.shape(), &sum_, &kept));
      for (int i = 0; i < x.NumElements(); ++i) kept->flat<float>()(i) = 0;
    }
    kept = sum_.AccessTensor(context);
    OP_REQUIRES(context, kept->shape() == x.shape(),
                errors::InvalidArgument("shape ", x.shape().DebugString(), " after ",
                                        kept->shape().DebugString()));
    for (int i = 0; i < x.NumElements(); ++i) kept->flat<float>()(i) += x.flat<float>()(i);
    ++runs_;
    context->set_output(0, *kept);
    Tensor* runs = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(1, {}, &runs));
    runs->scalar<int64>()() = runs_;
  }

 private:
  mutex mu_;
  PersistentTensor sum_ GUARDED_BY(mu_);
  int64 runs_ GUARDED_BY(mu_) = 0;
};
REGISTER_KERNEL_BUILDER(Name("RunningSum").Device(DEVICE_CPU), RunningSumOp);

// Keeps its input from one run to the next.
REGISTER_OP("Before").Input("x: float").Output("before: float").SetIsStateful();
class BeforeOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor before = before_.NumElements() ? before_ : context->input(0);
    before_ = context->input(0);
    context->set_output(0, before);
  }

 private:
  Tensor before_;
};
REGISTER_KERNEL_BUILDER(Name("Before").Device(DEVICE_CPU), BeforeOp);

class Tally : public ResourceBase {
 public:
  string DebugString() const override { return "tally"; }
  int64 Add(int64 by) {
    mutex_lock held(mu_);
    return total_ += by;
  }

 private:
  mutex mu_;
  int64 total_ GUARDED_BY(mu_) = 0;
};

REGISTER_OP("TallyHandle")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Output("handle: resource")
    .SetIsStateful()
    .SetShapeFn([](shape_inference::InferenceContext* c) {
      c->set_output(0, c->Scalar());
      return Status::OK();
    });
class TallyHandleOp : public ResourceOpKernel<Tally> {
 public:
  using ResourceOpKernel<Tally>::ResourceOpKernel;

 private:
  Status CreateResource(Tally** tally) override {
    *tally = new Tally;
    return Status::OK();
  }
};
REGISTER_KERNEL_BUILDER(Name("TallyHandle").Device(DEVICE_CPU), TallyHandleOp);

REGISTER_OP("TallyAdd").Input("handle: resource").Input("by: int64").Output("total: int64");
class TallyAddOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tally* tally = nullptr;
    OP_REQUIRES_OK(context, LookupResource(context, HandleFromInput(context, 0), &tally));
    core::ScopedUnref unref(tally);
    Tensor* total = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &total));
    total->scalar<int64>()() = tally->Add(context->input(1).scalar<int64>()());
  }
};
REGISTER_KERNEL_BUILDER(Name("TallyAdd").Device(DEVICE_CPU), TallyAddOp);
