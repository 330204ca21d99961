//===- Format.h - the step table: the bit layout both sides read ---------===//
//
// The compiler writes one relocation-free blob into the ELF section
// `.tts.table` of the executable; the runtime runs it and `tts-check` re-proves
// the certificate from it. Everything is little-endian, every section starts at
// a multiple of eight bytes, functions are indices, never pointers.
//
//   Header | functions | programs | entries | operands | scalars | buffers |
//   strings | manifest (JSON text)
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_FORMAT_H
#define TTS_RUNTIME_FORMAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TTS_TABLE_MAGIC "TTSTABLE"
#define TTS_TABLE_VERSION 2u
#define TTS_TABLE_SECTION ".tts.table"

/// Bytes every buffer's offset is a multiple of (one cache line).
#define TTS_ARENA_ALIGNMENT 64u

/// A range of records: byte offset from the start of the blob, and how many.
typedef struct TtsRange {
  uint64_t offset;
  uint64_t count;
} TtsRange;

typedef struct TtsTableHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes; ///< sizeof(TtsTableHeader)
  uint64_t total_bytes;  ///< of the whole blob
  uint64_t arena_bytes;  ///< what the runtime commits at start
  TtsRange functions;    ///< TtsFunction
  TtsRange programs;     ///< TtsProgram
  TtsRange entries;      ///< TtsEntry
  TtsRange operands;     ///< TtsOperand
  TtsRange scalars;      ///< int64_t
  TtsRange buffers;      ///< TtsBuffer
  TtsRange strings;      ///< bytes; a name is an offset here, NUL-terminated
  TtsRange manifest;     ///< bytes of JSON, see docs/step-table.md
} TtsTableHeader;

enum TtsFunctionKind {
  TTS_FUNCTION_KERNEL =
      0, ///< generated; pointer at the same index of tts_kernels
  TTS_FUNCTION_LIBRARY = 1, ///< the runtime's own, resolved by name at start
};

typedef struct TtsFunction {
  uint32_t name; ///< offset into strings: "mask_8x64x256_f32", "rt.gemm"
  uint32_t kind; ///< TtsFunctionKind
} TtsFunction;

enum TtsProgramKind {
  TTS_PROGRAM_ZERO = 0,         ///< gradients := 0, once per update
  TTS_PROGRAM_DENOMINATORS = 1, ///< per micro-batch, before any forward
  TTS_PROGRAM_FORWARD = 2,
  TTS_PROGRAM_BACKWARD = 3,
  TTS_PROGRAM_UPDATE = 4,
  TTS_PROGRAM_EVAL = 5,
  TTS_PROGRAM_INFER = 6,
  TTS_PROGRAM_FOLD = 7, ///< FOLD + i: after the i-th group of micro-batches
  TTS_NUM_PROGRAM_KINDS = TTS_PROGRAM_FOLD + 4,
};

/// What each kind is called, in their order.
#define TTS_PROGRAM_NAMES                                                      \
  {                                                                            \
    "zero", "denominators", "forward", "backward", "update", "eval", "infer",  \
        "fold.0", "fold.1", "fold.2", "fold.3"                                 \
  }

#define TTS_NO_BUCKET 0xffffffffu

typedef struct TtsProgram {
  uint32_t name;   ///< "forward"
  uint32_t kind;   ///< TtsProgramKind
  uint32_t bucket; ///< index into the manifest's buckets, or TTS_NO_BUCKET
  uint32_t first_entry;
  uint32_t num_entries;
  uint32_t slot; ///< of a pipeline stage's forward or backward; else 0
} TtsProgram;

typedef struct TtsEntry {
  uint32_t function; ///< index into functions
  uint32_t name;     ///< the source op's stable name
  uint32_t loc;      ///< the source location, as text
  uint32_t first_operand;
  uint32_t num_operands;
  uint32_t first_scalar;
  uint32_t num_scalars;
  uint32_t range; ///< a kernel's parallel range is [0, range); 0 for library
} TtsEntry;

enum TtsAccess { TTS_READ = 1, TTS_WRITE = 2, TTS_READ_WRITE = 3 };

enum TtsDType {
  TTS_F32 = 0,
  TTS_F64 = 1,
  TTS_I32 = 2,
  TTS_I64 = 3,
  TTS_BF16 = 4,
  TTS_F16 = 5,
  TTS_BYTES = 6, ///< no numbers that anyone else may read: scratch, flags
};

typedef struct TtsOperand {
  uint64_t offset; ///< first byte touched, from the start of the arena
  uint64_t size;   ///< bytes from there to the last one touched
  uint32_t access; ///< TtsAccess
  uint32_t buffer; ///< index into buffers; [offset, offset+size) lies inside
  uint32_t dtype;  ///< TtsDType of the elements there
  uint32_t reserved;
} TtsOperand;

