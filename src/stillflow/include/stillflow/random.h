// Random numbers: Philox 4x32-10 (Salmon et al., SC'11), and what is drawn from it.
#ifndef STILLFLOW_RANDOM_H_
#define STILLFLOW_RANDOM_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <random>

#include "context.h"

namespace tensorflow {
namespace random {

template <typename T, int N>
class Array {
 public:
  static constexpr int kElementCount = N;
  Array() : values_{} {}
  const T& operator[](int at) const { return values_[at]; }
  T& operator[](int at) { return values_[at]; }
  size_t size() const { return N; }

 private:
  T values_[N];
};

class PhiloxRandom {
 public:
  using ResultType = Array<uint32, 4>;
  using ResultElementType = uint32;
  using Key = Array<uint32, 2>;
  static constexpr int kResultElementCount = 4;
  static constexpr int kElementCost = 10;

  PhiloxRandom() {}
  explicit PhiloxRandom(uint64 seed) { SetKey(seed); }
  PhiloxRandom(uint64 seed_low, uint64 seed_high) {
    SetKey(seed_low);
    counter_[2] = static_cast<uint32>(seed_high);
    counter_[3] = static_cast<uint32>(seed_high >> 32);
  }
  PhiloxRandom(ResultType counter, Key key) : counter_(counter), key_(key) {}
  const ResultType& counter() const { return counter_; }
  const Key& key() const { return key_; }

  void Skip(uint64 blocks) {
    const uint64 low = Low() + blocks;
    if (low < blocks && ++counter_[2] == 0) ++counter_[3];
    counter_[0] = static_cast<uint32>(low);
    counter_[1] = static_cast<uint32>(low >> 32);
  }
  ResultType operator()() {
    ResultType block = counter_;
    uint32 first = key_[0], second = key_[1];
    for (int round = 0; round < 10; ++round) {
      const uint64 a = 0xD2511F53ull * block[0], b = 0xCD9E8D57ull * block[2];
      block[0] = static_cast<uint32>(b >> 32) ^ block[1] ^ first;
      block[2] = static_cast<uint32>(a >> 32) ^ block[3] ^ second;
      block[1] = static_cast<uint32>(b);
      block[3] = static_cast<uint32>(a);
      first += 0x9E3779B9u;
      second += 0xBB67AE85u;
    }
    Skip(1);
    return block;
  }

