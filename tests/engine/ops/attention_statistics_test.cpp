// The statistics of attention against direct computation on the full attention pattern of the reference.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/attention/op/attention_ops.h"
#include "tests/engine/ops/attention_case.h"
#include "tests/support/every_backend.h"
#include "tests/support/in_turn.h"

using namespace sink;
using namespace sink::test;

namespace {

constexpr std::int64_t B = 2, H = 4, T = 75, K = 70, D = 16;

// AttentionStatistics of one head, from all weights a_ij.
struct Expected {
  std::vector<double> raw, proxy;
  double extra_raw = 0, extra_proxy = 0, row_sum = 0, entropy = 0, value_share = 0;

  template <class Op>
  Expected(const AttentionCase& c, const Op& op, std::int64_t b, std::int64_t h) : raw(K), proxy(K) {
    Tensor a = c.map<Op>(b, h, op);
    std::int64_t E = c.config.extra_key.present() ? 1 : 0, columns = E + T;
    Tensor v = c.v.to(DType::F64), extra_v = c.config.extra_key.v_HD;
    const std::int64_t width = v.dim(3), G = v.dim(1), bg = b * G + h / (H / G);
    auto length = [&](const Tensor& x, std::int64_t row) {
      double sum = 0;
      for (std::int64_t d = 0; d < width; ++d) sum += std::pow(x.item(row * width + d), 2);
      return std::sqrt(sum);
    };
    std::vector<double> lengths(E, extra_v.defined() ? length(extra_v, h) : 0);
    for (std::int64_t j = 0; j < T; ++j) lengths.push_back(length(v, bg * T + j));
    double queries = 0;  // after the first, that see key 0
    for (std::int64_t i = 1; i < T; ++i) {
      if (!c.config.range_of(b).sees(i, 0)) continue;
      ++queries;
      double all = 0;
      for (std::int64_t n = 0; n < columns; ++n) all += std::abs(a.item(i * columns + n)) * lengths[n];
      if (all > 0) value_share += std::abs(a.item(i * columns + E)) * lengths[E] / all;
    }
    value_share /= queries;
    for (std::int64_t i = 0; i < T; ++i) {
      constexpr bool kSumsToOne = std::is_same_v<Op, Softmax>;
      double absolute = kSumsToOne ? 1 : 1e-8;
      for (std::int64_t n = 0; n < columns && !kSumsToOne; ++n) absolute += std::abs(a.item(i * columns + n));
      for (std::int64_t n = 0; n < columns; ++n) {
        double weight = a.item(i * columns + n), p = std::abs(weight) / absolute;
        if (p > 0) entropy -= p * std::log(p) / T;
        if (n < E) {
          extra_raw += weight;
          extra_proxy += p;
          continue;
        }
        row_sum += weight / T;
        if (n - E < K) raw[n - E] += weight;
        if (n - E < K) proxy[n - E] += p;
      }
    }
  }
};

// What each backend computes: F64 is the reference's alone.
const std::vector<std::pair<DType, Device>> kTypes = [] {
  std::vector<std::pair<DType, Device>> types{{DType::F64, Device::cpu}};
  for (Device device : kDevices)
    for (DType dtype : {DType::F32, DType::BF16}) types.emplace_back(dtype, device);
  return types;
}();

const auto kKeySums = {&AttentionKeySums::raw_BHK,      &AttentionKeySums::proxy_BHK,
                       &AttentionKeySums::largest_BHK,  &AttentionKeySums::by_distance_BHK,
                       &AttentionKeySums::extra_raw_BH, &AttentionKeySums::row_sum_BH};

struct Angles {
  double pairs = 0, dot = 0, norms = 0, cosine = 0;
};
// Over pairs (i, j) with i > 0, j == 0 (first) or j > 0.
Angles mean_angles(const AttentionCase& c, std::int64_t b, std::int64_t h, bool first) {
  Angles sum;
  std::int64_t G = c.k.dim(1);
  Tensor q = c.q.to(DType::F64), k = c.k.to(DType::F64);
  const double* q_head = q.data<double>() + (b * H + h) * T * D;
  const double* k_head = k.data<double>() + (b * G + h / (H / G)) * T * D;
  for (std::int64_t i = 1; i < T; ++i)
    for (std::int64_t j = first ? 0 : 1; j < (first ? 1 : T); ++j) {
      if (!c.config.range_of(b).sees(i, j)) continue;
      double qk = 0, qq = 0, kk = 0;
      for (std::int64_t d = 0; d < D; ++d) {
        qk += q_head[i * D + d] * k_head[j * D + d];
        qq += q_head[i * D + d] * q_head[i * D + d];
        kk += k_head[j * D + d] * k_head[j * D + d];
      }
      ++sum.pairs;
      sum.dot += qk;
      sum.norms += std::sqrt(qq * kk);
      if (qq * kk > 0) sum.cosine += qk / std::sqrt(qq * kk);
    }
  if (sum.pairs == 0) return {};
  return {sum.pairs, sum.dot / sum.pairs, sum.norms / sum.pairs, sum.cosine / sum.pairs};
}

}  // namespace

