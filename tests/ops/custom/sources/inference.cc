// Shape functions, by way of the functions of InferenceContext.
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

using namespace tensorflow;
using shape_inference::DimensionHandle;
using shape_inference::InferenceContext;
using shape_inference::ShapeHandle;

#define INFERS(name, code)                                                              \
  REGISTER_OP(name).Input("a: float").Input("b: float").Output("c: float").SetShapeFn( \
      [](InferenceContext* c) {                                                         \
        ShapeHandle a = c->input(0), b = c->input(1), s;                                \
        DimensionHandle d;                                                              \
        code;                                                                           \
        c->set_output(0, s);                                                            \
        return Status::OK();                                                            \
      })

INFERS("InferMerge", TF_RETURN_IF_ERROR(c->Merge(a, b, &s)));
INFERS("InferPrefix", ShapeHandle p; TF_RETURN_IF_ERROR(c->MergePrefix(a, b, &s, &p)));
INFERS("InferAtLeast", TF_RETURN_IF_ERROR(c->WithRankAtLeast(a, 2, &s)));
INFERS("InferAtMost", TF_RETURN_IF_ERROR(c->WithRankAtMost(a, 2, &s)));
INFERS("InferSubshape", TF_RETURN_IF_ERROR(c->Subshape(a, 1, -1, &s)));
INFERS("InferConcatenate", TF_RETURN_IF_ERROR(c->Concatenate(a, b, &s)));
INFERS("InferReplace", TF_RETURN_IF_ERROR(c->ReplaceDim(a, -1, c->MakeDim(7), &s)));
INFERS("InferDivide", TF_RETURN_IF_ERROR(c->Divide(c->Dim(a, 0), 2, true, &d));
       s = c->Vector(d));
INFERS("InferArithmetic", TF_RETURN_IF_ERROR(c->Add(c->Dim(a, 0), c->Dim(b, 0), &d));
       TF_RETURN_IF_ERROR(c->Multiply(d, 2, &d)); TF_RETURN_IF_ERROR(c->Subtract(d, 1, &d));
       DimensionHandle e; TF_RETURN_IF_ERROR(c->Max(c->Dim(a, 0), 5, &e));
       DimensionHandle f; TF_RETURN_IF_ERROR(c->Min(c->Dim(a, 0), 5, &f));
       s = c->MakeShape({d, e, f, 3}));
INFERS("InferValue", TF_RETURN_IF_ERROR(c->WithValue(c->Dim(a, 0), 3, &d));
       s = c->Matrix(d, c->NumElements(b)));
INFERS("InferText", return errors::InvalidArgument("a is ", c->DebugString(a), ", b has ",
                                                   c->Rank(b), " dimensions"));
INFERS("InferInternal", return errors::Internal("something else"));

REGISTER_OP("InferFromValues")
    .Input("size: int32")
    .Input("shape: int32")
    .Output("sized: float")
    .Output("shaped: float")
    .SetShapeFn([](InferenceContext* c) {
      DimensionHandle size;
      ShapeHandle shape;
      TF_RETURN_IF_ERROR(c->MakeDimForScalarInput(0, &size));
      TF_RETURN_IF_ERROR(c->MakeShapeFromShapeTensor(1, &shape));
      c->set_output(0, c->Vector(size));
      c->set_output(1, shape);
      return Status::OK();
    });

REGISTER_OP("InferBroadcast").Input("a: float").Input("b: float").Output("c: float").SetShapeFn(
    shape_inference::BroadcastBinaryOpShapeFn);
REGISTER_OP("InferProduct")
    .Input("a: float")
    .Input("b: float")
    .Output("c: float")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .SetShapeFn(shape_inference::MatMulShape);
REGISTER_OP("InferWithRank").Input("a: float").Output("b: float").SetShapeFn(
    [](InferenceContext* c) { return shape_inference::UnchangedShapeWithRank(c, 2); });
REGISTER_OP("InferLists")
    .Attr("N: int >= 0")
    .Input("xs: N * float")
    .Output("ys: N * float")
    .Output("last: float")
    .SetShapeFn([](InferenceContext* c) {
      std::vector<ShapeHandle> shapes;
      TF_RETURN_IF_ERROR(c->input("xs", &shapes));
      std::reverse(shapes.begin(), shapes.end());
      TF_RETURN_IF_ERROR(c->set_output("ys", shapes));
      int n;
      TF_RETURN_IF_ERROR(c->GetAttr("N", &n));
      c->set_output(c->num_outputs() - 1, c->MakeShape({n, c->UnknownDim()}));
      return Status::OK();
    });
