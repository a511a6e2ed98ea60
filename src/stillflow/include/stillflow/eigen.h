// Eigen: the one that is installed, or else the few parts of mini_eigen.h.
#ifndef STILLFLOW_EIGEN_H_
#define STILLFLOW_EIGEN_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#if defined(STILLFLOW_MINI_EIGEN)
#include "mini_eigen.h"
#else
#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>
namespace Eigen {
struct ThreadPoolDevice;  // sources that define EIGEN_USE_THREADS have the whole of it
}
#endif

#endif  // STILLFLOW_EIGEN_H_
