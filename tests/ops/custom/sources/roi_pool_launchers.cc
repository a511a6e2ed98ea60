// The launchers of a public library's kernels for GPUs, where those are not compiled.
#include "third_party/eigen3/unsupported/Eigen/CXX11/Tensor"

bool ROIPoolForwardLaucher(const float*, float, int, int, int, int, int, int, const float*,
                           float*, int*, const Eigen::GpuDevice&) {
  return false;
}
bool ROIPoolBackwardLaucher(const float*, float, int, int, int, int, int, int, int, const float*,
                            float*, const int*, const Eigen::GpuDevice&) {
  return false;
}