TEST_CASE("attention statistics: equal sums over the whole attention pattern") {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (auto [range, documents] : {std::pair{KeyRange{}, false},
                                    {KeyRange{.prefix = 3, .window = 20}, false},
                                    {KeyRange{.window = 20}, false},
                                    {KeyRange{}, true}})
      for (auto [extra, width] : {std::pair{Extra::none, D},
                                  {Extra::everything, D},
                                  {Extra::logit, D},
                                  {Extra::everything, std::int64_t{129}}}) {
        auto check = [&]<class Op>(const Op& op) {
          CAPTURE(operation_name<Op>());
          CAPTURE(std::string(name_of(dtype)));
          CAPTURE(std::string(name_of(extra)));
          CAPTURE(range.window);
          CAPTURE(width);
          AttentionCase c(B, H, T, width, dtype, range, 1, extra, 2);
          if (documents) c.cut_into_documents();
          c.forward(op);
          AttentionStatistics found = c.statistics(K, op);
          double worst = 0, largest = 1;
          auto compare = [&](double expected, double number) {
            double difference = std::abs(expected - number);
            worst = difference <= worst ? worst : std::isfinite(difference) ? difference : INFINITY;
            largest = std::max(largest, std::abs(expected));
          };
          for (std::int64_t bh : {std::int64_t{0}, B * H - 2}) {
            Expected expected(c, op, bh / H, bh % H);
            for (std::int64_t j = 0; j < K; ++j) {
              compare(expected.raw[j], found.column_raw_BHX.item(bh * K + j));
              compare(expected.proxy[j], found.column_proxy_BHX.item(bh * K + j));
            }
            compare(expected.extra_raw, found.extra_raw_BH.item(bh));
            compare(expected.extra_proxy, found.extra_proxy_BH.item(bh));
            compare(expected.row_sum, found.row_sum_BH.item(bh));
            compare(expected.entropy, found.entropy_BH.item(bh));
            compare(expected.value_share, found.value_share_BH.item(bh));
          }
          CHECK(worst < 3e-5 * largest);
        };
#define SINK_ATTENTION_OP(Op) \
  if (test::in_turn()) check(Op{});
        SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
      }
}

