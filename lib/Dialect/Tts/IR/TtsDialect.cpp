//===- TtsDialect.cpp - registration and attribute checks ----------------===//

#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tts/Dialect/Tts/IR/Eager.h"
#include "tts/Dialect/Tts/IR/Fusion.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tts;

#include "tts/Dialect/Tts/IR/TtsInterfaces.cpp.inc"
#include "tts/Dialect/Tts/IR/TtsOpsDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tts/Dialect/Tts/IR/TtsOpsAttrs.cpp.inc"

/// The type of queries; that of keys and values, where it is another.
static ParseResult parseQueriesAndKeys(OpAsmParser &parser, Type &queries,
                                       Type &keys) {
  if (failed(parser.parseType(queries)))
    return failure();
  keys = queries;
  if (failed(parser.parseOptionalKeyword("keys")))
    return success();
  return parser.parseType(keys);
}

static void printQueriesAndKeys(OpAsmPrinter &printer, Operation *,
                                Type queries, Type keys) {
  printer << queries;
  if (keys != queries)
    printer << " keys " << keys;
}

#define GET_OP_CLASSES
#include "tts/Dialect/Tts/IR/TtsOps.cpp.inc"

void TtsDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tts/Dialect/Tts/IR/TtsOpsAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tts/Dialect/Tts/IR/TtsOps.cpp.inc"
      >();
  attachEagerRules(*getContext());
  attachFusionRules(*getContext());
}

//===-- attributes of functions and their arguments -----------------------===//

LogicalResult TtsDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kProgramAttr && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError() << "'" << name << "' must be a string";
  if (name == kBatchAttr) {
    auto batch = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!batch || batch.getInt() <= 0)
      return op->emitOpError()
             << "'tts.batch' must be a positive number of utterances";
  }
  if (name == kBucketsAttr) {
    auto buckets = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!buckets || buckets.empty() ||
        !llvm::all_of(buckets, llvm::IsaPred<BucketAttr>))
      return op->emitOpError() << "'tts.buckets' must be a list of "
                                  "#tts.bucket<dimension = size, ...>";
  }
  if (name == kLengthsAttr) {
    auto type = op->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                    : RankedTensorType();
    if (!isa<StringAttr>(attribute.getValue()) || !type ||
        type.getRank() != 1 || !type.getElementType().isInteger(32))
      return op->emitOpError()
             << "'tts.lengths' must be a string, the dimension whose extents "
                "this op's result, i32 [batch], holds";
  }
  return success();
}

/// The list of one bucket in a list of lists, which may be absent.
static ArrayRef<Attribute> ofBucket(ArrayAttr all, int64_t bucket) {
  if (!all || bucket >= static_cast<int64_t>(all.size()))
    return {};
  return cast<ArrayAttr>(all[bucket]).getValue();
}

ArrayRef<Attribute> PlanAttr::getRecompute(int64_t bucket) const {
  return ofBucket(getRecompute(), bucket);
}

ArrayRef<Attribute> PlanAttr::getStore(int64_t bucket) const {
  return ofBucket(getStore(), bucket);
}

LogicalResult StoreAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringAttr, unsigned, FloatType type) {
  if (type.isBF16() || type.isF16())
    return success();
  return emitError() << "#tts.store keeps values in bf16 or f16, not in "
                     << type;
}

static LogicalResult verifyRole(Operation *op, Type type,
                                NamedAttribute attribute, StringRef where) {
  StringRef name = attribute.getName();
  static constexpr StringLiteral roles[] = {
      kParamAttr,  kInputAttr, kScalarAttr,   kLossAttr,    kDenominatorAttr,
      kOutputAttr, kStashAttr, kGradientAttr, kMoment1Attr, kMoment2Attr,
      kEmaAttr,    kNextAttr,  kLengthsAttr};
  if (llvm::is_contained(roles, name) && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError()
           << where << ": '" << name << "' must be a string, the tensor's name";
  if (!isa<RankedTensorType>(type))
    return op->emitOpError() << where << ": '" << name
                             << "' belongs on a ranked tensor, not " << type;
  if (name == kInitAttr && !isa<InitAttr>(attribute.getValue()))
    return op->emitOpError() << where << ": 'tts.init' must be a #tts.init";
  if (name == kParamAttr && !cast<RankedTensorType>(type).hasStaticShape())
    return op->emitOpError()
           << where << ": a parameter has a static shape, not " << type;
  return success();
}

LogicalResult TtsDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned index,
                                                   NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyRole(op, function.getArgumentTypes()[index], attribute,
                    "argument #" + std::to_string(index));
}

LogicalResult
TtsDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                        NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyRole(op, function.getResultTypes()[index], attribute,
                    "result #" + std::to_string(index));
}

//===-- #tts.dims<batch, frames, _> ---------------------------------------===//

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  auto parseName = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseName))
    return {};
  return DimsAttr::get(parser.getContext(), names);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getNames(), printer,
                        [&](StringAttr name) { printer << name.getValue(); });
  printer << ">";
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getNames().size())
    return emitError() << "#tts.dims names " << getNames().size()
                       << " dimensions of a tensor of rank " << shape.size();
  for (auto [size, name] : llvm::zip(shape, getNames()))
    if (ShapedType::isDynamic(size) == (name.getValue() == "_"))
      return emitError() << "#tts.dims: a '?' has a name and a static "
                            "dimension is '_', found '"
                         << name.getValue() << "'";
  return success();
}

//===-- #tts.init<normal, 0.02> -------------------------------------------===//

Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  SmallVector<double> args;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    double value;
    if (parser.parseFloat(value))
      return {};
    args.push_back(value);
  }
  if (parser.parseGreater())
    return {};
  return InitAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(),
                              parser.getBuilder().getStringAttr(kind),
                              parser.getBuilder().getDenseF64ArrayAttr(args));
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << "<" << getKind().getValue();
  for (double value : getArgs().asArrayRef())
    printer << ", "
            << FloatAttr::get(Float64Type::get(getContext()), value).getValue();
  printer << ">";
}

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringAttr kind, DenseF64ArrayAttr args) {
  static const std::pair<StringLiteral, size_t> kinds[] = {
      {"zeros", 0},   {"ones", 0},           {"constant", 1}, {"normal", 1},
      {"uniform", 2}, {"xavier_uniform", 0}, {"linspace", 2}};
  for (auto &[name, count] : kinds)
    if (kind.getValue() == name) {
      if (args.size() == static_cast<int64_t>(count))
        return success();
      return emitError() << "#tts.init<" << name << "> takes " << count
                         << " numbers, found " << args.size();
    }
  return emitError() << "unknown #tts.init kind '" << kind.getValue() << "'";
}

//===-- #tts.bucket<text = 64, frames = 300> ------------------------------===//

Attribute BucketAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto parseDim = [&]() -> ParseResult {
    StringRef name;
    int64_t size;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    if (size <= 0)
      return parser.emitError(loc) << "a bucket's size must be positive";
    names.push_back(parser.getBuilder().getStringAttr(name));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseDim))
    return {};
  return BucketAttr::get(parser.getContext(), names, sizes);
}

void BucketAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(
      llvm::zip(getNames(), getSizes()), printer, [&](auto dim) {
        printer << std::get<0>(dim).getValue() << " = " << std::get<1>(dim);
      });
  printer << ">";
}

std::optional<int64_t> BucketAttr::lookup(StringRef name) const {
  for (auto [dim, size] : llvm::zip(getNames(), getSizes()))
    if (dim.getValue() == name)
      return size;
  return std::nullopt;
}
