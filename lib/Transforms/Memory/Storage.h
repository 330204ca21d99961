//===- Storage.h - which values share bytes -------------------------------===//
//
// A storage is a run of bytes with one owner: a persistent tensor (state,
// input, run-time scalar), a stash, or a value of one program. Every tensor
// value of a program is a part of one storage.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_TRANSFORMS_MEMORY_STORAGE_H
#define TTS_LIB_TRANSFORMS_MEMORY_STORAGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

namespace tts::memory {

/// What outlives an entry, and how the runtime knows it.
enum class Role {
  Parameter,
  Gradient,
  Partial,
  Messages,
  Moment1,
  Moment2,
  Ema,
  HalfCopy,
  Next,
  Scalar,
  Input,
  Stash,
  Output,
  None
};

struct Storage {
  std::string name; ///< of the tensor, or of the op that makes it
  std::string loc;
  int64_t size = 0;
  Role role = Role::None;
  mlir::RankedTensorType type; ///< persistent: as first seen
  /// Of a rank's shard of a state: the extents of the whole; else null.
  mlir::DenseI64ArrayAttr shardOf;
  int64_t offset = -1; ///< in the arena, after packing
  int64_t begin = -1;  ///< first position of its timeline
  int64_t end = -1;    ///< last one, inclusive
  int timeline = -1;   ///< -1: persistent
  bool isScratch = false;
  bool isMessages = false;       ///< scratch for what is sent to other ranks
  Storage *mergedInto = nullptr; ///< an operand whose bytes it takes over

  bool isPersistent() const {
    return role != Role::None && role != Role::Stash && role != Role::Output;
  }
  Storage *resolve() { return mergedInto ? mergedInto->resolve() : this; }
};

/// A value's place: `offset` bytes into its storage.
struct Place {
  Storage *storage = nullptr;
  int64_t offset = 0;
};

/// One program: its entries in order of execution, its values' places.
struct Program {
  mlir::func::FuncOp func;
  int64_t kind = 0;
  int64_t bucket = -1;
  llvm::SmallVector<mlir::Operation *> entries;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Operation *, Storage *> scratch; ///< of gemms
  /// Of an entry that writes a new value of a persistent tensor, not in place:
  /// the old values, which others read before.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> overwrites;
  int timeline = -1;
  int64_t firstPosition = 0; ///< of its first entry in its timeline
  int64_t index = -1;        ///< among the module's rt.programs, of slot 0
  int64_t numSends = 0;
  int64_t slots = 1; ///< micro-batches that are under way at a time

  Place place(mlir::Value value) const {
    Place found = places.lookup(value);
    return {found.storage->resolve(), found.offset};
  }
};

/// The storages of a module; owns them.
class StorageTable {
public:
  /// Gives every value of `program` a place, binds results to what outlives
  /// the program. Fails where a result would need a copy.
  llvm::LogicalResult assign(Program &program);

  llvm::MapVector<std::pair<Role, mlir::StringAttr>, Storage *> &
  getPersistent() {
    return persistent;
  }
  std::deque<Storage> &getAll() { return storages; }

private:
  Storage *create(mlir::Location loc, mlir::RankedTensorType type);
  Storage *getBound(Program &program, Role role, mlir::StringAttr name,
                    mlir::RankedTensorType type, mlir::Location loc);
  llvm::LogicalResult assignArguments(Program &program);
  void assignOp(Program &program, mlir::Operation *op);
  llvm::LogicalResult bindResults(Program &program);

  std::deque<Storage> storages;
  llvm::MapVector<std::pair<Role, mlir::StringAttr>, Storage *> persistent;
  /// Stashes by bucket and name.
  llvm::DenseMap<std::pair<int64_t, mlir::StringAttr>, Storage *> stashes;
};

/// Bytes of a tensor.
int64_t getBytes(mlir::RankedTensorType type);

/// The role that a program's argument or result attributes give it.
std::pair<Role, mlir::StringAttr> getRole(mlir::DictionaryAttr attributes);

/// The operand of `op` whose storage is overwritten by result `index`, or null.
mlir::Value getOverwritten(mlir::Operation *op, unsigned index);

/// rt.alias and rt.slice: bytes of their operand, no entry of their own.
bool isView(mlir::Operation *op);
/// Kernels, library calls, collectives: rows of the step table.
bool isEntry(mlir::Operation *op);

} // namespace tts::memory

#endif // TTS_LIB_TRANSFORMS_MEMORY_STORAGE_H
