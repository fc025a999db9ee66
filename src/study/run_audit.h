// Whether the model of a run looks ahead, tried on texts that it was validated with.
#pragma once

#include <cstddef>
#include <functional>

#include "semfuse/checkpoint.h"
#include "semfuse/evaluation.h"

namespace semfuse {

// Validation sentences that are changed unless more are asked for.
constexpr std::size_t kAuditSentences = 40;

// Of models of files the beginnings of texts. Throws Error as validation_data() and audit() do.
Audit audit_run(const Checkpoint& checkpoint, std::size_t sentences, std::size_t threads,
                const std::function<void(double done)>& on_progress = {});

bool looks_ahead(const Audit& result);

}  // namespace semfuse
