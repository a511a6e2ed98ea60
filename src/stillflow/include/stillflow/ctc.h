// Decoders of connectionist temporal classification (Graves et al., ICML'06): greedy, and a search
// with beams that a scorer of the library's own can weigh.
#ifndef STILLFLOW_CTC_H_
#define STILLFLOW_CTC_H_

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not the including file's
#endif

#include "context.h"

#if !defined(STILLFLOW_MINI_EIGEN)
namespace tensorflow {
namespace ctc {

// The logarithm of probability 0.
template <class T>
constexpr T kLogZero() {
  return -std::numeric_limits<T>::infinity();
}

// The logarithm of the sum of two probabilities, from theirs.
template <class T>
inline T LogSumExp(T a, T b) {
  if (a < b) std::swap(a, b);
  return b == kLogZero<T>() ? a : a + std::log1p(std::exp(b - a));
}

template <class T = float>
class CTCDecoder {
 public:
  using Array = Eigen::Array<T, Eigen::Dynamic, 1>;
  using EMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Input = Eigen::Map<const EMatrix>;  // of a step: rows are examples, columns classes
  using SequenceLength = Eigen::Map<const Eigen::ArrayXi>;
  using Output = std::vector<std::vector<int>>;  // of each example the labels
  using ScoreOutput = Eigen::Map<EMatrix>;

  // The blank is the last class.
  CTCDecoder(int num_classes, int batch_size, bool merge_repeated)
      : num_classes_(num_classes),
        blank_index_(num_classes - 1),
        batch_size_(batch_size),
        merge_repeated_(merge_repeated) {}
  virtual ~CTCDecoder() {}
  virtual Status Decode(const SequenceLength& lengths, const std::vector<Input>& input,
                        std::vector<Output>* output, ScoreOutput* scores) = 0;
  int batch_size() const { return batch_size_; }
  int num_classes() const { return num_classes_; }

 protected:
  // Errors of results that have no room for so many paths.
  Status CheckRoom(const std::vector<Output>& output, const ScoreOutput& scores) const {
    for (const Output& each : output) {
      if (each.size() >= static_cast<size_t>(batch_size_)) continue;
      return errors::InvalidArgument("output needs to be of size at least (top_n, batch_size).");
    }
    if (scores.rows() < batch_size_ || scores.cols() < static_cast<int64>(output.size())) {
      return errors::InvalidArgument("scores needs to be of size at least (batch_size, top_n).");
    }
    return Status::OK();
  }

  int num_classes_;
  int blank_index_;
  int batch_size_;
  bool merge_repeated_;
};

// The likeliest class of each step, without blanks.
template <class T = float>
class CTCGreedyDecoder : public CTCDecoder<T> {
 public:
  using typename CTCDecoder<T>::Input;
  using typename CTCDecoder<T>::Output;
  using typename CTCDecoder<T>::ScoreOutput;
  using typename CTCDecoder<T>::SequenceLength;
  using CTCDecoder<T>::CTCDecoder;

