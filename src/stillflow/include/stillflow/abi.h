/* The plain C interface between a compiled library of operations and Python.
 *
 * A library exports one function, stillflow_op_library(), whose table answers everything else.
 * Python refuses a table of another version: compile the library again.
 */
#ifndef STILLFLOW_ABI_H_
#define STILLFLOW_ABI_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <stdint.h>

#define STILLFLOW_ABI 3

#ifdef __cplusplus
extern "C" {
#endif

/* What became of an output, in sf_call.results; a larger number is the address of a tensor of the
 * library, to be read and released; a negative one, -1 - i, says: the reference that input i is. */
enum { SF_NOTHING = 0, SF_OFFERED = 1, SF_ALLOCATED = 2 };

/* Memory of GPUs, which is PyTorch's. A library gets these functions when it is loaded. */
typedef struct sf_memory {
  int64_t (*allocate)(int64_t device, int64_t bytes); /* 0 if none is left */
  void (*release)(int64_t address);
  /* A copy of an input or an output of the call that this thread is in. */
  int64_t (*copy)(int64_t from);
} sf_memory;

/* One run of a kernel. Tensors are rows of words: address, rank, sizes. The address of texts and
 * handles is that of a table of (address, length), one pair for each element. */
typedef struct sf_call {
  const int64_t* inputs;
  const int64_t* offers; /* memory for outputs; rank -1: none */
  int64_t* results;      /* of each output, then of each input: the tensor that replaces it, or 0 */
  int64_t device;        /* number of the GPU; -1: the host */
  int64_t stream;        /* cudaStream_t */
  int64_t step;
  int64_t user;          /* handed on to allocate */
  /* Memory for an output, zeros on a GPU; 0 if none is left. */
  int64_t (*allocate)(int64_t user, int64_t output, int64_t type, int64_t rank,
                      const int64_t* sizes);
} sf_call;

/* Functions that can fail return a code of tensorflow::error, and message() then has the text. */
typedef struct sf_library {
  int64_t abi;
  const char* (*describe)(int64_t* size);
  int64_t (*infer)(int64_t op, const char* request, int64_t size);
  int64_t (*make)(int64_t kernel, const char* request, int64_t size, void* resources,
                  void** result);
  void (*destroy)(void* kernel);
  int64_t (*run)(void* kernel, const sf_call* call);
  const char* (*message)(int64_t* size); /* of this thread's last call */
  const char* (*read)(void* tensor, int64_t* size);
  void (*release)(void* tensor);
  void* (*make_resources)(void);
  void (*destroy_resources)(void* resources);
  void (*connect)(const sf_memory* memory);
  void (*cancel)(void* kernel); /* its session is closed; it may be running */
} sf_library;

#ifdef __cplusplus
}
#endif

#endif /* STILLFLOW_ABI_H_ */
