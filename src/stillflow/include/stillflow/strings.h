// Text: StringPiece, StrCat and friends, conversions between text and numbers.
#ifndef STILLFLOW_STRINGS_H_
#define STILLFLOW_STRINGS_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ostream>
#include <sstream>

#include "base.h"

namespace tensorflow {

// A view of characters that are somebody else's.
class StringPiece {
 public:
  using const_iterator = const char*;
  using iterator = const char*;
  static const size_t npos = static_cast<size_t>(-1);

  StringPiece() : data_(nullptr), size_(0) {}
  StringPiece(const char* text) : data_(text), size_(text ? strlen(text) : 0) {}  // NOLINT
  StringPiece(const string& text) : data_(text.data()), size_(text.size()) {}     // NOLINT
  StringPiece(const char* text, size_t size) : data_(text), size_(size) {}

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  size_t length() const { return size_; }
  bool empty() const { return size_ == 0; }
  const char* begin() const { return data_; }
  const char* end() const { return data_ + size_; }
  char operator[](size_t at) const { return data_[at]; }
  char front() const { return data_[0]; }
  char back() const { return data_[size_ - 1]; }
  void remove_prefix(size_t count) { data_ += count, size_ -= count; }
  void remove_suffix(size_t count) { size_ -= count; }
  StringPiece substr(size_t at, size_t count = npos) const {
    at = std::min(at, size_);
    return StringPiece(data_ + at, std::min(count, size_ - at));
  }
  size_t find(char c, size_t at = 0) const { return ToString().find(c, at); }
  size_t find(StringPiece piece, size_t at = 0) const {
    return ToString().find(piece.ToString(), at);
  }
  size_t rfind(char c, size_t at = npos) const { return ToString().rfind(c, at); }
  bool contains(StringPiece piece) const { return find(piece) != npos; }
  bool starts_with(StringPiece piece) const {
    return size_ >= piece.size_ && memcmp(data_, piece.data_, piece.size_) == 0;
  }
  bool ends_with(StringPiece piece) const {
    return size_ >= piece.size_ &&
           memcmp(data_ + size_ - piece.size_, piece.data_, piece.size_) == 0;
  }
  int compare(StringPiece other) const { return ToString().compare(other.ToString()); }
  string ToString() const { return size_ ? string(data_, size_) : string(); }
  explicit operator string() const { return ToString(); }

 private:
  const char* data_;
  size_t size_;
};

inline bool operator==(StringPiece a, StringPiece b) {
  return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size()) == 0);
}
inline bool operator!=(StringPiece a, StringPiece b) { return !(a == b); }
inline bool operator<(StringPiece a, StringPiece b) { return a.compare(b) < 0; }
inline std::ostream& operator<<(std::ostream& out, StringPiece piece) {
  return out.write(piece.data(), piece.size());
}
struct StringPieceHasher {
  size_t operator()(StringPiece piece) const { return std::hash<string>()(piece.ToString()); }
};

namespace strings {

enum PadSpec { kNoPad = 1, kZeroPad2, kZeroPad4 = 4, kZeroPad8 = 8, kZeroPad16 = 16 };

// A number in hexadecimal digits.
struct Hex {
  uint64 value;
  PadSpec pad;
  template <typename Int>
  explicit Hex(Int number, PadSpec padding = kNoPad)
      : value(static_cast<typename std::make_unsigned<Int>::type>(number)), pad(padding) {}
};

// Whatever StrCat takes, as text; texts stay where they are.
class AlphaNum {
 public:
  AlphaNum(int value) : AlphaNum(static_cast<long long>(value)) {}                     // NOLINT
  AlphaNum(unsigned value) : AlphaNum(static_cast<unsigned long long>(value)) {}       // NOLINT
  AlphaNum(long value) : AlphaNum(static_cast<long long>(value)) {}                    // NOLINT
  AlphaNum(unsigned long value) : AlphaNum(static_cast<unsigned long long>(value)) {}  // NOLINT
  AlphaNum(long long value) { Print("%lld", value); }                                  // NOLINT
  AlphaNum(unsigned long long value) { Print("%llu", value); }                         // NOLINT
  AlphaNum(float value) { PrintReal(value, 6, 9, true); }                              // NOLINT
  AlphaNum(double value) { PrintReal(value, 15, 17, false); }                          // NOLINT
  AlphaNum(const char* text) : text_(text ? text : ""), size_(strlen(text_)) {}        // NOLINT
  AlphaNum(StringPiece text) : text_(text.empty() ? "" : text.data()), size_(text.size()) {}  // NOLINT
  AlphaNum(const string& text) : text_(text.data()), size_(text.size()) {}             // NOLINT
  AlphaNum(Hex hex) {                                                                  // NOLINT
    size_ = static_cast<size_t>(
        snprintf(digits_, sizeof(digits_), "%0*llx", static_cast<int>(hex.pad), hex.value));
  }
  StringPiece Piece() const { return StringPiece(text_ ? text_ : digits_, size_); }
  size_t size() const { return size_; }

