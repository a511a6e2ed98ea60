// The header of Eigen that SF_EIGEN_HEADER names, of the package cmeel-eigen next to this one or of
// the system; else mini_eigen.h.

#ifndef SF_EIGEN_TEXT
#define SF_EIGEN_TEXT_OF(path) #path
#define SF_EIGEN_TEXT(path) SF_EIGEN_TEXT_OF(path)
#define SF_EIGEN_OF_PACKAGE(header) SF_EIGEN_TEXT(../../../cmeel.prefix/include/eigen3/header)
#define SF_EIGEN_OF_SYSTEM(header) <eigen3/header>
#endif

#if __has_include("../../../cmeel.prefix/include/eigen3/unsupported/Eigen/CXX11/Tensor")
#include SF_EIGEN_OF_PACKAGE(SF_EIGEN_HEADER)
#elif __has_include(<eigen3/unsupported/Eigen/CXX11/Tensor>)
#include SF_EIGEN_OF_SYSTEM(SF_EIGEN_HEADER)
#else
#define STILLFLOW_MINI_EIGEN
#include "mini_eigen.h"
#endif
#undef SF_EIGEN_HEADER
