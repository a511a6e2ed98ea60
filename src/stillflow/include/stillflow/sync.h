// Reference counts, mutexes, and what waits.
#ifndef STILLFLOW_SYNC_H_
#define STILLFLOW_SYNC_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "logging.h"

namespace tensorflow {

namespace core {

class RefCounted {
 public:
  RefCounted() : count_(1) {}
  void Ref() const { count_.fetch_add(1, std::memory_order_relaxed); }
  bool Unref() const {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    delete this;
    return true;
  }
  bool RefCountIsOne() const { return count_.load(std::memory_order_acquire) == 1; }

 protected:
  virtual ~RefCounted() {}

 private:
  mutable std::atomic<int32> count_;
  TF_DISALLOW_COPY_AND_ASSIGN(RefCounted);
};

struct RefCountDeleter {
  void operator()(const RefCounted* object) const { object->Unref(); }
};
template <typename T>
using RefCountPtr = std::unique_ptr<T, RefCountDeleter>;

// Gives up one reference at the end of a block.
class ScopedUnref {
 public:
  explicit ScopedUnref(const RefCounted* object) : object_(object) {}
  ~ScopedUnref() {
    if (object_) object_->Unref();
  }

 private:
  const RefCounted* object_;
  TF_DISALLOW_COPY_AND_ASSIGN(ScopedUnref);
};

}  // namespace core

enum LinkerInitialized { LINKER_INITIALIZED };

// A lock that one writer holds, or several readers.
class mutex {
 public:
  mutex() {}
  explicit mutex(LinkerInitialized) {}
  void lock() {
    std::unique_lock<std::mutex> held(inner_);
    changed_.wait(held, [this] { return !writes_ && readers_ == 0; });
    writes_ = true;
  }
  bool try_lock() {
    std::lock_guard<std::mutex> held(inner_);
    if (writes_ || readers_) return false;
    return writes_ = true;
  }
  void unlock() {
    {
      std::lock_guard<std::mutex> held(inner_);
      writes_ = false;
    }
    changed_.notify_all();
  }
  void lock_shared() {
    std::unique_lock<std::mutex> held(inner_);
    changed_.wait(held, [this] { return !writes_; });
    ++readers_;
  }
  void unlock_shared() {
    {
      std::lock_guard<std::mutex> held(inner_);
      --readers_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex inner_;
  std::condition_variable changed_;
  bool writes_ = false;
  int readers_ = 0;
  TF_DISALLOW_COPY_AND_ASSIGN(mutex);
};

class mutex_lock {
 public:
  explicit mutex_lock(mutex& mu) : mutex_(&mu) { mu.lock(); }
  mutex_lock(mutex_lock&& other) : mutex_(other.mutex_) { other.mutex_ = nullptr; }
  ~mutex_lock() {
    if (mutex_) mutex_->unlock();
  }
  mutex* mutex_pointer() const { return mutex_; }

 private:
  mutex* mutex_;
};

class tf_shared_lock {
 public:
  explicit tf_shared_lock(mutex& mu) : mutex_(&mu) { mu.lock_shared(); }
  ~tf_shared_lock() { mutex_->unlock_shared(); }

 private:
  mutex* mutex_;
};

enum ConditionResult { kCond_Timeout, kCond_MaybeNotified };

class condition_variable {
 public:
  void wait(mutex_lock& lock) {
    Adapter adapter{lock.mutex_pointer()};
    inner_.wait(adapter);
  }
  template <typename Predicate>
  void wait(mutex_lock& lock, Predicate holds) {
    while (!holds()) wait(lock);
  }
  template <typename Rep, typename Period>
  std::cv_status wait_for(mutex_lock& lock, std::chrono::duration<Rep, Period> duration) {
    Adapter adapter{lock.mutex_pointer()};
    return inner_.wait_for(adapter, duration);
  }
  void notify_one() { inner_.notify_one(); }
  void notify_all() { inner_.notify_all(); }

 private:
  struct Adapter {
    mutex* inner;
    void lock() { inner->lock(); }
    void unlock() { inner->unlock(); }
  };
  std::condition_variable_any inner_;
};

inline ConditionResult WaitForMilliseconds(mutex_lock* lock, condition_variable* condition,
                                           int64 milliseconds) {
  const auto ended = condition->wait_for(*lock, std::chrono::milliseconds(milliseconds));
  return ended == std::cv_status::timeout ? kCond_Timeout : kCond_MaybeNotified;
}

// Told once; those who wait for it go on then.
class Notification {
 public:
  void Notify() {
    std::lock_guard<std::mutex> held(mutex_);
    told_ = true;
    changed_.notify_all();
  }
  bool HasBeenNotified() const {
    std::lock_guard<std::mutex> held(mutex_);
    return told_;
  }
  void WaitForNotification() {
    std::unique_lock<std::mutex> held(mutex_);
    changed_.wait(held, [this] { return told_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;
};

// Lets a thread wait until others have counted down to nothing.
class BlockingCounter {
 public:
  explicit BlockingCounter(int count) : left_(count) {}
  void DecrementCount() {
    std::lock_guard<std::mutex> held(mutex_);
    if (--left_ == 0) changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> held(mutex_);
    changed_.wait(held, [this] { return left_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_;
};

}  // namespace tensorflow

#endif  // STILLFLOW_SYNC_H_
