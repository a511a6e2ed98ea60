// LOG, VLOG and CHECK. A CHECK that fails raises an error of the operation; nothing aborts.
#ifndef STILLFLOW_LOGGING_H_
#define STILLFLOW_LOGGING_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include <ctime>
#include <iostream>
#include <stdexcept>

#include "strings.h"

namespace tensorflow {

const int INFO = 0;
const int WARNING = 1;
const int ERROR = 2;
const int FATAL = 3;
const int NUM_SEVERITIES = 4;

namespace internal {

// A failed CHECK, or LOG(FATAL).
class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline int LevelFrom(const char* variable) {
  const char* text = getenv(variable);
  return text ? atoi(text) : 0;
}

inline void WriteLine(const char* file, int line, int severity, const string& text) {
  const time_t now = time(nullptr);
  char when[32];
  strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime(&now));
  fprintf(stderr, "%s.000000: %c %s:%d] %s\n", when, "IWEF"[severity], file, line, text.c_str());
}

class LogMessage : public std::ostringstream {
 public:
  LogMessage(const char* file, int line, int severity)
      : file_(file), line_(line), severity_(severity) {}
  ~LogMessage() override {
    if (severity_ >= LevelFrom("TF_CPP_MIN_LOG_LEVEL")) WriteLine(file_, line_, severity_, str());
  }
  std::ostream& stream() { return *this; }
  static int64 MinVLogLevel() { return LevelFrom("TF_CPP_MIN_VLOG_LEVEL"); }

 private:
  const char* file_;
  int line_, severity_;
};

// Raises its text at the end of the statement that wrote it.
class LogMessageFatal {
 public:
  SF_RARE LogMessageFatal(const char*, int) {}
  SF_RARE LogMessageFatal(const char*, int, StringPiece failed) {
    text_ << "Check failed: " << failed;
  }
  // A whole sentence, with no words before it.
  LogMessageFatal(const char*, int, StringPiece text, bool) { text_ << text; }
  SF_RARE ~LogMessageFatal() noexcept(false) { throw CheckFailed(text_.str()); }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

struct Voidify {
  template <typename T>
  void operator&(const T&) {}
};

template <typename T>
struct Printable {
  template <typename U>
  static auto test(int)
      -> decltype(std::declval<std::ostream&>() << std::declval<const U&>(), std::true_type());
  template <typename U>
  static std::false_type test(...);
  using type = decltype(test<T>(0));
};
template <typename T>
inline string Shown(const T& value, std::true_type) {
  std::ostringstream out;
  out << value;
  return out.str();
}
template <typename T>
inline string Shown(const T&, std::false_type) {
  return "(a value)";
}
template <typename T>
inline typename std::enable_if<(std::is_integral<T>::value && sizeof(T) > 1), string>::type Show(
    const T& value) {
  return strings::StrCat(value);
}
template <typename T>
inline typename std::enable_if<!(std::is_integral<T>::value && sizeof(T) > 1), string>::type Show(
    const T& value) {
  return Shown(value, typename Printable<T>::type());
}
SF_RARE inline std::unique_ptr<string> Failure(const char* text, const string& a,
                                                             const string& b) {
  return std::unique_ptr<string>(new string(strings::StrCat(text, " (", a, " vs. ", b, ")")));
}

// Null where the comparison holds, else the text of what failed.
template <typename A, typename B>
inline std::unique_ptr<string> Failed(bool holds, const A& a, const B& b, const char* text) {
  if (SF_LIKELY(holds)) return nullptr;
  return Failure(text, Show(a), Show(b));
}

#define SF_COMPARISON(name, sign)                                                     \
  template <typename A, typename B>                                                   \
  inline std::unique_ptr<string> Check_##name(const A& a, const B& b, const char* t) { \
    return Failed(a sign b, a, b, t);                                                 \
  }
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
SF_COMPARISON(EQ, ==)
SF_COMPARISON(NE, !=)
SF_COMPARISON(LE, <=)
SF_COMPARISON(LT, <)
SF_COMPARISON(GE, >=)
SF_COMPARISON(GT, >)
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#undef SF_COMPARISON

template <typename T>
T&& CheckNotNull(const char* file, int line, const char* text, T&& pointer) {
  if (pointer == nullptr) LogMessageFatal(file, line).stream() << text;
  return std::forward<T>(pointer);
}

}  // namespace internal

#define SF_LOG_INFO ::tensorflow::internal::LogMessage(__FILE__, __LINE__, ::tensorflow::INFO)
#define SF_LOG_WARNING \
  ::tensorflow::internal::LogMessage(__FILE__, __LINE__, ::tensorflow::WARNING)
