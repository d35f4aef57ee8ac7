#pragma once

#include "cli/verb.h"

namespace tutti {

// The verbs, one file each. Their table entries are constants.
extern const Verb kSubmitVerb;
extern const Verb kRunVerb;
extern const Verb kBatchVerb;
extern const Verb kExecuteBatchVerb;
extern const Verb kExecuteRemoteVerb;
extern const Verb kLsVerb;
extern const Verb kShowVerb;
extern const Verb kLogsVerb;
extern const Verb kExplainVerb;
extern const Verb kCancelVerb;
extern const Verb kWaitVerb;
extern const Verb kRetryVerb;
extern const Verb kPruneVerb;
extern const Verb kNodesVerb;
extern const Verb kGpusVerb;
extern const Verb kProfileVerb;
extern const Verb kSimulateVerb;
extern const Verb kPlanVerb;
extern const Verb kDoctorVerb;
extern const Verb kDaemonVerb;
extern const Verb kCompletionsVerb;
extern const Verb kCompatVerb;
extern const Verb kHelpVerb;
extern const Verb kVersionVerb;

}  // namespace tutti
