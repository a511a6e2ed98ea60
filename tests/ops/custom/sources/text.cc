// Strings, StrCat, parsing of numbers, Status texts.
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/strings/numbers.h"
#include "tensorflow/core/lib/strings/str_util.h"
#include "tensorflow/core/lib/strings/strcat.h"
#include "tensorflow/core/lib/strings/stringprintf.h"

using namespace tensorflow;

REGISTER_OP("JoinPairs").Input("a: string").Input("b: string").Output("c: string");
class JoinPairsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor* a;
    const Tensor* b;
    OP_REQUIRES_OK(context, context->input("a", &a));
    OP_REQUIRES_OK(context, context->input("b", &b));
    OP_REQUIRES(context, a->IsSameSize(*b),
                errors::InvalidArgument("shapes differ: ", a->shape().DebugString(), " and ",
                                        b->shape().DebugString()));
    Tensor* c = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, a->shape(), &c));
    for (int i = 0; i < a->NumElements(); ++i)
      c->flat<string>()(i) = strings::StrCat(a->flat<string>()(i), "+", b->flat<string>()(i));
  }
};
REGISTER_KERNEL_BUILDER(Name("JoinPairs").Device(DEVICE_CPU), JoinPairsOp);

REGISTER_OP("Words").Input("text: string").Output("words: string").Output("numbers: float");
class WordsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const string text = context->input(0).scalar<string>()();
    const std::vector<string> words = str_util::Split(text, ' ', str_util::SkipEmpty());
    Tensor *out = nullptr, *numbers = nullptr;
    const TensorShape shape({static_cast<int64>(words.size())});
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &out));
    OP_REQUIRES_OK(context, context->allocate_output(1, shape, &numbers));
    for (size_t i = 0; i < words.size(); ++i) {
      out->vec<string>()(i) = str_util::Uppercase(words[i]);
      float number = -1;
      if (!strings::safe_strtof(words[i].c_str(), &number)) number = -1;
      numbers->vec<float>()(i) = number;
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("Words").Device(DEVICE_CPU), WordsOp);

REGISTER_OP("Told").Input("x: float").Output("told: string");
class ToldOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* told = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({6}), &told));
    auto texts = told->vec<string>();
    texts(0) = x.DebugString();
    texts(1) = x.SummarizeValue(4);
    texts(2) = strings::StrCat(1, " ", 2.5f, " ", 1e20, " ", 3u, " ", int64{-4}, " ",
                               strings::Hex(255));
    texts(3) = strings::Printf("%05.1f|%s", 2.25, "x");
    texts(4) = errors::NotFound("a ", 1, " ", x.shape().DebugString()).ToString();
    texts(5) = str_util::Join(std::vector<int>{1, 2, 3}, "-");
  }
};
REGISTER_KERNEL_BUILDER(Name("Told").Device(DEVICE_CPU), ToldOp);
