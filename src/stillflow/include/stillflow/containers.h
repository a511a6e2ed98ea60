// Containers of `gtl::`: vectors, views of arrays, maps, optional values.
#ifndef STILLFLOW_CONTAINERS_H_
#define STILLFLOW_CONTAINERS_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <array>
#include <iterator>
#include <ostream>
#include <set>
#include <unordered_set>

#include "base.h"

namespace tensorflow {
namespace gtl {

template <typename T, int N>
class InlinedVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  InlinedVector() {}
};

// A view of values that stand one after the other and are somebody else's.
template <typename T>
class ArraySlice {
 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = const T*;
  using const_iterator = const T*;

  ArraySlice() : data_(nullptr), size_(0) {}
  ArraySlice(const T* data, size_t size) : data_(data), size_(size) {}
  ArraySlice(const std::vector<T>& values)  // NOLINT
      : data_(values.data()), size_(values.size()) {}
  ArraySlice(std::initializer_list<T> values)  // NOLINT
      : ArraySlice(values.begin(), values.size()) {}
  template <size_t N>
  ArraySlice(const T (&values)[N]) : data_(values), size_(N) {}  // NOLINT
  template <size_t N>
  ArraySlice(const std::array<T, N>& values) : data_(values.data()), size_(N) {}  // NOLINT

  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  size_t length() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t at) const { return data_[at]; }
  const T& at(size_t at) const { return data_[at]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  void remove_prefix(size_t count) { data_ += count, size_ -= count; }
  void remove_suffix(size_t count) { size_ -= count; }
  ArraySlice subspan(size_t at, size_t count = static_cast<size_t>(-1)) const {
    return ArraySlice(data_ + at, std::min(count, size_ - at));
  }

 private:
  const T* data_;
  size_t size_;
};

template <typename T>
class MutableArraySlice {
 public:
  MutableArraySlice() : data_(nullptr), size_(0) {}
  MutableArraySlice(T* data, size_t size) : data_(data), size_(size) {}
  MutableArraySlice(std::vector<T>* values)  // NOLINT
      : data_(values->data()), size_(values->size()) {}
  operator ArraySlice<T>() const { return ArraySlice<T>(data_, size_); }  // NOLINT
  T* data() const { return data_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t at) const { return data_[at]; }

 private:
  T* data_;
  size_t size_;
};

template <typename Key, typename Value, typename Hash = std::hash<Key>>
using FlatMap = std::unordered_map<Key, Value, Hash>;
template <typename Key, typename Hash = std::hash<Key>>
using FlatSet = std::unordered_set<Key, Hash>;

struct nullopt_t {};
static const nullopt_t nullopt = nullopt_t();

// A value, or none.
template <typename T>
class optional {
 public:
  optional() {}
  optional(nullopt_t) {}                                              // NOLINT
  optional(const T& value) : value_(std::make_shared<T>(value)) {}    // NOLINT
  optional(const optional& other) { *this = other; }
  optional& operator=(const optional& other) {
    value_ = other.value_ ? std::make_shared<T>(*other.value_) : nullptr;
    return *this;
  }
  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& value() const { return *value_; }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_.get(); }
  template <typename U>
  T value_or(U&& otherwise) const {
    return has_value() ? *value_ : static_cast<T>(std::forward<U>(otherwise));
  }
  void reset() { value_ = nullptr; }
  template <typename... Arguments>
  void emplace(Arguments&&... arguments) {
    value_ = std::make_shared<T>(std::forward<Arguments>(arguments)...);
  }

 private:
  std::shared_ptr<T> value_;
};

template <typename Map>
inline typename Map::mapped_type FindWithDefault(const Map& map,
                                                 const typename Map::key_type& key,
                                                 const typename Map::mapped_type& otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}
template <typename Map>
inline auto FindOrNull(Map& map, const typename Map::key_type& key)
    -> decltype(&map.begin()->second) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}
