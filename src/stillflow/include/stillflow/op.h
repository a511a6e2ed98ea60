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
  Rows inputs, outputs, attributes;
  bool is_stateful = false, is_commutative = false, is_aggregate = false;
  bool allows_uninitialized = false;
  OpShapeInferenceFn shape_function;
  OpRecord* next = nullptr;
};

// What is registered, in its order; it lives as long as the process.
template <typename Record>
struct Registry {
  void Add(Record* record) {
    *end = record;
    end = &record->next;
    ++count;
  }
  SF_RARE Record* At(int64 at) const {
    Record* record = first;
    while (record && at-- > 0) record = record->next;
    if (record == nullptr) throw CheckFailed("nothing of this number is registered");
    return record;
  }
  Record* first = nullptr;
  Record** end = &first;
  int64 count = 0;
};

SF_LOCAL inline Registry<OpRecord>& Ops() {
  static Registry<OpRecord> ops;
  return ops;
}

}  // namespace internal

class OpDefBuilder {
 public:
  SF_RARE explicit OpDefBuilder(StringPiece name) : record_(new internal::OpRecord) {
    record_->name = name.ToString();
  }
  OpDefBuilder& Attr(StringPiece text) { return Add(&record_->attributes, text); }
  OpDefBuilder& Input(StringPiece text) { return Add(&record_->inputs, text); }
  OpDefBuilder& Output(StringPiece text) { return Add(&record_->outputs, text); }
  SF_RARE OpDefBuilder& Doc(StringPiece text) { return record_->doc = text.ToString(), *this; }
  OpDefBuilder& SetIsCommutative() { return record_->is_commutative = true, *this; }
  OpDefBuilder& SetIsAggregate() { return record_->is_aggregate = true, *this; }
  OpDefBuilder& SetIsStateful() { return record_->is_stateful = true, *this; }
  OpDefBuilder& SetAllowsUninitializedInput() {
    return record_->allows_uninitialized = true, *this;
  }
  OpDefBuilder& Deprecated(int, StringPiece) { return *this; }
  OpDefBuilder& SetShapeFn(OpShapeInferenceFn function) {
    record_->shape_function = std::move(function);
    return *this;
  }
  internal::OpRecord* record() const { return record_; }

 private:
  SF_RARE OpDefBuilder& Add(internal::Rows* texts, StringPiece text) {
    texts->Next()->Text(text);
    return *this;
  }
  internal::OpRecord* record_;
};
using OpDefBuilderWrapper = OpDefBuilder;

namespace internal {
struct OpRegistration {
  OpRegistration(const OpDefBuilder& builder) { Ops().Add(builder.record()); }  // NOLINT
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
    for (const auto* op = internal::Ops().first; op; op = op->next)
      if (op->name == name) return true;
    return false;
  }
  string DebugString(bool) const {
    std::map<string, string> lines;
    for (const auto* op = internal::Ops().first; op; op = op->next) {
      string& line = lines[op->name];
      line = strings::StrCat("Op<name=", op->name, "; signature=", Joined(op->inputs, ", "),
                             " -> ", Joined(op->outputs, ", "));
      if (op->attributes.count)
        strings::StrAppend(&line, "; attr=", Joined(op->attributes, "; attr="));
      strings::StrAppend(&line, op->is_stateful ? "; is_stateful=true" : "", ">\n");
    }
    string text;
    for (const auto& line : lines) text += line.second;
    return text;
  }

 private:
  static string Joined(const internal::Rows& texts, const char* between) {
    std::vector<string> dense;
    internal::Reader reader(texts.writer.data);
    for (int64 left = texts.count; left > 0; --left)
      dense.push_back(str_util::StringReplace(reader.Piece(), ": ", ":", false));
    return str_util::Join(dense, between);
  }
};

#define REGISTER_OP(name)                                                             \
  static const ::tensorflow::internal::OpRegistration SF_UNIQUE(sf_op) TF_ATTRIBUTE_UNUSED = \
      ::tensorflow::OpDefBuilder(name)
#define REGISTER_SYSTEM_OP(name) REGISTER_OP(name)

}  // namespace tensorflow

#endif  // STILLFLOW_OP_H_
