// Attributes, type constraints, lists, errors and shape functions.
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/register_types.h"
#include "tensorflow/core/framework/shape_inference.h"

using namespace tensorflow;
using shape_inference::DimensionHandle;
using shape_inference::InferenceContext;
using shape_inference::ShapeHandle;

REGISTER_OP("KeepOne")
    .Attr("T: {float, double, int32, int64}")
    .Attr("place: int >= 0 = 0")
    .Attr("rest: {'zero', 'negative'} = 'zero'")
    .Input("values: T")
    .Output("kept: T")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle values;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &values));
      c->set_output(0, values);
      return Status::OK();
    })
    .Doc(R"doc(
Keeps one element of a vector.

The others become zero, or negative.

values: A vector.
kept: The vector with one element left.
place: The element that
  is kept.
rest: What becomes of the others.
)doc");

template <typename T>
class KeepOneOp : public OpKernel {
 public:
  explicit KeepOneOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("place", &place_));
    OP_REQUIRES_OK(context, context->GetAttr("rest", &rest_));
    OP_REQUIRES(context, place_ < 100,
                errors::InvalidArgument("place has to be below 100, is ", place_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    OP_REQUIRES(context, TensorShapeUtils::IsVector(input.shape()),
                errors::InvalidArgument("KeepOne expects a vector, got ",
                                        input.shape().DebugString()));
    OP_REQUIRES(context, place_ < input.dim_size(0),
                errors::OutOfRange("place ", place_, " of ", input.dim_size(0), " elements; ",
                                   0.1f, " ", 1.0 / 3, " ", true, " ", 1e10f));
    auto values = input.flat<T>();
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, input.shape(), &output));
    auto kept = output->template flat<T>();
    for (int i = 0; i < values.size(); ++i)
      if (rest_ == "negative") kept(i) = -values(i);
      else if (i != place_) kept(i) = T(0);
    kept(place_) = values(place_);
  }

 private:
  int place_;
  string rest_;
};

#define REGISTER(T)                                                                  \
  REGISTER_KERNEL_BUILDER(Name("KeepOne").Device(DEVICE_CPU).TypeConstraint<T>("T"), \
                          KeepOneOp<T>)
REGISTER(float);
REGISTER(double);
REGISTER(int32);

REGISTER_OP("AddLists")
    .Attr("N: int >= 1")
    .Attr("Ts: list({float, int32}) >= 1")
    .Attr("scales: list(float) = [1.5, 2.0]")
    .Attr("names: list(string) = ['a', 'b']")
    .Attr("shape: shape = { dim { size: 2 } dim { size: 3 } }")
    .Attr("out_type: type = DT_INT32")
    .Attr("loud: bool = true")
    .Input("same: N * float")
    .Input("mixed: Ts")
    .Output("sums: N * float")
    .Output("lengths: Ts")
    .Output("told: out_type");

class AddListsOp : public OpKernel {
 public:
  explicit AddListsOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("scales", &scales_));
    OP_REQUIRES_OK(context, context->GetAttr("names", &names_));
    OP_REQUIRES_OK(context, context->GetAttr("shape", &shape_));
    OP_REQUIRES_OK(context, context->GetAttr("loud", &loud_));
    DataType type;
    OP_REQUIRES_OK(context, context->GetAttr("out_type", &type));
    OP_REQUIRES(context, type == DT_INT32, errors::Unimplemented("no ", DataTypeString(type)));
  }

  void Compute(OpKernelContext* context) override {
    OpInputList same, mixed;
    OpOutputList sums, lengths;
    OP_REQUIRES_OK(context, context->input_list("same", &same));
    OP_REQUIRES_OK(context, context->input_list("mixed", &mixed));
    OP_REQUIRES_OK(context, context->output_list("sums", &sums));
    OP_REQUIRES_OK(context, context->output_list("lengths", &lengths));
    for (int i = 0; i < same.size(); ++i) {
      Tensor* sum = nullptr;
      OP_REQUIRES_OK(context, sums.allocate(i, same[i].shape(), &sum));
      for (int j = 0; j < same[i].NumElements(); ++j)
        sum->flat<float>()(j) = same[i].flat<float>()(j) * scales_[i % scales_.size()];
    }
    for (int i = 0; i < mixed.size(); ++i) {
      Tensor* length = nullptr;
      OP_REQUIRES_OK(context, lengths.allocate(i, TensorShape({}), &length));
      const int64 count = mixed[i].NumElements();
      if (mixed[i].dtype() == DT_FLOAT) length->scalar<float>()() = count;
      else length->scalar<int32>()() = count;
    }
    Tensor* told = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output("told", TensorShape({4}), &told));
    auto numbers = told->vec<int32>();
    numbers(0) = names_.size();
    numbers(1) = shape_.num_elements();
    numbers(2) = loud_ ? 1 : 0;
    numbers(3) = same.size() * 10 + mixed.size();
  }

 private:
  std::vector<float> scales_;
  std::vector<string> names_;
  TensorShape shape_;
  bool loud_;
};
REGISTER_KERNEL_BUILDER(Name("AddLists").Device(DEVICE_CPU), AddListsOp);

// Public shape functions are wrong at times: this one says three columns.
REGISTER_OP("RaggedColumns")
    .Input("rows: int32")
    .Input("columns: int32")
    .Output("table: float")
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->Matrix(c->UnknownDim(), 3));
      return Status::OK();
    });

class RaggedColumnsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor* table = nullptr;
    const int rows = context->input(0).scalar<int32>()();
    const int columns = context->input(1).scalar<int32>()();
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({rows, columns}), &table));
    auto matrix = table->matrix<float>();
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) matrix(i, j) = 10 * i + j;
  }
};
REGISTER_KERNEL_BUILDER(Name("RaggedColumns").Device(DEVICE_CPU), RaggedColumnsOp);

REGISTER_OP("OnlyOnGPU").Input("x: float").Output("y: float").SetShapeFn(
    shape_inference::UnchangedShape);
REGISTER_KERNEL_BUILDER(Name("OnlyOnGPU").Device(DEVICE_GPU), RaggedColumnsOp);

REGISTER_OP("GivesNothing").Output("y: float").SetShapeFn(shape_inference::ScalarShape);
class GivesNothingOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext*) override {}
};
REGISTER_KERNEL_BUILDER(Name("GivesNothing").Device(DEVICE_CPU), GivesNothingOp);