  Status Decode(const SequenceLength& lengths, const std::vector<Input>& input,
                std::vector<Output>* output, ScoreOutput* scores) override {
    if (output->empty()) {
      return errors::InvalidArgument("output needs to be of size at least (1, batch_size).");
    }
    TF_RETURN_IF_ERROR(this->CheckRoom(*output, *scores));
    for (int example = 0; example < this->batch_size_; ++example) {
      std::vector<int>& labels = output->front()[static_cast<size_t>(example)];
      T cost = 0;
      int before = -1;
      for (int step = 0; step < lengths(example); ++step) {
        int best = 0;
        cost -= input[static_cast<size_t>(step)].row(example).maxCoeff(&best);
        const bool is_repeated = this->merge_repeated_ && best == before;
        if (best != this->blank_index_ && !is_repeated) labels.push_back(best);
        before = best;
      }
      (*scores)(example, 0) = cost;
    }
    return Status::OK();
  }
};

// Logarithms of what a beam's labels weigh, with whatever a model of language adds. This one adds
// nothing.
template <typename T, typename CTCBeamState>
class BaseBeamScorer {
 public:
  virtual ~BaseBeamScorer() {}
  // Of the beam without labels.
  virtual void InitializeState(CTCBeamState* root) const {}
  // Of a beam with one more label; at most once for each.
  virtual void ExpandState(const CTCBeamState& from_state, int from_label, CTCBeamState* to_state,
                           int to_label) const {}
  // Of a beam at the end of a sequence; at most once for each.
  virtual void ExpandStateEnd(CTCBeamState* state) const {}
  virtual T GetStateExpansionScore(const CTCBeamState& state, T previous_score) const {
    return previous_score;
  }
  virtual T GetStateEndExpansionScore(const CTCBeamState& state) const { return 0; }
};

namespace ctc_beam_search {

struct EmptyBeamState {};

// Logarithms of a beam's probability in a step: as a whole, with a blank or a label at its end.
template <typename T>
struct BeamProbability {
  void Reset() { total = blank = label = kLogZero<T>(); }
  T total = kLogZero<T>();
  T blank = kLogZero<T>();
  T label = kLogZero<T>();
};

template <class T, class CTCBeamState>
class BeamRoot;

// A sequence of labels: that of its parent and one more.
template <class T, class CTCBeamState = EmptyBeamState>
struct BeamEntry {
  using Root = BeamRoot<T, CTCBeamState>;
  BeamEntry(BeamEntry* before, int last, Root* of) : parent(before), label(last), beam_root(of) {}
  bool Active() const { return newp.total != kLogZero<T>(); }
  BeamEntry& GetChild(int child_label) {
    BeamEntry*& child = children[child_label];
    if (child == nullptr) child = beam_root->AddEntry(this, child_label);
    return *child;
  }
  std::vector<int> LabelSeq(bool merge_repeated) const {
    std::vector<int> labels;
    int later = -1;
    for (const BeamEntry* entry = this; entry->parent != nullptr; entry = entry->parent) {
      if (!merge_repeated || entry->label != later) labels.push_back(entry->label);
      later = entry->label;
    }
    std::reverse(labels.begin(), labels.end());
    return labels;
  }

  BeamEntry* parent;
  int label;
  std::unordered_map<int, BeamEntry*> children;
  BeamProbability<T> oldp;
  BeamProbability<T> newp;
  CTCBeamState state;
  Root* beam_root;
};

// The beam without labels, which all others grow from and which owns them.
template <class T, class CTCBeamState = EmptyBeamState>
class BeamRoot {
 public:
  using Entry = BeamEntry<T, CTCBeamState>;
  BeamRoot(Entry* parent, int label) { AddEntry(parent, label); }
  BeamRoot(const BeamRoot&) = delete;
  Entry* AddEntry(Entry* parent, int label) {
    entries_.emplace_back(new Entry(parent, label, this));
    return entries_.back().get();
  }
  Entry* RootEntry() const { return entries_.front().get(); }

 private:
  std::vector<std::unique_ptr<Entry>> entries_;
};

// The likelier beam is better.
template <class T, class CTCBeamState = EmptyBeamState>
class BeamComparer {
 public:
  virtual ~BeamComparer() {}
  virtual bool operator()(const BeamEntry<T, CTCBeamState>* a,
                          const BeamEntry<T, CTCBeamState>* b) const {
    return a->newp.total > b->newp.total;
  }
};

}  // namespace ctc_beam_search

template <typename T, typename CTCBeamState = ctc_beam_search::EmptyBeamState,
          typename CTCBeamComparer = ctc_beam_search::BeamComparer<T, CTCBeamState>>
class CTCBeamSearchDecoder : public CTCDecoder<T> {
 public:
  using typename CTCDecoder<T>::Input;
  using typename CTCDecoder<T>::Output;
  using typename CTCDecoder<T>::ScoreOutput;
  using typename CTCDecoder<T>::SequenceLength;
  using Entry = ctc_beam_search::BeamEntry<T, CTCBeamState>;
  using Root = ctc_beam_search::BeamRoot<T, CTCBeamState>;
  using DefaultBeamScorer = BaseBeamScorer<T, CTCBeamState>;