 private:
  template <typename Number>
  void Print(const char* format, Number value) {
    size_ = static_cast<size_t>(snprintf(digits_, sizeof(digits_), format, value));
  }
  // The fewest of two numbers of digits that give the number back.
  void PrintReal(double number, int few, int many, bool single) {
    size_ = static_cast<size_t>(snprintf(digits_, sizeof(digits_), "%.*g", few, number));
    const double back = single ? strtof(digits_, nullptr) : strtod(digits_, nullptr);
    if (!std::isfinite(number) || back == number) return;
    size_ = static_cast<size_t>(snprintf(digits_, sizeof(digits_), "%.*g", many, number));
  }
  const char* text_ = nullptr;  // null where the digits are the text
  size_t size_;
  char digits_[32];
};

SF_RARE inline void AppendAll(string* result, std::initializer_list<AlphaNum> parts) {
  for (const AlphaNum& part : parts) result->append(part.Piece().data(), part.size());
}

template <typename... Parts>
inline string StrCat(const Parts&... parts) {
  string result;
  AppendAll(&result, {AlphaNum(parts)...});
  return result;
}

template <typename... Parts>
inline void StrAppend(string* result, const Parts&... parts) {
  AppendAll(result, {AlphaNum(parts)...});
}

inline string Printf(const char* format, ...) TF_PRINTF_ATTRIBUTE(1, 2);
inline string Printf(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  string result(vsnprintf(nullptr, 0, format, arguments), '\0');
  vsnprintf(&result[0], result.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  return result;
}

template <typename Number, typename Read>
inline bool ReadNumber(StringPiece text, Number* value, Read read) {
  const string copy = text.ToString();
  char* end = nullptr;
  errno = 0;
  const auto number = read(copy.c_str(), &end);
  while (*end && isspace(static_cast<unsigned char>(*end))) ++end;
  *value = static_cast<Number>(number);
  return end != copy.c_str() && !*end && errno != ERANGE &&
         static_cast<decltype(number)>(*value) == number;
}
template <typename Int>
inline bool ReadInteger(StringPiece text, Int* value) {
  return ReadNumber(text, value, [](const char* c, char** e) { return strtoll(c, e, 10); });
}
inline bool safe_strto32(StringPiece text, int32* value) { return ReadInteger(text, value); }
inline bool safe_strto64(StringPiece text, int64* value) { return ReadInteger(text, value); }
inline bool safe_strtou32(StringPiece text, uint32* value) { return ReadInteger(text, value); }
inline bool safe_strtou64(StringPiece text, uint64* value) {
  return ReadNumber(text, value, [](const char* c, char** e) { return strtoull(c, e, 10); });
}
inline bool safe_strtof(StringPiece text, float* value) {
  char* end = nullptr;
  const string copy = text.ToString();
  *value = strtof(copy.c_str(), &end);
  return end != copy.c_str() && !*end;
}
inline bool safe_strtod(StringPiece text, double* value) {
  char* end = nullptr;
  const string copy = text.ToString();
  *value = strtod(copy.c_str(), &end);
  return end != copy.c_str() && !*end;
}

inline string HumanReadableNumBytes(int64 bytes) {
  static const char units[] = "BKMGTPE";
  double size = static_cast<double>(bytes);
  int unit = 0;
  for (; std::fabs(size) >= 1024 && unit < 6; ++unit) size /= 1024;
  return unit ? Printf("%.2f%ciB", size, units[unit]) : Printf("%lldB", bytes);
}

}  // namespace strings

namespace str_util {

struct AllowEmpty {
  bool operator()(StringPiece) const { return true; }
};
struct SkipEmpty {
  bool operator()(StringPiece piece) const { return !piece.empty(); }
};
struct SkipWhitespace {
  bool operator()(StringPiece piece) const {
    for (char c : piece.ToString())
      if (!isspace(static_cast<unsigned char>(c))) return true;
    return false;
  }
};

template <typename Wanted>
inline std::vector<string> Split(StringPiece text, StringPiece delimiters, Wanted wanted) {
  std::vector<string> parts;
  if (text.empty()) return parts;
  const string all = text.ToString(), marks = delimiters.ToString();
  for (size_t begin = 0;;) {
    const size_t end = all.find_first_of(marks, begin);
    const string part = all.substr(begin, end == string::npos ? end : end - begin);
    if (wanted(part)) parts.push_back(part);
    if (end == string::npos) return parts;
    begin = end + 1;
  }
}
inline std::vector<string> Split(StringPiece text, StringPiece delimiters) {
  return Split(text, delimiters, AllowEmpty());
}
inline std::vector<string> Split(StringPiece text, char delimiter) {
  return Split(text, StringPiece(&delimiter, 1), AllowEmpty());
}
template <typename Wanted>
inline std::vector<string> Split(StringPiece text, char delimiter, Wanted wanted) {
  return Split(text, StringPiece(&delimiter, 1), wanted);
}

template <typename Items>
inline string Join(const Items& items, const char* separator) {
  string result;
  const char* between = "";
  for (const auto& item : items) {
    strings::StrAppend(&result, between, item);
    between = separator;
  }
  return result;
}
template <typename Items, typename Format>
inline string Join(const Items& items, const char* separator, Format format) {
  string result;
  const char* between = "";
  for (const auto& item : items) {
    result += between;
    format(&result, item);
    between = separator;
  }
  return result;
}

template <typename Change>
inline string EachCharacter(StringPiece text, Change change) {
  string result = text.ToString();
  for (char& c : result) c = static_cast<char>(change(static_cast<unsigned char>(c)));
  return result;
}
inline string Lowercase(StringPiece text) { return EachCharacter(text, ::tolower); }
inline string Uppercase(StringPiece text) { return EachCharacter(text, ::toupper); }
inline bool StartsWith(StringPiece text, StringPiece prefix) { return text.starts_with(prefix); }
inline bool EndsWith(StringPiece text, StringPiece suffix) { return text.ends_with(suffix); }
inline bool StrContains(StringPiece text, StringPiece part) { return text.contains(part); }
inline bool IsSpace(char c) { return isspace(static_cast<unsigned char>(c)) != 0; }

inline size_t RemoveLeadingWhitespace(StringPiece* text) {
  size_t count = 0;
  for (; !text->empty() && IsSpace(text->front()); ++count) text->remove_prefix(1);
  return count;
}
inline size_t RemoveTrailingWhitespace(StringPiece* text) {
  size_t count = 0;
  for (; !text->empty() && IsSpace(text->back()); ++count) text->remove_suffix(1);
  return count;
}
inline size_t RemoveWhitespaceContext(StringPiece* text) {
  return RemoveLeadingWhitespace(text) + RemoveTrailingWhitespace(text);
}
inline bool ConsumeNonWhitespace(StringPiece* text, StringPiece* word) {
  size_t size = 0;
  while (size < text->size() && !IsSpace((*text)[size])) ++size;
  *word = text->substr(0, size);
  text->remove_prefix(size);
  return size > 0;
}
inline bool ConsumePrefix(StringPiece* text, StringPiece prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}
inline bool ConsumeSuffix(StringPiece* text, StringPiece suffix) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}
inline string StringReplace(StringPiece text, StringPiece old, StringPiece now, bool all) {
  string result = text.ToString();
  const string from = old.ToString(), to = now.ToString();
  for (size_t at = result.find(from); at != string::npos && !from.empty();) {
    result.replace(at, from.size(), to);
    at = all ? result.find(from, at + to.size()) : string::npos;
  }
  return result;
}
template <typename Int>
inline bool SplitAndParseAsInts(StringPiece text, char delimiter, std::vector<Int>* result) {
  for (const string& part : Split(text, delimiter)) {
    Int value;
    if (!strings::ReadInteger(part, &value)) return false;
    result->push_back(value);
  }
  return true;
}

}  // namespace str_util

}  // namespace tensorflow

#endif  // STILLFLOW_STRINGS_H_