TEST_CASE("attention key sums: equal sums over the whole attention pattern, of all queries or of a chunk") {
  constexpr std::int64_t length = 200;  // tiles of 32, 64 and 256, of which some are complete and the last ones are not
  for (auto [dtype, device] : kTypes)
    for (auto [range, documents] : {std::pair{KeyRange{}, false},
                                    {KeyRange{.prefix = 70, .window = 20}, false},
                                    {KeyRange{.window = 20}, false},
                                    {KeyRange{}, true}})
      for (auto [extra, width] :
           {std::pair{Extra::none, std::int64_t{128}}, {Extra::logit, std::int64_t{129}}, {Extra::everything, D}}) {
        auto check = [&]<class Op>(const Op& op) {
          CAPTURE(operation_name<Op>());
          CAPTURE(std::string(name_of(dtype)));
          CAPTURE(device == Device::cuda);
          CAPTURE(std::string(name_of(extra)));
          CAPTURE(range.window);
          AttentionCase c(B, H, length, width, dtype, range, 1, extra, 2);
          if (documents) c.cut_into_documents();
          const bool chunk = range.window > 0;
          if (chunk) c = c.chunk(77, length);
          c = c.to(device);
          c.forward(op);
          const AttentionKeySums found = c.key_sums(op);
          const std::int64_t E = c.config.extra_key.present() ? 1 : 0, T = c.q.dim(2), first = c.config.first_position;
          double worst = 0, largest = 1;
          auto compare = [&](double expected, double number) {
            keep_worst(worst, std::abs(expected - number));
            largest = std::max(largest, std::abs(expected));
          };
          for (std::int64_t bh : {std::int64_t{0}, B * H - 2}) {
            const Tensor a = c.map<Op>(bh / H, bh % H, op);
            std::vector<double> raw(length), proxy(length), most(length), by_distance(length);
            double extra_raw = 0, extra_proxy = 0, row_sum = 0;
            for (std::int64_t i = 0; i < T; ++i) {
              double absolute = 0;
              for (std::int64_t n = 0; n < E + length; ++n) absolute += std::abs(a.item(i * (E + length) + n));
              for (std::int64_t n = 0; n < E + length; ++n) {
                const double weight = a.item(i * (E + length) + n), p = absolute == 0 ? 0 : std::abs(weight) / absolute;
                if (n < E) {
                  extra_raw += weight, extra_proxy += p;
                  continue;
                }
                const std::int64_t j = n - E, distance = first + i - j;
                raw[j] += weight, proxy[j] += p, row_sum += weight / static_cast<double>(T);
                most[j] = std::max(most[j], p);
                if (distance >= 0) by_distance[distance] += p;
              }
            }
            for (std::int64_t j = 0; j < length; ++j) {
              compare(raw[j], found.raw_BHK.item(bh * length + j));
              compare(proxy[j], found.proxy_BHK.item(bh * length + j));
              compare(most[j], found.largest_BHK.item(bh * length + j));
              compare(by_distance[j], found.by_distance_BHK.item(bh * length + j));
            }
            compare(extra_raw, found.extra_raw_BH.item(bh));
            compare(extra_proxy, found.extra_proxy_BH.item(bh));
            compare(row_sum, found.row_sum_BH.item(bh));
          }
          CHECK(worst < (dtype == DType::F64 ? 1e-13 : 3e-5) * largest);
        };
#define SINK_ATTENTION_OP(Op) \
  if (test::in_turn()) check(Op{});
        SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
      }
}

TEST_CASE("attention key sums: same bits with any number of threads; NaN in a query makes the sums of its keys NaN") {
  AttentionCase c(1, 2, 150, D, DType::F32);
  c.forward<Sigmoid>();
  const int threads = thread_count();
  set_thread_count(1);
  const AttentionKeySums one = c.key_sums<Sigmoid>();
  set_thread_count(2);
  const AttentionKeySums two = c.key_sums<Sigmoid>();
  set_thread_count(threads);
  for (auto member : kKeySums) CHECK(same_bits(one.*member, two.*member));
  for (auto [dtype, device] : kTypes) {
    AttentionCase wrong(1, 2, 150, D, DType::F64);
    wrong.q.data<double>()[40 * D + 3] = std::nan("");  // head 0
    wrong = wrong.to(dtype).to(device);
    wrong.forward<Sigmoid>();
    const AttentionKeySums found = wrong.key_sums<Sigmoid>();
    for (auto member : {&AttentionKeySums::raw_BHK, &AttentionKeySums::proxy_BHK, &AttentionKeySums::largest_BHK}) {
      CHECK(std::isnan((found.*member).item(40)));
      CHECK(std::isfinite((found.*member).item(150 + 40)));
    }
    CHECK(std::isnan(found.by_distance_BHK.item(40)));
    CHECK(std::isfinite(found.raw_BHK.item(41)));  // query 40 does not see it
    CHECK(std::isnan(found.row_sum_BH.item(0)));
  }
}

#ifdef SINK_CUDA
TEST_CASE(
    "attention key sums: same bits in every run on the device, whose warps have several keys each of many heads") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (bool many : {false, true}) {  // 260 heads: each has four warps, or a block, for two tiles of keys
      AttentionCase c = many ? AttentionCase(65, 4, 260, D, DType::F64, {}, 1, Extra::logit, 2).chunk(255, 259)
                             : AttentionCase(1, 4, 300, D, DType::F64, {}, 1, Extra::everything, 2);
      c = c.to(dtype);
      c.forward<Linear>();
      const AttentionKeySums expected = c.key_sums<Linear>();
      const AttentionCase on_device = c.to(Device::cuda);
      std::vector<AttentionKeySums> runs;
      for (unsigned schedule : {0u, 7u}) {
        cuda::Schedule only(schedule);
        std::optional<cuda::FindRaces> races;
        if (schedule == 0 && !many) races.emplace();
        runs.push_back(on_device.key_sums<Linear>());
        for (auto member : kKeySums) {
          CHECK(relative_error(runs.back().*member, expected.*member) < 3e-5);
          CHECK(same_bits(runs.back().*member, runs[0].*member));
        }
      }
    }
}
#endif