  // The caller keeps the scorer.
  CTCBeamSearchDecoder(int num_classes, int beam_width, DefaultBeamScorer* scorer,
                       int batch_size = 1, bool merge_repeated = false)
      : CTCDecoder<T>(num_classes, batch_size, merge_repeated),
        width_(static_cast<size_t>(beam_width)),
        leaves_(width_),
        scorer_(CHECK_NOTNULL(scorer)) {
    Reset();
  }

  void SetLabelSelectionParameters(int size, T margin) {
    selection_size_ = size;
    selection_margin_ = margin;
  }
  DefaultBeamScorer* GetBeamScorer() const { return scorer_; }
  void Reset() {
    leaves_.Reset();
    root_.reset(new Root(nullptr, -1));
    Entry* start = root_->RootEntry();
    start->newp.total = start->newp.blank = 0;
    leaves_.push(start);
    scorer_->InitializeState(&start->state);
  }

  Status Decode(const SequenceLength& lengths, const std::vector<Input>& input,
                std::vector<Output>* output, ScoreOutput* scores) override {
    TF_RETURN_IF_ERROR(this->CheckRoom(*output, *scores));
    const int count = static_cast<int>(output->size());
    for (int example = 0; example < this->batch_size_; ++example) {
      Reset();
      for (int step = 0; step < lengths(example); ++step)
        Step(input[static_cast<size_t>(step)].row(example));
      std::unique_ptr<std::vector<Entry*>> ended(leaves_.Extract());
      for (Entry* entry : *ended) {
        scorer_->ExpandStateEnd(&entry->state);
        entry->newp.total += scorer_->GetStateEndExpansionScore(entry->state);
        leaves_.push(entry);
      }
      std::vector<std::vector<int>> paths;
      std::vector<T> log_probs;
      TF_RETURN_IF_ERROR(TopPaths(count, &paths, &log_probs, this->merge_repeated_));
      for (int path = 0; path < count; ++path) {
        const size_t at = static_cast<size_t>(path);
        (*output)[at][static_cast<size_t>(example)] = paths[at];
        (*scores)(example, path) = -log_probs[at];
      }
    }
    return Status::OK();
  }

  // Prolongs the beams by a step, whose classes have these logits.
  template <typename Vector>
  void Step(const Vector& logits) {
    CHECK_EQ(this->num_classes_, logits.size());
    const std::vector<T> log_probs = LogProbabilities(logits);
    const std::vector<int> tried = Tried(logits);
    std::unique_ptr<std::vector<Entry*>> entries(leaves_.Extract());
    for (Entry* entry : *entries) entry->oldp = entry->newp;
    for (Entry* entry : *entries) {
      Stay(entry, log_probs);
      leaves_.push(entry);
    }
    for (Entry* entry : *entries) {
      if (!IsCandidate(entry->oldp)) continue;
      for (int label : tried) Grow(entry, label, log_probs[static_cast<size_t>(label)]);
    }
  }

  Status TopPaths(int count, std::vector<std::vector<int>>* paths, std::vector<T>* log_probs,
                  bool merge_repeated) const {
    paths->clear();
    log_probs->clear();
    if (count > static_cast<int>(width_)) {
      return errors::InvalidArgument("requested more paths than the beam width.");
    }
    if (count > static_cast<int>(leaves_.size())) {
      return errors::InvalidArgument("Less leaves in the beam search than requested.");
    }
    gtl::TopN<Entry*, CTCBeamComparer> best(static_cast<size_t>(count));
    for (auto at = leaves_.unsorted_begin(); at != leaves_.unsorted_end(); ++at) best.push(*at);
    std::unique_ptr<std::vector<Entry*>> entries(best.Extract());
    for (const Entry* entry : *entries) {
      paths->push_back(entry->LabelSeq(merge_repeated));
      log_probs->push_back(entry->newp.total);
    }
    return Status::OK();
  }

