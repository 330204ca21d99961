//===- RtToLLVM.cpp - programs to the constant step table ----------------===//
//
// One walk over the rt.programs fills a TableWriter; the blob and the array of
// kernel addresses become constant globals.
//
//===----------------------------------------------------------------------===//

#include "tts/Conversion/RtToLLVM/AttributeJson.h"
#include "tts/Conversion/RtToLLVM/Passes.h"
#include "tts/Conversion/RtToLLVM/TableWriter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tts-runtime/Abi.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"

namespace tts {
#define GEN_PASS_DEF_RTTOLLVMPASS
#include "tts/Conversion/RtToLLVM/Passes.h.inc"
} // namespace tts

using namespace mlir;
using namespace tts;

namespace {

/// What the runtime resolves by name.
constexpr llvm::StringLiteral kLibraryFunctions[] = {
    "rt.gemm",           "rt.conv1d",     "rt.all_reduce", "rt.shard",
    "rt.reduce_scatter", "rt.all_gather", "rt.send",       "rt.recv"};

constexpr llvm::StringLiteral kProgramNames[] = TTS_PROGRAM_NAMES;

/// The innermost file position of a location; a name where there is none.
std::string locationText(Location loc) {
  std::string name, position;
  loc->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      if (position.empty())
        position = llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(),
                                 file.getLine(), file.getColumn());
    } else if (auto named = dyn_cast<NameLoc>(inner)) {
      if (name.empty())
        name = named.getName().str();
    }
    return WalkResult::advance();
  });
  return position.empty() ? name : position;
}

/// An index of a program or entry as the table stores it; -1 is `none`.
uint32_t indexOr(int64_t index, uint32_t none) {
  return index < 0 ? none : static_cast<uint32_t>(index);
}

struct TableBuilder {
  ModuleOp module;
  SymbolTable symbols;
  TableWriter table;
  /// By function index; null for a library function.
  SmallVector<Operation *> kernels;

  explicit TableBuilder(ModuleOp module) : module(module), symbols(module) {}

  /// The function of an entry and, for a kernel, its parallel range.
  FailureOr<std::pair<uint32_t, int64_t>> addFunction(rt::EntryOp entry) {
    StringRef name = entry.getFunction();
    Operation *kernel = symbols.lookup(name);
    if (!kernel && !llvm::is_contained(kLibraryFunctions, name))
      return entry.emitError("'")
             << name << "' is neither a kernel nor a library function";
    uint32_t index = table.addFunction(name, kernel ? TTS_FUNCTION_KERNEL
                                                    : TTS_FUNCTION_LIBRARY);
    if (index == kernels.size())
      kernels.push_back(kernel);
    int64_t range = entry.getRange();
    if (kernel)
      if (auto own = kernel->getAttrOfType<IntegerAttr>(rt::kRangeAttr))
        range = own.getInt();
    if (kernel && (range <= 0 || range > UINT32_MAX))
      return entry.emitError("kernel '")
             << name << "' has the parallel range " << range;
    return std::make_pair(index, range);
  }

  LogicalResult addEntry(rt::EntryOp entry) {
    auto function = addFunction(entry);
    if (failed(function))
      return failure();
    SmallVector<TtsOperand> operands;
    for (Attribute operand : entry.getOperands()) {
      auto access = cast<rt::AccessAttr>(operand);
      operands.push_back({static_cast<uint64_t>(access.getOffset()),
                          static_cast<uint64_t>(access.getSize()),
                          access.getMode(), access.getBuffer(),
                          access.getDtype(), 0});
    }
    table.addEntry(function->first, entry.getStableName(),
                   locationText(entry.getLoc()), operands, entry.getScalars(),
                   function->second);
    return success();
  }

  LogicalResult addProgram(rt::ProgramOp program) {
    int64_t kind = program.getKind();
    if (kind < 0 || kind >= TTS_NUM_PROGRAM_KINDS)
      return program.emitError("kind ") << kind << " is no TtsProgramKind";
    table.beginProgram(kProgramNames[kind], static_cast<TtsProgramKind>(kind),
                       indexOr(program.getBucket(), TTS_NO_BUCKET),
                       static_cast<uint32_t>(program.getSlot()));
    for (Operation &op : program.getBody().front()) {
      auto entry = dyn_cast<rt::EntryOp>(op);
      if (!entry)
        return op.emitError("is no rt.entry");
      if (failed(addEntry(entry)))
        return failure();
    }
    return success();
  }

  void addBuffer(rt::BufferAttr buffer) {
    bool isPersistent = buffer.getProgram() < 0;
    TtsBuffer record = {};
    record.klass = buffer.getKlass();
    record.program = indexOr(buffer.getProgram(), TTS_NO_BUCKET);
    record.last_program = indexOr(buffer.getLastProgram(), TTS_NO_BUCKET);
    record.first_entry = isPersistent ? 0 : indexOr(buffer.getFirstEntry(), 0);
    record.last_entry =
        isPersistent ? UINT32_MAX : indexOr(buffer.getLastEntry(), UINT32_MAX);
    record.offset = buffer.getOffset();
    record.size = buffer.getSize();
    table.addBuffer(buffer.getName().getValue(), buffer.getLoc().getValue(),
                    record);
  }

