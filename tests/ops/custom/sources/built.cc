// One operation, named by the command that compiles it: -DOPERATION=Name.
#include <algorithm>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/util/work_sharder.h"

#define QUOTED2(name) #name
#define QUOTED(name) QUOTED2(name)

namespace tensorflow {

REGISTER_OP(QUOTED(OPERATION))
    .Input("x: T")
    .Attr("T: {float, int32}")
    .Attr("weights: list(int) = [1, 2]")
    .Output("y: T")
    .Output("told: string")
    .SetShapeFn([](shape_inference::InferenceContext* c) {
      shape_inference::ShapeHandle x;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &x));
      c->set_output(0, x);
      c->set_output(1, c->Scalar());
      return Status::OK();
    });

template <typename T>
class BuiltOp : public OpKernel {
 public:
  explicit BuiltOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("weights", &weights_));
    OP_REQUIRES(context, !weights_.empty(), errors::InvalidArgument("no weights for ", name()));
  }
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor *y = nullptr, *told = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output("y", x.shape(), &y));
    OP_REQUIRES_OK(context, context->allocate_output("told", TensorShape({}), &told));
    const auto from = x.vec<T>();
    auto to = y->vec<T>();
    const auto workers = *context->device()->tensorflow_cpu_worker_threads();
    Shard(workers.num_threads, workers.workers, x.NumElements(), 1000, [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; ++i) to(i) = from(i) * T(weights_[i % weights_.size()]);
    });
    told->scalar<string>()() = strings::StrCat(x.shape().DebugString(), " of ", weights_.size());
  }

 private:
  std::vector<int32> weights_;
};

#define REGISTER(T)                                                                         \
  REGISTER_KERNEL_BUILDER(                                                                  \
      Name(QUOTED(OPERATION)).Device(DEVICE_CPU).TypeConstraint<T>("T"), BuiltOp<T>)
REGISTER(float);
REGISTER(int32);
#undef REGISTER

}  // namespace tensorflow
