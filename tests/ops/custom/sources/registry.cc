// The registry of a library's own operations, which also compiles into a program.
#include <stdio.h>

#include "tensorflow/core/framework/op.h"

REGISTER_OP("SecondListed").Input("x: T").Output("y: float").Attr("T: {int32, float}");
REGISTER_OP("FirstListed").Attr("n: int >= 2 = 3").SetIsStateful();

int main() {
  printf("%s", tensorflow::OpRegistry::Global()->DebugString(false).c_str());
  return tensorflow::OpRegistry::Global()->IsRegistered("FirstListed") ? 0 : 1;
}