 private:
  template <typename Vector>
  static std::vector<T> LogProbabilities(const Vector& logits) {
    T largest = logits(0), sum = 0;
    for (int at = 1; at < logits.size(); ++at) largest = std::max<T>(largest, logits(at));
    for (int at = 0; at < logits.size(); ++at) sum += std::exp(logits(at) - largest);
    const T whole = largest + std::log(sum);
    std::vector<T> result;
    for (int at = 0; at < logits.size(); ++at) result.push_back(logits(at) - whole);
    return result;
  }
  // The labels that a step tries: all, or the likeliest, in that order.
  template <typename Vector>
  std::vector<int> Tried(const Vector& logits) const {
    std::vector<int> labels;
    T largest = logits(this->blank_index_);
    for (int label = 0; label < this->blank_index_; ++label) {
      labels.push_back(label);
      largest = std::max<T>(largest, logits(label));
    }
    const size_t size = static_cast<size_t>(std::max(selection_size_, 0));
    if (size > 0 && size < static_cast<size_t>(logits.size())) {
      std::stable_sort(labels.begin(), labels.end(),
                       [&](int a, int b) { return logits(a) > logits(b); });
      labels.resize(std::min(size, labels.size()));
    }
    if (selection_margin_ >= 0) {
      const auto unlikely = [&](int label) { return logits(label) < largest - selection_margin_; };
      labels.erase(std::remove_if(labels.begin(), labels.end(), unlikely), labels.end());
    }
    return labels;
  }
  bool IsCandidate(const ctc_beam_search::BeamProbability<T>& probability) {
    return probability.total > kLogZero<T>() &&
           (leaves_.size() < width_ || probability.total > leaves_.peek_bottom()->newp.total);
  }
  // What a beam is worth with one more label: a repeated one needs a blank between.
  static T Before(const Entry& entry, int label) {
    return label == entry.label ? entry.oldp.blank : entry.oldp.total;
  }
  // The same labels after a step: a blank follows, or the last label again.
  void Stay(Entry* entry, const std::vector<T>& log_probs) {
    auto& now = entry->newp;
    if (const Entry* parent = entry->parent) {
      if (parent->Active()) {
        now.label = LogSumExp(now.label, scorer_->GetStateExpansionScore(
                                             entry->state, Before(*parent, entry->label)));
      }
      now.label += log_probs[static_cast<size_t>(entry->label)];
    }
    now.blank = entry->oldp.total + log_probs[static_cast<size_t>(this->blank_index_)];
    now.total = LogSumExp(now.blank, now.label);
  }
  // One more label, if that makes one of the best beams.
  void Grow(Entry* entry, int label, T log_prob) {
    Entry& child = entry->GetChild(label);
    if (child.Active()) return;
    scorer_->ExpandState(entry->state, entry->label, &child.state, label);
    child.newp.blank = kLogZero<T>();
    child.newp.label = child.newp.total =
        log_prob + scorer_->GetStateExpansionScore(child.state, Before(*entry, label));
    if (!IsCandidate(child.newp)) {
      child.oldp.Reset();
      child.newp.Reset();
      return;
    }
    if (leaves_.size() == width_) leaves_.peek_bottom()->newp.Reset();  // it makes room
    leaves_.push(&child);
  }

  size_t width_;
  gtl::TopN<Entry*, CTCBeamComparer> leaves_;
  DefaultBeamScorer* scorer_;
  std::unique_ptr<Root> root_;
  int selection_size_ = 0;  // 0: all labels
  T selection_margin_ = -1;  // negative: all labels
};

}  // namespace ctc
}  // namespace tensorflow
#endif  // STILLFLOW_MINI_EIGEN

#endif  // STILLFLOW_CTC_H_
