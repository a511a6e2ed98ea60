// REGISTER_OP: the texts of an operation's signature, read by Python when the library is loaded.
#ifndef STILLFLOW_OP_H_
#define STILLFLOW_OP_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "inference.h"

namespace tensorflow {

namespace internal {

struct OpRecord {
  string name, doc;
  std::vector<string> inputs, outputs, attributes;
  bool is_stateful = false, is_commutative = false, is_aggregate = false;
  bool allows_uninitialized = false;
  OpShapeInferenceFn shape_function;
};

SF_LOCAL inline std::vector<OpRecord>& Ops() {
  static std::vector<OpRecord> ops;
  return ops;
}

}  // namespace internal

class OpDefBuilder {
 public:
  explicit OpDefBuilder(string name) { record_.name = std::move(name); }
  OpDefBuilder& Attr(string text) { return Add(&record_.attributes, std::move(text)); }
  OpDefBuilder& Input(string text) { return Add(&record_.inputs, std::move(text)); }
  OpDefBuilder& Output(string text) { return Add(&record_.outputs, std::move(text)); }
  OpDefBuilder& Doc(string text) { return record_.doc = std::move(text), *this; }
  OpDefBuilder& SetIsCommutative() { return record_.is_commutative = true, *this; }
  OpDefBuilder& SetIsAggregate() { return record_.is_aggregate = true, *this; }
  OpDefBuilder& SetIsStateful() { return record_.is_stateful = true, *this; }
  OpDefBuilder& SetAllowsUninitializedInput() { return record_.allows_uninitialized = true, *this; }
  OpDefBuilder& Deprecated(int, string) { return *this; }
  OpDefBuilder& SetShapeFn(OpShapeInferenceFn function) {
    return record_.shape_function = std::move(function), *this;
  }
  const internal::OpRecord& record() const { return record_; }

 private:
  OpDefBuilder& Add(std::vector<string>* texts, string text) {
    texts->push_back(std::move(text));
    return *this;
  }
  internal::OpRecord record_;
};
using OpDefBuilderWrapper = OpDefBuilder;

namespace internal {
struct OpRegistration {
  OpRegistration(const OpDefBuilder& builder) { Ops().push_back(builder.record()); }  // NOLINT
};
}  // namespace internal

// The operations of this library, by their texts.
class OpRegistry {
 public:
  SF_LOCAL static OpRegistry* Global() {
    static OpRegistry registry;
    return &registry;
  }
  bool IsRegistered(const string& name) const {
    for (const internal::OpRecord& op : internal::Ops())
      if (op.name == name) return true;
    return false;
  }
  string DebugString(bool) const {
    std::map<string, string> lines;
    for (const internal::OpRecord& op : internal::Ops()) {
      string& line = lines[op.name];
      line = strings::StrCat("Op<name=", op.name, "; signature=", Joined(op.inputs, ", "), " -> ",
                             Joined(op.outputs, ", "));
      if (!op.attributes.empty())
        strings::StrAppend(&line, "; attr=", Joined(op.attributes, "; attr="));
      strings::StrAppend(&line, op.is_stateful ? "; is_stateful=true" : "", ">\n");
    }
    string text;
    for (const auto& line : lines) text += line.second;
    return text;
  }

 private:
  static string Joined(const std::vector<string>& texts, const char* between) {
    std::vector<string> dense;
    for (const string& text : texts) dense.push_back(str_util::StringReplace(text, ": ", ":", false));
    return str_util::Join(dense, between);
  }
};

#define REGISTER_OP(name)                                                             \
  static const ::tensorflow::internal::OpRegistration SF_UNIQUE(sf_op) TF_ATTRIBUTE_UNUSED = \
      ::tensorflow::OpDefBuilder(name)
#define REGISTER_SYSTEM_OP(name) REGISTER_OP(name)

}  // namespace tensorflow

#endif  // STILLFLOW_OP_H_
