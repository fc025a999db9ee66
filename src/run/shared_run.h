// What the processes of a training agree on: who goes first, that they are alike, where they begin, whether they go on.
// All of them call the same functions in the same order; for a process by itself each does the plain thing.
#pragma once

#include <exception>
#include <functional>
#include <string_view>

#include "semfuse/experiment.h"
#include "semfuse/language_model.h"
#include "semfuse/trainer.h"
#include "training/exchange.h"

namespace semfuse {

// Whether rank 0 could do something, for all to know; the others say true. They throw LostProcess if it could not.
void require_first(Exchange& exchange, bool worked);

// The result of work(), which rank 0 does before the others begin. If it throws there, the others throw LostProcess.
template <class Work>
auto first_then_others(Exchange& exchange, const Work& work) {
  if (exchange.rank() > 0) {
    require_first(exchange, true);
    return work();
  }
  try {
    auto result = work();
    require_first(exchange, true);
    return result;
  } catch (const LostProcess&) {
    throw;
  } catch (...) {
    require_first(exchange, false);
    throw;
  }
}

// Does the work of this process, which says whether it wants to go on, and returns whether all want to. If the work of
// one throws, the others throw LostProcess.
bool all_go_on(Exchange& exchange, const std::function<bool()>& work);

// Throws Error, in every process the same, that names a process and its host whose texts, experiment, program or
// instruction set are not those of rank 0.
void require_alike(Exchange& exchange, const Experiment& experiment, std::string_view data_fingerprint);

// Gives the weights and the state of rank 0's training to all.
void share_state(Exchange& exchange, LanguageModel& model, Trainer& trainer);

}  // namespace semfuse
