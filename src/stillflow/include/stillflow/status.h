// Status, the functions of `errors::`, and the macros that return early.
#ifndef STILLFLOW_STATUS_H_
#define STILLFLOW_STATUS_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "logging.h"

namespace tensorflow {

namespace error {
enum Code {
  OK = 0,
  CANCELLED = 1,
  UNKNOWN = 2,
  INVALID_ARGUMENT = 3,
  DEADLINE_EXCEEDED = 4,
  NOT_FOUND = 5,
  ALREADY_EXISTS = 6,
  PERMISSION_DENIED = 7,
  RESOURCE_EXHAUSTED = 8,
  FAILED_PRECONDITION = 9,
  ABORTED = 10,
  OUT_OF_RANGE = 11,
  UNIMPLEMENTED = 12,
  INTERNAL = 13,
  UNAVAILABLE = 14,
  DATA_LOSS = 15,
  UNAUTHENTICATED = 16,
};

SF_LOCAL inline const char* Name(int code) {
  static const char* const names[] = {
      "OK",                 "Cancelled",           "Unknown",          "Invalid argument",
      "Deadline exceeded",  "Not found",           "Already exists",   "Permission denied",
      "Resource exhausted", "Failed precondition", "Aborted",          "Out of range",
      "Unimplemented",      "Internal",            "Unavailable",      "Data loss",
      "Unauthenticated"};
  return code >= 0 && code <= UNAUTHENTICATED ? names[code] : "Unknown code";
}
}  // namespace error

// Success, or a code with a message.
class Status {
 public:
  Status() {}
  Status(error::Code code, StringPiece message) {
    if (code != error::OK) failure_ = new Failure{code, message.ToString()};
  }
  Status(const Status& other) : failure_(Copy(other.failure_)) {}
  Status(Status&& other) noexcept : failure_(other.failure_) { other.failure_ = nullptr; }
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Status() {
    if (SF_UNLIKELY(failure_ != nullptr)) Free();
  }

  static Status OK() { return Status(); }
  bool ok() const { return failure_ == nullptr; }
  error::Code code() const { return ok() ? error::OK : failure_->code; }
  const string& error_message() const { return ok() ? Empty() : failure_->message; }
  string ToString() const {
    return ok() ? "OK" : string(error::Name(code())) + ": " + error_message();
  }
  void Update(const Status& other) {
    if (ok()) *this = other;
  }
  void IgnoreError() const {}
  bool operator==(const Status& other) const {
    return code() == other.code() && error_message() == other.error_message();
  }
  bool operator!=(const Status& other) const { return !(*this == other); }

 private:
  struct Failure {
    error::Code code;
    string message;
  };
  static Failure* Copy(const Failure* other) { return other ? new Failure(*other) : nullptr; }
  SF_RARE void Free() { delete failure_; }
  SF_LOCAL static const string& Empty() {
    static const string empty;
    return empty;
  }
  Failure* failure_ = nullptr;
};

inline std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << status.ToString();
}

using StatusCallback = std::function<void(const Status&)>;

namespace errors {

// Messages take whatever StrCat or a stream takes.
inline const strings::AlphaNum& AsPart(const strings::AlphaNum& part) { return part; }
template <typename T>
inline typename std::enable_if<!std::is_convertible<T, strings::AlphaNum>::value, string>::type
AsPart(const T& part) {
  std::ostringstream out;
  out << part;
  return out.str();
}

SF_RARE inline Status OfParts(error::Code code,
                                            std::initializer_list<strings::AlphaNum> parts) {
  string message;
  strings::AppendAll(&message, parts);
  return Status(code, message);
}

#define SF_ERROR(name, code_name)                                                          \
  template <typename... Parts>                                                             \
  TF_ATTRIBUTE_COLD inline Status name(const Parts&... parts) {                            \
    return OfParts(error::code_name, {strings::AlphaNum(AsPart(parts))...});                  \
  }                                                                                        \
  inline bool Is##name(const Status& status) { return status.code() == error::code_name; }
SF_ERROR(Cancelled, CANCELLED)
SF_ERROR(Unknown, UNKNOWN)
SF_ERROR(InvalidArgument, INVALID_ARGUMENT)
SF_ERROR(DeadlineExceeded, DEADLINE_EXCEEDED)
SF_ERROR(NotFound, NOT_FOUND)
SF_ERROR(AlreadyExists, ALREADY_EXISTS)
SF_ERROR(PermissionDenied, PERMISSION_DENIED)
SF_ERROR(ResourceExhausted, RESOURCE_EXHAUSTED)
SF_ERROR(FailedPrecondition, FAILED_PRECONDITION)
SF_ERROR(Aborted, ABORTED)
SF_ERROR(OutOfRange, OUT_OF_RANGE)
SF_ERROR(Unimplemented, UNIMPLEMENTED)
SF_ERROR(Internal, INTERNAL)
SF_ERROR(Unavailable, UNAVAILABLE)
SF_ERROR(DataLoss, DATA_LOSS)
SF_ERROR(Unauthenticated, UNAUTHENTICATED)
#undef SF_ERROR

template <typename... Parts>
inline void AppendToMessage(Status* status, const Parts&... parts) {
  *status = Status(status->code(),
                   strings::StrCat(status->error_message(), "\n\t", AsPart(parts)...));
}

inline string FormatNodeNameForError(const string& name) {
  return strings::StrCat("{{node ", name, "}}");
}

}  // namespace errors

#define TF_RETURN_IF_ERROR(...)                                  \
  do {                                                           \
    ::tensorflow::Status sf_status = (__VA_ARGS__);              \
    if (SF_UNLIKELY(!sf_status.ok())) return sf_status;          \
  } while (0)

#define TF_RETURN_WITH_CONTEXT_IF_ERROR(expression, ...)                 \
  do {                                                                   \
    ::tensorflow::Status sf_status = (expression);                       \
    if (SF_UNLIKELY(!sf_status.ok())) {                                  \
      ::tensorflow::errors::AppendToMessage(&sf_status, __VA_ARGS__);    \
      return sf_status;                                                  \
    }                                                                    \
  } while (0)

#define TF_ASSIGN_OR_RETURN(target, expression) \
  SF_ASSIGN_OR_RETURN(SF_UNIQUE(sf_result), target, expression)
#define SF_ASSIGN_OR_RETURN(result, target, expression) \
  auto&& result = (expression);                         \
  if (SF_UNLIKELY(!result.ok())) return result.status(); \
  target = std::move(result).ValueOrDie()

#define TF_CHECK_OK(expression)                                                       \
  for (::tensorflow::Status sf_status = (expression); SF_UNLIKELY(!sf_status.ok());)  \
  ::tensorflow::internal::LogMessageFatal(                                            \
      __FILE__, __LINE__,                                                             \
      ::tensorflow::strings::StrCat("Non-OK-status: " #expression " status: ",        \
                                    sf_status.ToString()), true).stream()
#define TF_QCHECK_OK(expression) TF_CHECK_OK(expression)
#ifndef NDEBUG
#define TF_DCHECK_OK(expression) TF_CHECK_OK(expression)
#else
#define TF_DCHECK_OK(expression) while (false) TF_CHECK_OK(expression)
#endif

}  // namespace tensorflow

#endif  // STILLFLOW_STATUS_H_
