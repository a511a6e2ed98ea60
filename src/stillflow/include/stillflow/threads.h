// Thread pools, and Shard.
#ifndef STILLFLOW_THREADS_H_
#define STILLFLOW_THREADS_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <deque>
#include <exception>
#include <thread>

#include "env.h"

namespace tensorflow {

namespace thread {

class ThreadPool {
 public:
  ThreadPool(Env*, const string&, int count) : ThreadPool(count) {}
  ThreadPool(Env*, const ThreadOptions&, const string&, int count, bool = true)
      : ThreadPool(count) {}
  ~ThreadPool() {
    {
      std::lock_guard<std::mutex> held(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Schedule(std::function<void()> function) {
    {
      std::lock_guard<std::mutex> held(mutex_);
      while (threads_.size() < count_) threads_.emplace_back([this] { Work(); });
      queue_.push_back(std::move(function));
    }
    changed_.notify_one();
  }
  int NumThreads() const { return static_cast<int>(count_); }
  int CurrentThreadId() const {
    for (size_t at = 0; at < threads_.size(); ++at)
      if (threads_[at].get_id() == std::this_thread::get_id()) return static_cast<int>(at);
    return -1;
  }
  void ParallelFor(int64 total, int64 cost_per_unit,
                   const std::function<void(int64, int64)>& function) {
    Run(NumThreads(), total, cost_per_unit, function);
  }
  void TransformRangeConcurrently(int64 block, int64 total,
                                  const std::function<void(int64, int64)>& function) {
    RunBlocks(std::max<int64>(block, 1), total, function);
  }

  // Ranges of [0, total) on at most so many threads; this one works, too, and waits for all.
  void Run(int most, int64 total, int64 cost_per_unit,
           const std::function<void(int64, int64)>& function) {
    const int64 least_cost = 10000;  // a thread is worth its wake-up from there on
    const int64 worth = std::max<int64>(
        1, total * std::max<int64>(1, std::min<int64>(cost_per_unit, 1 << 30)) / least_cost);
    const int64 parts = std::max<int64>(1, std::min<int64>({most, NumThreads(), worth, total}));
    RunBlocks((total + parts - 1) / parts, total, function);
  }

 private:
  explicit ThreadPool(int count) : count_(static_cast<size_t>(std::max(count, 1))) {}

  void Work() {
    for (;;) {
      std::function<void()> function;
      {
        std::unique_lock<std::mutex> held(mutex_);
        changed_.wait(held, [this] { return ends_ || !queue_.empty(); });
        if (queue_.empty()) return;
        function = std::move(queue_.front());
        queue_.pop_front();
      }
      function();
    }
  }
  void RunBlocks(int64 block, int64 total, const std::function<void(int64, int64)>& function) {
    if (total <= 0) return;
    if (block >= total || CurrentThreadId() >= 0) return function(0, total);
    std::exception_ptr failure;
    std::mutex failing;
    const auto attempt = [&](int64 begin, int64 end) {
      try {
        function(begin, end);
      } catch (...) {
        std::lock_guard<std::mutex> held(failing);
        failure = std::current_exception();
      }
    };
    BlockingCounter left(static_cast<int>((total + block - 1) / block - 1));
    for (int64 begin = block; begin < total; begin += block) {
      Schedule([&, begin] {
        attempt(begin, std::min(total, begin + block));
        left.DecrementCount();
      });
    }
    attempt(0, block);
    left.Wait();
    if (failure) std::rethrow_exception(failure);
  }

  size_t count_;
  std::vector<std::thread> threads_;
  std::deque<std::function<void()>> queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  TF_DISALLOW_COPY_AND_ASSIGN(ThreadPool);
};

}  // namespace thread

namespace internal {
// The threads that all kernels of the library share; they end with the process.
SF_LOCAL inline thread::ThreadPool* SharedPool() {
  static auto* pool = new thread::ThreadPool(nullptr, "kernels", port::NumSchedulableCPUs());
  return pool;
}
static const bool sf_pool_is_known TF_ATTRIBUTE_UNUSED = (PoolMaker() = &SharedPool, true);
}  // namespace internal

inline void Shard(int max_parallelism, thread::ThreadPool* workers, int64 total,
                  int64 cost_per_unit, std::function<void(int64, int64)> work) {
  if (total <= 0) return;
  if (max_parallelism <= 1) return work(0, total);
  workers->Run(max_parallelism, total, cost_per_unit, work);
}

class Sharder {
 public:
  using Closure = std::function<void()>;
  using Runner = std::function<void(Closure)>;
  using Work = std::function<void(int64, int64)>;
  static void Do(int64 total, int64 cost_per_unit, const Work& work, const Runner&,
                 int max_parallelism) {
    Shard(max_parallelism, internal::SharedPool(), total, cost_per_unit, work);
  }
};

}  // namespace tensorflow

#endif  // STILLFLOW_THREADS_H_
