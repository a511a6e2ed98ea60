// Views of tensors, and types of all widths.
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/batch_util.h"
#include "tensorflow/core/framework/register_types.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/tensor_types.h"
#include "tensorflow/core/framework/types.h"

using namespace tensorflow;

REGISTER_OP("Views").Input("x: float").Output("numbers: int64").Output("parts: float");
class ViewsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    OP_REQUIRES(context, x.dims() == 3, errors::InvalidArgument("three dimensions"));
    std::vector<int64> numbers;
    auto cube = x.tensor<float, 3>();
    auto inner = x.flat_inner_dims<float>();
    auto outer = x.flat_outer_dims<float>();
    auto inner4 = x.flat_inner_dims<float, 4>();
    auto both = x.flat_inner_outer_dims<float, 2>(1);
    auto shaped = x.shaped<float, 2>({x.NumElements() / 2, 2});
    auto loose = x.unaligned_shaped<float, 1>({x.NumElements()});
    for (int i = 0; i < 3; ++i) numbers.push_back(cube.dimension(i));
    for (int i = 0; i < 2; ++i) numbers.push_back(inner.dimension(i));
    for (int i = 0; i < 2; ++i) numbers.push_back(outer.dimension(i));
    for (int i = 0; i < 4; ++i) numbers.push_back(inner4.dimension(i));
    for (int i = 0; i < 2; ++i) numbers.push_back(both.dimension(i));
    for (int i = 0; i < 2; ++i) numbers.push_back(shaped.dimension(i));
    numbers.push_back(loose.size());
    const Tensor row = x.Slice(1, 2);
    numbers.push_back(row.dims());
    numbers.push_back(row.NumElements());
    TensorShape shape = x.shape();
    shape.AddDim(4);
    shape.InsertDim(1, 5);
    shape.RemoveDim(0);
    shape.set_dim(0, 6);
    shape.AppendShape(TensorShape({2, 1}));
    for (auto dim : shape) numbers.push_back(dim.size);
    numbers.push_back(shape.num_elements());
    numbers.push_back(TensorShapeUtils::IsMatrix(shape));
    numbers.push_back(TensorShapeUtils::EndsWith(shape, TensorShape({2, 1})));
    PartialTensorShape partial({-1, 3});
    numbers.push_back(partial.IsCompatibleWith(PartialTensorShape({2, 3})));
    numbers.push_back(partial.IsFullyDefined());
    Tensor copy;
    OP_REQUIRES(context, copy.CopyFrom(x, TensorShape({x.NumElements()})),
                errors::Internal("another size"));
    numbers.push_back(copy.SharesBufferWith(x));
    Tensor temporary;
    OP_REQUIRES_OK(context, context->allocate_temp(DT_INT64, TensorShape({2, 2}), &temporary));
    numbers.push_back(temporary.TotalBytes());
    Tensor *out = nullptr, *parts = nullptr;
    const int64 count = numbers.size();
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({count}), &out));
    for (int64 i = 0; i < count; ++i) out->vec<int64>()(i) = numbers[i];
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({6}), &parts));
    auto values = parts->vec<float>();
    values(0) = cube(1, 0, 1);
    values(1) = inner(1, 0);
    values(2) = outer(0, 2);
    values(3) = shaped(1, 1);
    values(4) = loose(3);
    values(5) = row.unaligned_flat<float>()(0);
  }
};
REGISTER_KERNEL_BUILDER(Name("Views").Device(DEVICE_CPU), ViewsOp);

REGISTER_OP("Twice").Attr("T: type").Input("x: T").Output("y: T").SetShapeFn(
    [](shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      return Status::OK();
    });
template <typename T>
class TwiceOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output({0}, 0, x.shape(), &y));
    auto from = x.flat<T>();
    auto to = y->flat<T>();
    for (int64 i = 0; i < from.size(); ++i) to(i) = from(i) + from(i);
  }
};
#define REGISTER_TWICE(T) \
  REGISTER_KERNEL_BUILDER(Name("Twice").Device(DEVICE_CPU).TypeConstraint<T>("T"), TwiceOp<T>);
TF_CALL_NUMBER_TYPES(REGISTER_TWICE);
#undef REGISTER_TWICE

// Assigns other tensors to its outputs after it has allocated them.
REGISTER_OP("Assigned").Input("x: float").Output("same: float").Output("flat: float")
    .Output("half: float");
class AssignedOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y[3] = {};
    for (int i = 0; i < 3; ++i) {
      OP_REQUIRES_OK(context, context->allocate_output(i, x.shape(), &y[i]));
      for (int64 j = 0; j < x.NumElements(); ++j) y[i]->flat<float>()(j) = 10 * j;
    }
    *y[0] = x;
    const Tensor whole = *y[1];
    OP_REQUIRES(context, y[1]->CopyFrom(whole, TensorShape({x.NumElements()})),
                errors::Internal("another size"));
    *y[2] = y[2]->Slice(0, x.dim_size(0) / 2);
  }
};
REGISTER_KERNEL_BUILDER(Name("Assigned").Device(DEVICE_CPU), AssignedOp);

// Writes every other element: what is left unwritten is zero.
REGISTER_OP("HalfWritten").Input("size: int32").Output("y: float");
class HalfWrittenOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor* y = nullptr;
    const int size = context->input(0).scalar<int32>()();
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({size}), &y));
    for (int i = 0; i < size; i += 2) y->flat<float>().data()[i] = 1;
  }
};
REGISTER_KERNEL_BUILDER(Name("HalfWritten").Device(DEVICE_CPU), HalfWrittenOp);

REGISTER_OP("RowsReversed").Input("x: T").Attr("T: type").Attr("width: int").Output("y: T");
class RowsReversedOp : public OpKernel {
 public:
  explicit RowsReversedOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("width", &width_));
  }
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    Tensor row(x.dtype(), TensorShape({width_}));
    for (int64 at = 0, rows = x.dim_size(0); at < rows; ++at) {
      OP_REQUIRES_OK(context, batch_util::CopySliceToElement(x, &row, at));
      OP_REQUIRES_OK(context, batch_util::CopyElementToSlice(row, y, rows - 1 - at));
    }
  }

 private:
  int64 width_;
};
REGISTER_KERNEL_BUILDER(Name("RowsReversed").Device(DEVICE_CPU), RowsReversedOp);