#define SF_LOG_ERROR ::tensorflow::internal::LogMessage(__FILE__, __LINE__, ::tensorflow::ERROR)
#define SF_LOG_FATAL ::tensorflow::internal::LogMessageFatal(__FILE__, __LINE__)
#define SF_LOG_QFATAL SF_LOG_FATAL
#define SF_LOG_DFATAL SF_LOG_FATAL
#define _TF_LOG_INFO SF_LOG_INFO
#define _TF_LOG_WARNING SF_LOG_WARNING
#define _TF_LOG_ERROR SF_LOG_ERROR
#define _TF_LOG_FATAL SF_LOG_FATAL

#undef LOG
#undef VLOG
#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT
#define LOG(severity) SF_LOG_##severity.stream()
#define SF_UNLESS(condition) \
  (condition) ? static_cast<void>(0) : ::tensorflow::internal::Voidify() &
#define LOG_IF(severity, condition) SF_UNLESS(!(condition)) LOG(severity)
#define SF_TIMES                     \
  ([]() -> long long {               \
    static std::atomic<long long> n(0); \
    return n.fetch_add(1);           \
  }())
#define LOG_FIRST_N(severity, n) SF_UNLESS(SF_TIMES >= (n)) LOG(severity)
#define LOG_EVERY_N(severity, n) SF_UNLESS(SF_TIMES % (n) != 0) LOG(severity)
#define VLOG_IS_ON(level) (::tensorflow::internal::LogMessage::MinVLogLevel() >= (level))
#define VLOG(level) SF_UNLESS(!VLOG_IS_ON(level)) SF_LOG_INFO.stream()
#define DVLOG(level) VLOG(level)

#define CHECK(condition)            \
  while (SF_UNLIKELY(!(condition))) \
  ::tensorflow::internal::LogMessageFatal(__FILE__, __LINE__, #condition " ").stream()
#define SF_CHECK_OP(name, sign, a, b)                                              \
  while (auto sf_failed =                                                          \
             ::tensorflow::internal::Check_##name(a, b, #a " " #sign " " #b))      \
  ::tensorflow::internal::LogMessageFatal(__FILE__, __LINE__, *sf_failed).stream()
#define CHECK_EQ(a, b) SF_CHECK_OP(EQ, ==, a, b)
#define CHECK_NE(a, b) SF_CHECK_OP(NE, !=, a, b)
#define CHECK_LE(a, b) SF_CHECK_OP(LE, <=, a, b)
#define CHECK_LT(a, b) SF_CHECK_OP(LT, <, a, b)
#define CHECK_GE(a, b) SF_CHECK_OP(GE, >=, a, b)
#define CHECK_GT(a, b) SF_CHECK_OP(GT, >, a, b)
#define CHECK_NOTNULL(pointer)         \
  ::tensorflow::internal::CheckNotNull( \
      __FILE__, __LINE__, "'" #pointer "' Must be non NULL", pointer)
#define QCHECK CHECK
#define QCHECK_EQ CHECK_EQ
#define QCHECK_NE CHECK_NE
#define QCHECK_LE CHECK_LE
#define QCHECK_LT CHECK_LT
#define QCHECK_GE CHECK_GE
#define QCHECK_GT CHECK_GT
#define PCHECK CHECK

#ifndef NDEBUG
#define DCHECK(condition) CHECK(condition)
#define DCHECK_EQ(a, b) CHECK_EQ(a, b)
#define DCHECK_NE(a, b) CHECK_NE(a, b)
#define DCHECK_LE(a, b) CHECK_LE(a, b)
#define DCHECK_LT(a, b) CHECK_LT(a, b)
#define DCHECK_GE(a, b) CHECK_GE(a, b)
#define DCHECK_GT(a, b) CHECK_GT(a, b)
#else
#define DCHECK(condition) while (false && (condition)) CHECK(true)
#define DCHECK_EQ(a, b) while (false && ((a) == (b))) CHECK(true)
#define DCHECK_NE(a, b) DCHECK_EQ(a, b)
#define DCHECK_LE(a, b) DCHECK_EQ(a, b)
#define DCHECK_LT(a, b) DCHECK_EQ(a, b)
#define DCHECK_GE(a, b) DCHECK_EQ(a, b)
#define DCHECK_GT(a, b) DCHECK_EQ(a, b)
#endif

}  // namespace tensorflow

#endif  // STILLFLOW_LOGGING_H_