TEST_CASE("attention statistics: q . k splits into norms and cosines") {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (KeyRange range :
         {KeyRange{}, KeyRange{.prefix = 3, .window = 20}, KeyRange{.window = 20}, KeyRange{.window = 1}}) {
      CAPTURE(std::string(name_of(dtype)));
      CAPTURE(range.window);
      AttentionCase c(B, H, T, D, dtype, range, 1, Extra::everything, 2);
      Tensor zero_key = c.k.reshape({B * 2 * T, D}).rows(5, 6);
      zero_key.fill(0);  // has no cosine
      c.forward<Softmax>();
      AttentionStatistics found = c.statistics<Softmax>(1);
      for (std::int64_t bh = 0; bh < B * H; ++bh) {
        Angles first = mean_angles(c, bh / H, bh % H, true), other = mean_angles(c, bh / H, bh % H, false);
        CHECK(std::abs(found.key1_dot_BH.item(bh) - first.dot) < 1e-5);
        CHECK(std::abs(found.key1_norms_BH.item(bh) - first.norms) < 1e-4);
        CHECK(std::abs(found.key1_cosine_BH.item(bh) - first.cosine) < 1e-5);
        CHECK(std::abs(found.other_dot_BH.item(bh) - other.dot) < 1e-5);
        CHECK(std::abs(found.other_norms_BH.item(bh) - other.norms) < 1e-4);
        CHECK(std::abs(found.other_cosine_BH.item(bh) - other.cosine) < 1e-5);
      }
    }
  // One position has no pair.
  AttentionCase one(1, 1, 1, D, DType::F32);
  one.forward<Softmax>();
  CHECK(one.statistics<Softmax>(1).key1_dot_BH.item(0) == 0);
  CHECK(one.statistics<Softmax>(1).other_norms_BH.item(0) == 0);
  CHECK(one.statistics<Softmax>(1).value_share_BH.item(0) == 0);
}

TEST_CASE("attention statistics: NaN in a query makes every mean of its head NaN, in every backend") {
  for (Device device : kDevices)
    for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
      if (dtype == DType::F64 && device == Device::cuda) continue;
      CAPTURE(std::string(name_of(dtype)));
      CAPTURE(device == Device::cuda);
      auto check = [&](auto op) {
        CAPTURE(operation_name<std::decay_t<decltype(op)>>());
        AttentionCase c(1, 2, 70, D, DType::F64);
        c.q.data<double>()[40 * D + 3] = std::nan("");  // head 0
        c = c.to(dtype).to(device);
        c.forward(op);
        const AttentionStatistics found = c.statistics(1, op);
        for (const auto& [name, mean] : {std::pair{"row sum", found.row_sum_BH},
                                         {"entropy", found.entropy_BH},
                                         {"value share", found.value_share_BH},
                                         {"dot 1", found.key1_dot_BH},
                                         {"norms 1", found.key1_norms_BH},
                                         {"cosine 1", found.key1_cosine_BH},
                                         {"dots", found.other_dot_BH},
                                         {"norms", found.other_norms_BH},
                                         {"cosines", found.other_cosine_BH}}) {
          const Tensor mean_BH = mean.to(Device::cpu);
          CAPTURE(std::string(name));
          CHECK(std::isnan(mean_BH.item(0)));
          CHECK(std::isfinite(mean_BH.item(1)));
        }
      };
      check(Softmax{});
      check(Sigmoid{});
    }
}