  /// The blob, or failure with a diagnostic.
  FailureOr<std::string> build() {
    auto arena = module->getAttrOfType<IntegerAttr>(rt::kArenaAttr);
    auto buffers = module->getAttrOfType<ArrayAttr>(rt::kBuffersAttr);
    auto manifest = module->getAttrOfType<DictionaryAttr>(rt::kManifestAttr);
    if (!arena || !buffers || !manifest)
      return module.emitError("lacks ")
             << rt::kArenaAttr << ", " << rt::kBuffersAttr << " or "
             << rt::kManifestAttr << "; run tts-memory first";
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>())
      if (failed(addProgram(program)))
        return failure();
    for (Attribute buffer : buffers)
      addBuffer(cast<rt::BufferAttr>(buffer));
    std::string json;
    llvm::raw_string_ostream(json) << toJson(manifest);
    return table.write(arena.getInt(), json);
  }
};

void emitTable(OpBuilder &builder, Location loc, StringRef name,
               StringRef blob) {
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), blob.size());
  auto table = LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/true, LLVM::Linkage::External, name,
      builder.getStringAttr(blob), TTS_ARENA_ALIGNMENT);
  table.setSection(TTS_TABLE_SECTION);
}

/// A constant whose parts are addresses: by position, symbols or null.
void emitAddresses(OpBuilder &builder, Location loc, StringRef name, Type type,
                   ArrayRef<std::pair<SmallVector<int64_t>, StringRef>> parts) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto global =
      LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                             LLVM::Linkage::External, name, Attribute());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&global.getInitializerRegion());
  Value value = LLVM::ZeroOp::create(builder, loc, type);
  for (auto &[position, symbol] : parts) {
    Value address = LLVM::AddressOfOp::create(builder, loc, pointer, symbol);
    value = LLVM::InsertValueOp::create(builder, loc, value, address, position);
  }
  LLVM::ReturnOp::create(builder, loc, value);
}

void emitKernels(OpBuilder &builder, Location loc, StringRef name,
                 ArrayRef<Operation *> kernels) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<std::pair<SmallVector<int64_t>, StringRef>> parts;
  for (auto [index, kernel] : llvm::enumerate(kernels))
    if (kernel)
      parts.push_back(
          {{int64_t(index)}, SymbolTable::getSymbolName(kernel).getValue()});
  emitAddresses(builder, loc, name,
                LLVM::LLVMArrayType::get(pointer, kernels.size()), parts);
}

std::string nameOfRole(StringRef name, int64_t role) {
  return role == 0 ? name.str() : (name + ".r" + Twine(role)).str();
}

/// `tts_roles`: table and kernels of each, those of the others declared.
void emitRoles(OpBuilder &builder, Location loc, int64_t count) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type record = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                 {pointer, pointer});
  SmallVector<std::string> names;
  for (int64_t role = 0; role < count; ++role)
    for (StringRef name : {"tts_table", "tts_kernels"}) {
      names.push_back(nameOfRole(name, role));
      if (role > 0)
        LLVM::GlobalOp::create(builder, loc, pointer, /*isConstant=*/true,
                               LLVM::Linkage::External, names.back(),
                               Attribute());
    }
  SmallVector<std::pair<SmallVector<int64_t>, StringRef>> parts;
  for (auto [index, name] : llvm::enumerate(names))
    parts.push_back({{int64_t(index / 2), int64_t(index % 2)}, name});
  emitAddresses(builder, loc, "tts_roles",
                LLVM::LLVMArrayType::get(record, count), parts);
  auto number = [&](StringRef name, uint32_t value) {
    LLVM::GlobalOp::create(builder, loc, builder.getI32Type(),
                           /*isConstant=*/true, LLVM::Linkage::External, name,
                           builder.getI32IntegerAttr(value));
  };
  number("tts_num_roles", count);
  number("tts_abi_version", TTS_ABI_VERSION);
}

/// Roles are linked together: what another than the first defines is called
/// after it.
void renameForRole(ModuleOp module, int64_t role) {
  llvm::DenseMap<StringAttr, StringAttr> names;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!isa<LLVM::GlobalOp>(op) && (!function || function.isExternal()))
      continue;
    auto name = SymbolTable::getSymbolName(&op);
    auto renamed = StringAttr::get(module.getContext(), nameOfRole(name, role));
    names[name] = renamed;
    SymbolTable::setSymbolName(&op, renamed);
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](SymbolRefAttr reference) -> std::optional<Attribute> {
        StringAttr renamed = names.lookup(reference.getRootReference());
        if (!renamed)
          return std::nullopt;
        return FlatSymbolRefAttr::get(renamed);
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true);
}

int64_t getNumber(ModuleOp module, StringRef name, int64_t absent) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : absent;
}

struct RtToLLVM : tts::impl::RtToLLVMPassBase<RtToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    TableBuilder table(module);
    auto blob = table.build();
    if (failed(blob))
      return signalPassFailure();

    for (auto program :
         llvm::make_early_inc_range(module.getOps<rt::ProgramOp>()))
      program.erase();
    int64_t role = getNumber(module, rt::kRoleAttr, 0);
    int64_t roles = getNumber(module, rt::kRolesAttr, 1);
    SmallVector<StringAttr> ours;
    for (NamedAttribute attribute : module->getAttrs())
      if (attribute.getName().getValue().starts_with("rt.") ||
          attribute.getName().getValue().starts_with("tts."))
        ours.push_back(attribute.getName());
    for (StringAttr name : ours)
      module->removeAttr(name);

    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    Location loc = module.getLoc();
    emitTable(builder, loc, "tts_table", *blob);
    emitKernels(builder, loc, "tts_kernels", table.kernels);
    if (role == 0)
      emitRoles(builder, loc, roles);
    else
      renameForRole(module, role);
  }
};

} // namespace