 private:
  uint64 Low() const { return counter_[0] | static_cast<uint64>(counter_[1]) << 32; }
  void SetKey(uint64 seed) {
    key_[0] = static_cast<uint32>(seed);
    key_[1] = static_cast<uint32>(seed >> 32);
  }
  ResultType counter_;
  Key key_;
};

// Words of a generator, one by one.
template <class Generator>
class SingleSampleAdapter {
 public:
  using ResultType = typename Generator::ResultElementType;
  explicit SingleSampleAdapter(Generator* generator) : generator_(generator) {}
  ResultType operator()() {
    if (used_ == Generator::kResultElementCount) {
      block_ = (*generator_)();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Generator* generator_;
  typename Generator::ResultType block_;
  int used_ = Generator::kResultElementCount;
};

inline float Uint32ToFloat(uint32 word) {
  return bit_cast<float>((word & 0x7FFFFFu) | 0x3F800000u) - 1.0f;
}
inline double Uint64ToDouble(uint32 first, uint32 second) {
  const uint64 bits = ((static_cast<uint64>(first) << 32 | second) & ((1ull << 52) - 1));
  return bit_cast<double>(bits | 1023ull << 52) - 1.0;
}

// Numbers one by one, for kernels that draw few.
class SimplePhilox {
 public:
  explicit SimplePhilox(PhiloxRandom* generator) : words_(generator) {}
  uint32 Rand32() { return words_(); }
  uint64 Rand64() {
    const uint32 low = words_(), high = words_();
    return low | static_cast<uint64>(high) << 32;
  }
  float RandFloat() { return Uint32ToFloat(words_()); }
  double RandDouble() {
    const uint32 first = words_(), second = words_();
    return Uint64ToDouble(first, second);
  }
  uint32 Uniform(uint32 limit) {
    return Below(limit, std::numeric_limits<uint32>::max(), [this] { return Rand32(); });
  }
  uint64 Uniform64(uint64 limit) {
    return Below(limit, std::numeric_limits<uint64>::max(), [this] { return Rand64(); });
  }
  bool OneIn(uint32 limit) { return Uniform(limit) == 0; }
  uint32 Skewed(int bits) {
    const int shift = static_cast<int>(Rand32() % static_cast<uint32>(bits + 1));
    return Rand32() & ((1u << shift) - 1);
  }

 private:
  // Every remainder is as frequent: the smallest words are passed over.
  template <typename Word, typename Draw>
  Word Below(Word limit, Word largest, Draw draw) {
    if ((limit & (limit - 1)) == 0) return draw() & (limit - 1);
    const Word least = largest % limit + 1;
    Word word;
    do {
      word = draw();
    } while (word < least);
    return word % limit;
  }
  SingleSampleAdapter<PhiloxRandom> words_;
};

// Numbers with given weights, by Walker's table.
class DistributionSampler {
 public:
  explicit DistributionSampler(const gtl::ArraySlice<float>& weights) {
    const int count = static_cast<int>(weights.size());
    double total = 0;
    for (float weight : weights) total += weight;
    std::vector<double> share;
    std::vector<int> low, high;
    for (int at = 0; at < count; ++at) {
      share.push_back(weights[static_cast<size_t>(at)] * count / total);
      (share.back() < 1.0 ? low : high).push_back(at);
    }
    table_.resize(static_cast<size_t>(count));
    while (!high.empty() && !low.empty()) {
      const int small = low.back(), large = high.back();
      low.pop_back();
      high.pop_back();
      table_[static_cast<size_t>(small)] = {static_cast<float>(Of(share, small)), large};
      share[static_cast<size_t>(large)] -= 1.0 - Of(share, small);
      (Of(share, large) < 1.0 ? low : high).push_back(large);
    }
    for (const auto& left : {low, high})
      for (int at : left) table_[static_cast<size_t>(at)] = {1.0f, at};
  }
  int Sample(SimplePhilox* random) const {
    const float unit = random->RandFloat();
    const int bucket = static_cast<int>(random->Uniform(static_cast<uint32>(num())));
    const auto& place = table_[static_cast<size_t>(bucket)];
    return unit < place.first ? bucket : place.second;
  }
  int num() const { return static_cast<int>(table_.size()); }

 private:
  static double Of(const std::vector<double>& values, int at) {
    return values[static_cast<size_t>(at)];
  }
  std::vector<std::pair<float, int>> table_;  // probability of keeping the bucket, else which
};

// Numbers between 0 and 1, and with the normal distribution, a block at a time.
template <class Generator, typename Real>
class UniformDistribution;
template <class Generator>
class UniformDistribution<Generator, float> {
 public:
  static constexpr int kResultElementCount = Generator::kResultElementCount;
  using ResultType = Array<float, kResultElementCount>;
  using ResultElementType = float;
  ResultType operator()(Generator* generator) {
    const auto block = (*generator)();
    ResultType result;
    for (int at = 0; at < kResultElementCount; ++at) result[at] = Uint32ToFloat(block[at]);
    return result;
  }
};
template <class Generator>
class UniformDistribution<Generator, double> {
 public:
  static constexpr int kResultElementCount = Generator::kResultElementCount / 2;
  using ResultType = Array<double, kResultElementCount>;
  using ResultElementType = double;
  ResultType operator()(Generator* generator) {
    const auto block = (*generator)();
    ResultType result;
    for (int at = 0; at < kResultElementCount; ++at)
      result[at] = Uint64ToDouble(block[2 * at], block[2 * at + 1]);
    return result;
  }
};
template <class Generator, typename Real>
class NormalDistribution;
template <class Generator>
class NormalDistribution<Generator, float> {
 public:
  static constexpr int kResultElementCount = Generator::kResultElementCount;
  using ResultType = Array<float, kResultElementCount>;
  using ResultElementType = float;
  ResultType operator()(Generator* generator) {
    const auto block = (*generator)();
    ResultType result;
    for (int at = 0; at < kResultElementCount; at += 2) {
      const float unit = std::max(Uint32ToFloat(block[at]), 1.0e-7f);
      const float angle = 2.0f * 3.14159265358979323846f * Uint32ToFloat(block[at + 1]);
      const float radius = std::sqrt(-2.0f * std::log(unit));
      result[at] = std::sin(angle) * radius;
      result[at + 1] = std::cos(angle) * radius;
    }
    return result;
  }
};

SF_LOCAL inline uint64 New64() {
  static std::random_device device;
  return device() | static_cast<uint64>(device()) << 32;
}
inline uint64 New64DefaultSeed() { return 5489; }

}  // namespace random

// A generator of a kernel, of which calls reserve their part.
class GuardedPhiloxRandom {
 public:
  GuardedPhiloxRandom() {}
  Status Init(OpKernelConstruction* context) {
    int64 seed, seed2;
    TF_RETURN_IF_ERROR(context->GetAttr("seed", &seed));
    TF_RETURN_IF_ERROR(context->GetAttr("seed2", &seed2));
    Init(seed, seed2);
    return Status::OK();
  }
  void Init(int64 seed, int64 seed2) {
    if (seed == 0 && seed2 == 0) {
      seed = static_cast<int64>(random::New64());
      seed2 = static_cast<int64>(random::New64());
    }
    generator_ = random::PhiloxRandom(static_cast<uint64>(seed), static_cast<uint64>(seed2));
  }
  random::PhiloxRandom ReserveSamples128(int64 blocks) {
    mutex_lock held(mutex_);
    const random::PhiloxRandom before = generator_;
    generator_.Skip(static_cast<uint64>(blocks));
    return before;
  }
  random::PhiloxRandom ReserveSamples32(int64 words) { return ReserveSamples128((words + 3) / 4); }
  random::PhiloxRandom ReserveRandomOutputs(int64 count, int multiplier) {
    return ReserveSamples128(count * multiplier);
  }

 private:
  mutex mutex_;
  random::PhiloxRandom generator_;
};

}  // namespace tensorflow

#endif  // STILLFLOW_RANDOM_H_
