// Random numbers, formats of images, paddings, sparse tensors, containers.
#include "tensorflow/core/framework/bounds_check.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/gtl/array_slice.h"
#include "tensorflow/core/lib/gtl/inlined_vector.h"
#include "tensorflow/core/lib/gtl/map_util.h"
#include "tensorflow/core/lib/gtl/top_n.h"
#include "tensorflow/core/lib/random/distribution_sampler.h"
#include "tensorflow/core/lib/random/philox_random.h"
#include "tensorflow/core/lib/random/simple_philox.h"
#include "tensorflow/core/util/guarded_philox_random.h"
#include "tensorflow/core/util/padding.h"
#include "tensorflow/core/util/sparse/sparse_tensor.h"
#include "tensorflow/core/util/tensor_format.h"

using namespace tensorflow;

REGISTER_OP("Draws")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Output("reals: double")
    .Output("wholes: int64")
    .SetIsStateful();
class DrawsOp : public OpKernel {
 public:
  explicit DrawsOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, guarded_.Init(context));
  }
  void Compute(OpKernelContext* context) override {
    random::PhiloxRandom philox = guarded_.ReserveSamples32(64);
    random::SimplePhilox simple(&philox);
    Tensor *reals = nullptr, *wholes = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({4}), &reals));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({12}), &wholes));
    for (int i = 0; i < 2; ++i) reals->vec<double>()(i) = simple.RandFloat();
    for (int i = 2; i < 4; ++i) reals->vec<double>()(i) = simple.RandDouble();
    auto numbers = wholes->vec<int64>();
    numbers(0) = simple.Rand32();
    numbers(1) = simple.Uniform(10);
    numbers(2) = simple.Uniform64(1000000);
    numbers(3) = simple.OneIn(2);
    const std::vector<float> weights = {1, 5, 2, 8, 0.5};
    random::DistributionSampler sampler(weights);
    for (int i = 4; i < 12; ++i) numbers(i) = sampler.Sample(&simple);
  }

 private:
  GuardedPhiloxRandom guarded_;
};
REGISTER_KERNEL_BUILDER(Name("Draws").Device(DEVICE_CPU), DrawsOp);

REGISTER_OP("Window")
    .Attr(GetPaddingAttrString())
    .Attr(GetConvnetDataFormatAttrString())
    .Attr("stride: int")
    .Input("image: float")
    .Output("sizes: int64");
class WindowOp : public OpKernel {
 public:
  explicit WindowOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("padding", &padding_));
    OP_REQUIRES_OK(context, context->GetAttr("stride", &stride_));
    string format;
    OP_REQUIRES_OK(context, context->GetAttr("data_format", &format));
    OP_REQUIRES(context, FormatFromString(format, &format_),
                errors::InvalidArgument("no format: ", format));
  }
  void Compute(OpKernelContext* context) override {
    const Tensor& image = context->input(0);
    const int64 rows = GetTensorDim(image, format_, 'H');
    int64 out, before, after;
    OP_REQUIRES_OK(context, GetWindowedOutputSizeVerbose(rows, 3, stride_, padding_, &out,
                                                         &before, &after));
    Tensor* sizes = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({8}), &sizes));
    auto numbers = sizes->vec<int64>();
    numbers(0) = rows;
    numbers(1) = GetTensorDim(image, format_, 'C');
    numbers(2) = out;
    numbers(3) = before;
    numbers(4) = after;
    numbers(5) = ShapeFromFormat(format_, 1, 2, 3, 4).dim_size(1);
    numbers(6) = FastBoundsCheck(-1, 5);
    numbers(7) = FastBoundsCheck(4, 5);
  }

 private:
  Padding padding_;
  TensorFormat format_;
  int64 stride_;
};
REGISTER_KERNEL_BUILDER(Name("Window").Device(DEVICE_CPU), WindowOp);

REGISTER_OP("RowSums").Input("indices: int64").Input("values: float").Input("shape: int64")
    .Output("sums: float").Output("best: int64");
class RowSumsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    TensorShape shape;
    OP_REQUIRES_OK(context, TensorShapeUtils::MakeShape(context->input(2).vec<int64>().data(),
                                                        context->input(2).NumElements(), &shape));
    sparse::SparseTensor sparse;
    OP_REQUIRES_OK(context, sparse::SparseTensor::Create(context->input(0), context->input(1),
                                                         shape, {0, 1}, &sparse));
    OP_REQUIRES_OK(context, sparse.IndicesValid());
    Tensor *sums = nullptr, *best = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({shape.dim_size(0)}), &sums));
    sums->flat<float>().setZero();
    gtl::TopN<std::pair<float, int64>> top(2);
    for (const auto& group : sparse.group({0})) {
      float sum = 0;
      auto values = group.values<float>();
      for (int i = 0; i < values.size(); ++i) sum += values(i);
      sums->vec<float>()(group.group()[0]) = sum;
      top.push({sum, group.group()[0]});
    }
    std::unique_ptr<std::vector<std::pair<float, int64>>> found(top.Extract());
    const int64 count = found->size();
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({count}), &best));
    for (int64 i = 0; i < count; ++i) best->vec<int64>()(i) = (*found)[i].second;
  }
};
REGISTER_KERNEL_BUILDER(Name("RowSums").Device(DEVICE_CPU), RowSumsOp);
