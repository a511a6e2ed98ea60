// Expressions of Eigen, on its devices.
#define EIGEN_USE_THREADS
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "third_party/eigen3/unsupported/Eigen/CXX11/Tensor"

using namespace tensorflow;
typedef Eigen::ThreadPoolDevice CPUDevice;

REGISTER_OP("Scaled").Input("x: float").Input("by: float").Output("y: float").Output("sum: float");
class ScaledOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor *y = nullptr, *sum = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({}), &sum));
    const CPUDevice& device = context->eigen_device<CPUDevice>();
    const float by = context->input(1).scalar<float>()();
    y->flat<float>().device(device) = x.flat<float>() * by + x.flat<float>().square();
    sum->scalar<float>() = y->flat<float>().sum();
    Eigen::Map<const Eigen::MatrixXf> matrix(x.flat<float>().data(), 2, x.NumElements() / 2);
    y->flat<float>()(0) = matrix.row(0).dot(matrix.row(1));
  }
};
REGISTER_KERNEL_BUILDER(Name("Scaled").Device(DEVICE_CPU), ScaledOp);
