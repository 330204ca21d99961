//===- Names.h - attribute names of model files and programs -------------===//

#ifndef TTS_DIALECT_TTS_IR_NAMES_H
#define TTS_DIALECT_TTS_IR_NAMES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tts {

//===-- of a function -----------------------------------------------------===//

/// "train" and "infer" in a model file; "zero", "denominators", "forward",
/// "backward", "update", "eval", "infer" after Differentiate; "fold.0" and on
/// after Partition.
inline constexpr llvm::StringLiteral kProgramAttr = "tts.program";
/// i64: which bucket a specialized program is for.
inline constexpr llvm::StringLiteral kBucketAttr = "tts.bucket_index";

//===-- of arguments and results, at most one of them each ----------------===//

inline constexpr llvm::StringLiteral kParamAttr = "tts.param";
inline constexpr llvm::StringLiteral kInputAttr = "tts.input";
inline constexpr llvm::StringLiteral kScalarAttr = "tts.scalar";
inline constexpr llvm::StringLiteral kLossAttr = "tts.loss";
inline constexpr llvm::StringLiteral kDenominatorAttr = "tts.denominator";
inline constexpr llvm::StringLiteral kOutputAttr = "tts.output";
inline constexpr llvm::StringLiteral kStashAttr = "tts.stash";
inline constexpr llvm::StringLiteral kGradientAttr = "tts.gradient";
/// The sum of a gradient over groups of micro-batches: "parameter.0", ".1".
inline constexpr llvm::StringLiteral kPartialAttr = "tts.partial";
inline constexpr llvm::StringLiteral kMoment1Attr = "tts.moment1";
inline constexpr llvm::StringLiteral kMoment2Attr = "tts.moment2";
inline constexpr llvm::StringLiteral kEmaAttr = "tts.ema";
/// The value that a state takes when the update ends, from forward to update.
inline constexpr llvm::StringLiteral kNextAttr = "tts.next";
/// A parameter rounded to the plan's half type, by the parameter's name.
inline constexpr llvm::StringLiteral kHalfCopyAttr = "tts.half_copy";

//===-- beside them -------------------------------------------------------===//

inline constexpr llvm::StringLiteral kInitAttr = "tts.init";
inline constexpr llvm::StringLiteral kFrozenAttr = "tts.frozen";
/// Unit, on a parameter that an op advances instead of the optimizer.
inline constexpr llvm::StringLiteral kStateAttr = "tts.state";
inline constexpr llvm::StringLiteral kLengthsAttr = "tts.lengths";
inline constexpr llvm::StringLiteral kCoefficientAttr = "tts.coefficient";
/// i64 array, on an argument that is a rank's shard (Partition): the extents of
/// what it is a shard of.
inline constexpr llvm::StringLiteral kShardOfAttr = "tts.shard_of";
/// The #tts.dims that Specialize took off an input's or output's type.
inline constexpr llvm::StringLiteral kDimsAttr = "tts.dims";

//===-- of the module -----------------------------------------------------===//

inline constexpr llvm::StringLiteral kBatchAttr = "tts.batch";
inline constexpr llvm::StringLiteral kBucketsAttr = "tts.buckets";
inline constexpr llvm::StringLiteral kHardwareAttr = "tts.hardware";
inline constexpr llvm::StringLiteral kOptimizerAttr = "tts.optimizer";
inline constexpr llvm::StringLiteral kGradClipAttr = "tts.grad_clip";
inline constexpr llvm::StringLiteral kEmaDecayAttr = "tts.ema_decay";

/// Array of i64 arrays {transpose, rows, in, out, taps, ns as products, ns in
/// the library}: what the hardware's description says of convolutions. Set by
/// Plan.
inline constexpr llvm::StringLiteral kConv1dTimesAttr = "tts.conv1d_times";
/// Unit: Select leaves every op a kernel of its own (--fusion=off).
inline constexpr llvm::StringLiteral kUnfusedAttr = "tts.unfused";
/// Array of strings: the parameters that programs read in the plan's half type;
/// the update keeps a copy of each.
inline constexpr llvm::StringLiteral kHalfCopiesAttr = "tts.half_copies";
/// i64: the data replicas that the plan is for, where they are several; set by
/// Plan. `tts.batch` is theirs together.
inline constexpr llvm::StringLiteral kRanksAttr = "tts.ranks";
/// Unit: the sums over an update's micro-batches have one order on 1, 2 and 4
/// ranks; set by Plan.
inline constexpr llvm::StringLiteral kDeterministicAttr = "tts.deterministic";
/// Of shards, then: their sums are added as a tree, whatever the ranks.
inline constexpr int64_t kFoldGroups = 4;
/// String: which states of parameters ("optimizer", then "gradients", then
/// "parameters" as well) each of several ranks has a shard of only; absent
/// where it has all. Set by Plan.
inline constexpr llvm::StringLiteral kStateShardingAttr = "tts.state_sharding";
/// i64: how many gathers of sharded parameters are begun ahead of the one that
/// is used, while entries compute; absent or 0: each is waited for where it
/// begins, and so is each scatter. Set by Plan.
inline constexpr llvm::StringLiteral kPrefetchAttr = "tts.prefetch";
/// Unit on a collective, set by Partition: what follows runs beside it.
inline constexpr llvm::StringLiteral kAheadAttr = "tts.ahead";
/// Array of strings, of a pipeline: the names of the ops of forward that every
/// stage but the first begins with. i64s: which stage this module is to be, and
/// how many micro-batches it has under way at most. Set by Plan.
inline constexpr llvm::StringLiteral kStageStartsAttr = "tts.stage_starts";
inline constexpr llvm::StringLiteral kStageAttr = "tts.stage";
inline constexpr llvm::StringLiteral kSlotsAttr = "tts.slots";
/// Of a stage (Partition): all parameters of the model, each [name, type, the
/// stage that owns it, its argument's attributes]; and the attributes of all
/// results that are losses.
inline constexpr llvm::StringLiteral kAllParametersAttr = "tts.all_parameters";
inline constexpr llvm::StringLiteral kAllLossesAttr = "tts.all_losses";
/// #tts.plan, set by Plan.
inline constexpr llvm::StringLiteral kPlanAttr = "tts.plan";

/// The name an op is known by in tables, plans and messages: its named
/// location, else file:line:col.
std::string getStableName(mlir::Location loc);

} // namespace tts

#endif // TTS_DIALECT_TTS_IR_NAMES_H