TEST_CASE("attention statistics: the entropy counts weights that are no normal numbers as nothing, in every backend") {
  // Of a row's 2 n keys half have the score 0 and half -80 ... -94: weights from e^-80 / n to none. The entropy is ln
  // n.
  constexpr std::int64_t n = 32, tokens = 2 * n;
  AttentionCase c(1, 1, tokens, D, DType::F64);
  c.config.scale = 1;
  c.q.fill(0);
  c.k.fill(0);
  for (std::int64_t t = 0; t < tokens; ++t) {
    c.q.data<double>()[t * D] = 1;
    c.k.data<double>()[t * D] = t % 2 ? -80 - 14.0 * static_cast<double>(t) / tokens : 0;
  }
  double expected = 0;  // the mean over rows
  for (std::int64_t t = 0; t < tokens; ++t) expected += std::log(static_cast<double>(t / 2 + 1)) / tokens;
  for (Device device : kDevices)
    for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
      if (dtype == DType::F64 && device == Device::cuda) continue;
      CAPTURE(std::string(name_of(dtype)));
      CAPTURE(device == Device::cuda);
      AttentionCase here = c.to(dtype).to(device);
      here.forward<Softmax>();
      CHECK(here.statistics<Softmax>(1).entropy_BH.to(Device::cpu).item(0) == doctest::Approx(expected).epsilon(1e-5));
    }
}

TEST_CASE("attention statistics: without an extra key its sums are zero, with one softmax shares its rows with it") {
  AttentionCase c(1, 1, 40, D, DType::F32), extra(1, 1, 40, D, DType::F32, {}, 1, Extra::key);
  c.forward<Softmax>();
  extra.forward<Softmax>();
  CHECK(c.statistics<Softmax>(1).extra_raw_BH.item(0) == 0);
  CHECK(c.statistics<Softmax>(1).row_sum_BH.item(0) == doctest::Approx(1).epsilon(1e-6));
  AttentionStatistics found = extra.statistics<Softmax>(1);
  CHECK(found.extra_raw_BH.item(0) > 0.1);
  CHECK(found.extra_raw_BH.item(0) == found.extra_proxy_BH.item(0));
  CHECK(found.row_sum_BH.item(0) + found.extra_raw_BH.item(0) / 40 == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("attention statistics: proxy weights of normalised rows, computed by hand as the paper's code does") {
  // Keys (1, 0) and (0, 1), scale 1: query 0 = (1, .) has the score 1; query 1 has scores 3 and 1, or -3 and 1.
  constexpr double kEpsilon = 1e-8;
  auto first_key = [&]<class Op>(const Op& op, double score) {
    Tensor q = Tensor::from<double>({1, 1, 2, 2}, {1, 0, score, 1});
    Tensor k = Tensor::from<double>({1, 1, 2, 2}, {1, 0, 0, 1}), o = k.clone();
    Tensor m = Tensor::empty({1, 1, 2}, DType::F64), S = m.clone();
    AttentionConfig config{.scale = 1};
    attention(op, q, k, k, config, o, m, S);
    return attention_statistics(op, q, k, k, m, S, config, 1).column_proxy_BHX.item(0);
  };
  auto near = [](double x) { return doctest::Approx(x).epsilon(1e-15); };
  // LinearNorm's proxies are its weights: they contain the 1e-8 once.
  CHECK(first_key(LinearNorm{}, 3) == near(1 / (1 + kEpsilon) + 3 / (4 + kEpsilon)));
  CHECK(first_key(LinearNorm{}, -3) == near(1 / (1 + kEpsilon) + 3 / (4 + kEpsilon)));
  // The proxies of ScaledSoftmax are those of softmax.
  double softmax = std::exp(2.0) / (std::exp(2.0) + 1);
  CHECK(first_key(Softmax{}, 3) == near(1 + softmax));
  for (double alpha : {0.05, 0.2, 2.0}) CHECK(first_key(ScaledSoftmax(alpha), 3) == near(1 + softmax));
  // Sigmoid and elu + 1 over their sums are divided by sum + 1e-8 twice.
  auto twice = [&](double first, double other) {
    double z = first + other + kEpsilon, mass = (first + other) / z + kEpsilon;
    return first / z / mass;
  };
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  CHECK(first_key(SigmoidNorm{}, 3) == near(twice(sigmoid(1), 0) + twice(sigmoid(3), sigmoid(1))));
  CHECK(first_key(EluNorm{}, 3) == near(twice(2, 0) + twice(4, 2)));
  CHECK(first_key(LinearMaxAbs{}, 3) == near(1 / (1 + kEpsilon) + 0.75 / (1 + kEpsilon)));
}
