// Launchers of public libraries' kernels for GPUs, where those are not compiled.
#include "third_party/eigen3/unsupported/Eigen/CXX11/Tensor"

bool ROIPoolForwardLaucher(const float*, float, int, int, int, int, int, int, const float*,
                           float*, int*, const Eigen::GpuDevice&) {
  return false;
}
bool ROIPoolBackwardLaucher(const float*, float, int, int, int, int, int, int, int, const float*,
                            float*, const int*, const Eigen::GpuDevice&) {
  return false;
}
void NmDistanceKernelLauncher(int, int, const float*, int, const float*, float*, int*, float*,
                              int*) {}
void NmDistanceGradKernelLauncher(int, int, const float*, int, const float*, const float*,
                                  const int*, const float*, const int*, float*, float*) {}
void approxmatchLauncher(int, int, int, const float*, const float*, float*, float*) {}
void matchcostLauncher(int, int, int, const float*, const float*, const float*, float*) {}
void matchcostgradLauncher(int, int, int, const float*, const float*, const float*, float*,
                           float*) {}