enum TtsClass {
  TTS_CLASS_PARAMETERS = 0,
  TTS_CLASS_HALF_COPIES,
  TTS_CLASS_GRADIENTS,
  TTS_CLASS_OPTIMIZER,
  TTS_CLASS_EMA,
  TTS_CLASS_ACTIVATIONS,
  TTS_CLASS_BATCH,
  TTS_CLASS_WORKSPACE,
  TTS_CLASS_COLLECTIVES,
  TTS_CLASS_BUFFERS, ///< run-time scalars, metrics, staging
};

/// One live range of one value: bytes [offset, offset+size) of the arena.
/// Persistent buffers (states, batch, scalars) have first_entry = 0 and
/// last_entry = UINT32_MAX; others are live over the closed range of entries
/// of their programs' timeline, first_entry in `program`, last_entry in
/// `last_program` (a stash begins in forward and ends in backward).
typedef struct TtsBuffer {
  uint32_t name;
  uint32_t loc;
  uint32_t klass;        ///< TtsClass
  uint32_t program;      ///< index into programs, or TTS_NO_BUCKET: persistent
  uint32_t last_program; ///< likewise
  uint32_t first_entry;  ///< index within `program`
  uint32_t last_entry;   ///< index within `last_program`, inclusive
  uint32_t reserved;
  uint64_t offset;
  uint64_t size;
} TtsBuffer;

/// Scalars of "rt.gemm": C[i] = beta·C[i] + op(A[i])·op(B[i]) for i < batch;
/// row-major, leading dimensions and strides in elements, operands A, B, C,
/// then the bias and the scratch if there are any. A zero stride_c with
/// beta = 1 sums the batch into one C, in order. With a bias, a row of n, C is
/// (op(A)·op(B) + bias) + beta·C, each sum rounded, and the batch is one.
enum TtsGemmScalar {
  TTS_GEMM_DTYPE = 0, ///< of A and B
  TTS_GEMM_M,
  TTS_GEMM_N,
  TTS_GEMM_K,
  TTS_GEMM_LDA,
  TTS_GEMM_LDB,
  TTS_GEMM_LDC,
  TTS_GEMM_TRANSPOSE_A, ///< A is stored K×M
  TTS_GEMM_TRANSPOSE_B, ///< B is stored N×K
  TTS_GEMM_BETA,        ///< 0 or 1
  TTS_GEMM_BATCH,
  TTS_GEMM_STRIDE_A,
  TTS_GEMM_STRIDE_B,
  TTS_GEMM_STRIDE_C,
  TTS_GEMM_DTYPE_C, ///< of C: that of A and B, or F32; sums are F32 at least
  TTS_GEMM_BIAS,    ///< 1: the fourth operand is added to every row; F32 only
  TTS_GEMM_SCRATCH, ///< bytes of library scratch in the last operand, or 0
  TTS_GEMM_NUM_SCALARS,
};

/// Scalars of "rt.conv1d": Y[b, t] = Σ_j X[b, t + j − left]·W[j] over the rows
/// of the same utterance; operands X [batch, time, in], W [taps, in, out],
/// Y [batch, time, out], the bias if there is one, scratch. Transposed it is
/// the gradient of the input: Y[b, t] = Σ_j X[b, t − j + left]·W[j]ᵀ, W [taps,
/// out, in]. Bias and beta as of "rt.gemm".
enum TtsConv1dScalar {
  TTS_CONV1D_DTYPE = 0, ///< of X and W
  TTS_CONV1D_BATCH,
  TTS_CONV1D_TIME,
  TTS_CONV1D_IN,
  TTS_CONV1D_OUT,
  TTS_CONV1D_TAPS,
  TTS_CONV1D_LEFT,
  TTS_CONV1D_TRANSPOSE,
  TTS_CONV1D_DTYPE_Y, ///< of Y: that of X and W, or F32
  TTS_CONV1D_BETA,    ///< 0 or 1
  TTS_CONV1D_BIAS,    ///< 1: the fourth operand is added to every row; F32 only
  TTS_CONV1D_SCRATCH, ///< bytes of library scratch in the last operand
  TTS_CONV1D_NUM_SCALARS,
};

/// The scalar of "rt.all_reduce", 0 where there is none: over which ranks.
enum TtsAmong {
  TTS_AMONG_ALL = 0,
  TTS_AMONG_REPLICAS = 1, ///< of this rank's pipeline stage
  TTS_AMONG_STAGES = 2,   ///< of this rank's replica of the model
};

/// Scalars of "rt.send" and "rt.recv", a value from one pipeline stage to
/// another of the same replica.
enum TtsMessageScalar {
  TTS_MESSAGE_STAGE = 0, ///< the other one
  TTS_MESSAGE_CHANNEL,   ///< which value of which program, < TTS_MAX_CHANNELS
  TTS_MESSAGE_NUM_SCALARS,
};
#define TTS_MAX_CHANNELS 32768

#ifdef __cplusplus
}
#endif

#endif // TTS_RUNTIME_FORMAT_H