template <typename Map>
inline bool InsertIfNotPresent(Map* map, const typename Map::key_type& key,
                               const typename Map::mapped_type& value) {
  return map->insert({key, value}).second;
}
template <typename Items>
inline void STLDeleteElements(Items* items) {
  for (auto* item : *items) delete item;
  items->clear();
}

// The `limit` best values; `Less(a, b)` holds where a is better. They stand in the order of their
// arrival, the worst of them first once it was asked for, until one too many makes them a heap.
template <typename T, typename Less = std::greater<T>>
class TopN {
 public:
  using UnsortedIterator = typename std::vector<T>::const_iterator;
  explicit TopN(size_t limit, const Less& less = Less()) : limit_(limit), less_(less) {}
  size_t limit() const { return limit_; }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void reserve(size_t count) { items_.reserve(count); }
  void push(const T& value) { push(value, nullptr); }
  void push(const T& value, T* dropped) {
    if (limit_ == 0) {
      if (dropped) *dropped = value;
    } else if (!is_heap_) {
      items_.push_back(value);
      if (worst_first_ && less_(items_.front(), value)) std::swap(items_.front(), items_.back());
      if (items_.size() <= limit_) return;
      std::make_heap(items_.begin(), items_.end(), less_);
      is_heap_ = true;
      DropWorst(dropped);
    } else if (less_(value, items_.front())) {
      DropWorst(dropped);
      items_.push_back(value);
      std::push_heap(items_.begin(), items_.end(), less_);
    } else if (dropped) {
      *dropped = value;
    }
  }
  const T& peek_bottom() {
    if (!is_heap_ && !worst_first_) {
      size_t worst = 0;
      for (size_t at = 1; at < items_.size(); ++at)
        if (less_(items_[worst], items_[at])) worst = at;
      std::swap(items_.front(), items_[worst]);
      worst_first_ = true;
    }
    return items_.front();
  }
  UnsortedIterator unsorted_begin() const { return items_.begin(); }
  UnsortedIterator unsorted_end() const { return items_.end(); }
  // The caller owns the vector.
  std::vector<T>* Extract() {
    auto* result = ExtractNondestructive();
    Reset();
    return result;
  }
  std::vector<T>* ExtractUnsorted() {
    auto* result = new std::vector<T>(items_);
    Reset();
    return result;
  }
  std::vector<T>* ExtractNondestructive() const {
    auto* result = new std::vector<T>();
    ExtractNondestructive(result);
    return result;
  }
  void ExtractNondestructive(std::vector<T>* result) const {
    *result = items_;
    if (is_heap_) {
      std::sort_heap(result->begin(), result->end(), less_);
    } else {
      std::sort(result->begin(), result->end(), less_);
    }
  }
  void Reset() {
    items_.clear();
    is_heap_ = worst_first_ = false;
  }

 private:
  void DropWorst(T* dropped) {
    std::pop_heap(items_.begin(), items_.end(), less_);
    if (dropped) *dropped = items_.back();
    items_.pop_back();
  }
  size_t limit_;
  Less less_;
  std::vector<T> items_;
  bool is_heap_ = false, worst_first_ = false;
};

// Runs a function at the end of a block.
template <typename Function>
class Cleanup {
 public:
  explicit Cleanup(Function function) : function_(std::move(function)) {}
  Cleanup(Cleanup&& other) : function_(std::move(other.function_)), runs_(other.runs_) {
    other.runs_ = false;
  }
  ~Cleanup() {
    if (runs_) function_();
  }
  Function release() {
    runs_ = false;
    return std::move(function_);
  }

 private:
  Function function_;
  bool runs_ = true;
};
template <typename Function>
Cleanup<Function> MakeCleanup(Function function) {
  return Cleanup<Function>(std::move(function));
}

}  // namespace gtl

}  // namespace tensorflow

#endif  // STILLFLOW_CONTAINERS_H_
