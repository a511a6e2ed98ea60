// Env: the clock, threads and small files.
#ifndef STILLFLOW_ENV_H_
#define STILLFLOW_ENV_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "status.h"
#include "sync.h"

namespace tensorflow {

struct ThreadOptions {
  size_t stack_size = 0;
  size_t guard_size = 0;
};

class Thread {
 public:
  explicit Thread(std::function<void()> function) : thread_(std::move(function)) {}
  virtual ~Thread() { thread_.join(); }

 private:
  std::thread thread_;
};

// The clock, threads and small files.
class Env {
 public:
  SF_LOCAL static Env* Default() {
    static Env env;
    return &env;
  }
  uint64 NowMicros() const { return NowNanos() / 1000; }
  uint64 NowSeconds() const { return NowNanos() / 1000000000; }
  uint64 NowNanos() const {
    return static_cast<uint64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
  }
  void SleepForMicroseconds(int64 time) const {
    std::this_thread::sleep_for(std::chrono::microseconds(time));
  }
  Thread* StartThread(const ThreadOptions&, const string&, std::function<void()> function) {
    return new Thread(std::move(function));
  }
  void SchedClosure(std::function<void()> function) { std::thread(std::move(function)).detach(); }
  Status FileExists(const string& path) const {
    FILE* file = fopen(path.c_str(), "rb");
    if (file == nullptr) return errors::NotFound(path, " not found");
    fclose(file);
    return Status::OK();
  }
};

inline Status ReadFileToString(Env*, const string& path, string* result) {
  FILE* file = fopen(path.c_str(), "rb");
  if (file == nullptr) return errors::NotFound(path, "; No such file or directory");
  result->clear();
  char part[1 << 14];
  while (const size_t size = fread(part, 1, sizeof(part), file)) result->append(part, size);
  fclose(file);
  return Status::OK();
}
inline Status WriteStringToFile(Env*, const string& path, StringPiece text) {
  FILE* file = fopen(path.c_str(), "wb");
  bool written = file && fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && fclose(file) != 0) written = false;
  return written ? Status::OK() : errors::Unavailable("cannot write ", path);
}

namespace port {
inline int NumSchedulableCPUs() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}
inline int MaxParallelism() { return NumSchedulableCPUs(); }
inline int NumTotalCPUs() { return NumSchedulableCPUs(); }
}  // namespace port

// Kernels of libraries run to their end: nobody cancels them.
class CancellationManager {
 public:
  using Token = int64;
  Token get_cancellation_token() { return 0; }
  bool IsCancelled() const { return false; }
  bool RegisterCallback(Token, std::function<void()>) { return true; }
  bool DeregisterCallback(Token) { return true; }
};
using CancellationToken = CancellationManager::Token;

namespace thread {
class ThreadPool;
}
namespace internal {
// Gives the threads that kernels share; set by sources that know their type (threads.h).
SF_LOCAL inline thread::ThreadPool* (*&PoolMaker())() {
  static thread::ThreadPool* (*maker)() = nullptr;
  return maker;
}
}  // namespace internal

}  // namespace tensorflow

#endif  // STILLFLOW_ENV_H_
