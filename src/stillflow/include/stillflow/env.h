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

// Tells the runs of a kernel that their session is closed.
class CancellationManager {
 public:
  using Token = int64;
  CancellationManager() {}
  ~CancellationManager() {
    while (first_) Take();
  }
  Token get_cancellation_token() {
    std::lock_guard<std::mutex> held(mutex_);
    return last_++;
  }
  bool IsCancelled() const {
    std::lock_guard<std::mutex> held(mutex_);
    return cancelled_;
  }
  // False if the session is closed already; nothing is called then.
  bool RegisterCallback(Token token, std::function<void()> callback) {
    std::lock_guard<std::mutex> held(mutex_);
    if (cancelled_) return false;
    first_ = new Entry{token, std::move(callback), first_};
    return true;
  }
  // False if the session is closed: the function was called, or is being called.
  bool DeregisterCallback(Token token) {
    std::lock_guard<std::mutex> held(mutex_);
    if (cancelled_) return false;
    for (Entry** at = &first_; *at; at = &(*at)->next) {
      if ((*at)->token != token) continue;
      Entry* found = *at;
      *at = found->next;
      delete found;
      break;
    }
    return true;
  }
  SF_RARE void StartCancel() {
    std::unique_lock<std::mutex> held(mutex_);
    cancelled_ = true;
    while (first_) {
      const std::function<void()> callback = Take();
      held.unlock();
      callback();
      held.lock();
    }
  }

 private:
  struct Entry {
    Token token;
    std::function<void()> callback;
    Entry* next;
  };
  std::function<void()> Take() {
    const std::unique_ptr<Entry> taken(first_);
    first_ = taken->next;
    return std::move(taken->callback);
  }
  mutable std::mutex mutex_;
  Entry* first_ = nullptr;
  Token last_ = 0;
  bool cancelled_ = false;
  TF_DISALLOW_COPY_AND_ASSIGN(CancellationManager);
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
