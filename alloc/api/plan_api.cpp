// plan.h: validate, forward, translate the error.
#include "tessera/plan.h"

#include <vector>

#include "api/call.hpp"
#include "api/copy_out.hpp"
#include "plan/planner.hpp"

namespace tessera {
namespace {

Result<std::vector<UsageRecord>> records_of(const tessera_plan_record* records, std::size_t count) {
  if (records == nullptr && count != 0) return null_argument("records");
  std::vector<UsageRecord> copies;
  copies.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    copies.push_back({Bytes(records[i].bytes), records[i].first, records[i].last});
  }
  return copies;
}

tessera_arena_figures describe(const ArenaFigures& from) {
  tessera_arena_figures figures{};
  figures.naive_bytes = from.naive.value();
  figures.offset_lower_bound = from.offset_lower_bound.value();
  figures.offset_greedy_by_size = from.offset_greedy_by_size.value();
  figures.offset_greedy_by_breadth = from.offset_greedy_by_breadth.value();
  figures.offset_best_fit = from.offset_best_fit.value();
  figures.shared_lower_bound = from.shared_lower_bound.value();
  figures.shared_greedy_by_size = from.shared_greedy_by_size.value();
  figures.shared_improved = from.shared_improved.value();
  figures.shared_by_breadth = from.shared_by_breadth.value();
  return figures;
}

Status place(const tessera_plan_record* records, std::size_t count, std::uint64_t* offsets,
             std::uint64_t* total) {
  if (offsets == nullptr && count != 0) return null_argument("offsets");
  if (total == nullptr) return null_argument("total");
  TESSERA_TRY_ASSIGN(const std::vector<UsageRecord> copies, records_of(records, count));
  TESSERA_TRY_ASSIGN(const OffsetPlan plan, plan_offsets(copies));
  for (std::size_t i = 0; i < count; ++i) offsets[i] = plan.offsets[i].value();
  *total = plan.total.value();
  return {};
}

Status survey(const tessera_plan_record* records, std::size_t count,
              tessera_arena_figures* figures) {
  TESSERA_TRY_ASSIGN(const std::vector<UsageRecord> copies, records_of(records, count));
  TESSERA_TRY_ASSIGN(const ArenaFigures found, survey_arena(copies));
  return copy_out_struct(describe(found), figures, "figures");
}

}  // namespace
}  // namespace tessera

extern "C" {

tessera_result tessera_plan_arena(const tessera_plan_record* records, size_t count,
                                  tessera_arena_figures* figures) {
  return tessera::api_call([&] { return tessera::survey(records, count, figures); });
}

tessera_result tessera_plan_offsets(const tessera_plan_record* records, size_t count,
                                    uint64_t* offsets, uint64_t* total) {
  return tessera::api_call([&] { return tessera::place(records, count, offsets, total); });
}

}  // extern "C"
