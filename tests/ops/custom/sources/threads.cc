// Threads, asynchronous kernels, and what goes wrong in kernels.
#include <stdexcept>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/core/threadpool.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/platform/logging.h"
#include "tensorflow/core/util/work_sharder.h"

using namespace tensorflow;

REGISTER_OP("Squares").Input("count: int32").Output("squares: int64");
class SquaresOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const int count = context->input(0).scalar<int32>()();
    Tensor* squares = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({count}), &squares));
    auto values = squares->vec<int64>();
    auto workers = *(context->device()->tensorflow_cpu_worker_threads());
    Shard(workers.num_threads, workers.workers, count, 100000, [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; ++i) values(i) = i * i;
    });
    thread::ThreadPool pool(Env::Default(), "own", 2);
    pool.ParallelFor(count, 100000, [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; ++i) values(i) += 1;
    });
  }
};
REGISTER_KERNEL_BUILDER(Name("Squares").Device(DEVICE_CPU), SquaresOp);

REGISTER_OP("Later").Input("x: float").Output("y: float").SetIsStateful();
class LaterOp : public AsyncOpKernel {
 public:
  explicit LaterOp(OpKernelConstruction* context) : AsyncOpKernel(context) {}
  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    OP_REQUIRES_ASYNC(context, context->input(0).dims() == 0,
                      errors::InvalidArgument("a scalar is wanted"), done);
    context->env()->SchedClosure([context, done]() {
      Tensor* y = nullptr;
      OP_REQUIRES_OK_ASYNC(context, context->allocate_output(0, TensorShape({}), &y), done);
      y->scalar<float>()() = context->input(0).scalar<float>()() + 1;
      done();
    });
  }
};
REGISTER_KERNEL_BUILDER(Name("Later").Device(DEVICE_CPU), LaterOp);

REGISTER_OP("WaitsForEnd").Output("y: float").SetIsStateful();
class WaitsForEndOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Notification told;
    CancellationManager* manager = context->cancellation_manager();
    const CancellationToken token = manager->get_cancellation_token();
    if (manager->RegisterCallback(token, [&told] { told.Notify(); })) told.WaitForNotification();
    context->SetStatus(errors::Cancelled("ended: ", manager->IsCancelled(), " ",
                                         manager->DeregisterCallback(token)));
  }
};
REGISTER_KERNEL_BUILDER(Name("WaitsForEnd").Device(DEVICE_CPU), WaitsForEndOp);

REGISTER_OP("GoesWrong").Input("how: int32").Output("y: float").SetIsStateful();
class GoesWrongOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &y));
    switch (context->input(0).scalar<int32>()()) {
      case 0:
        CHECK_EQ(1 + 1, 3) << "sums";
        break;
      case 1:
        throw std::runtime_error("thrown");
      case 2:
        Shard(4, context->device()->tensorflow_cpu_worker_threads()->workers, 64, 1000000,
              [](int64 begin, int64 end) { CHECK(end < 0) << "in a thread"; });
        break;
      case 3:
        LOG(FATAL) << "fatal";
        break;
      case 4:
        context->input(0).flat<float>();
        break;
      case 5:
        context->input(0).matrix<int32>();
        break;
      case 6:
        throw 7;
      case 7:
        context->input(1);
        break;
      default:
        context->SetStatus(errors::Aborted("aborted ", 1));
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("GoesWrong").Device(DEVICE_CPU), GoesWrongOp);
