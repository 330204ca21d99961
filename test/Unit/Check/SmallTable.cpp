// Builds the small table: states at 0, scalars at 1280, batch at 1664,
// transients from 1920.
#include "SmallTable.h"
#include <algorithm>

#include <cstring>

using nlohmann::json;

static constexpr const char *anyHash = "00ff";

SmallTable::SmallTable(bool updateInBackward, bool isStage)
    : numBuckets(updateInBackward ? 1 : 2), numSlots(isStage ? 2 : 1) {
  addPersistent();
  if (isStage)
    arenaBytes = 2880; // squares at 2304, outbox at 2368, slot 1's from 2624
  if (updateInBackward)
    buffers.erase(buffers.begin() + buffer("w.gradient"));
  addPrograms();
  addManifest();
  if (updateInBackward)
    tellUpdateInBackward();
  if (isStage)
    tellStage();
  listBuffers();
}

uint32_t SmallTable::text(const std::string &name) {
  const uint32_t offset = uint32_t(strings.size());
  strings += name;
  strings += '\0';
  return offset;
}

void SmallTable::addPersistent() {
  struct {
    const char *name;
    uint32_t klass;
    uint64_t offset, size;
  } const all[] = {{"w", TTS_CLASS_PARAMETERS, 0, 256},
                   {"w.gradient", TTS_CLASS_GRADIENTS, 256, 256},
                   {"w.moment1", TTS_CLASS_OPTIMIZER, 512, 256},
                   {"w.moment2", TTS_CLASS_OPTIMIZER, 768, 256},
                   {"w.ema", TTS_CLASS_EMA, 1024, 256},
                   {"draw", TTS_CLASS_BUFFERS, 1280, 16},
                   {"loss_weight.mel", TTS_CLASS_BUFFERS, 1344, 4},
                   {"loss_sum.mel", TTS_CLASS_BUFFERS, 1408, 4},
                   {"denominator.mel", TTS_CLASS_BUFFERS, 1472, 4},
                   {"optimizer", TTS_CLASS_BUFFERS, 1536, 32},
                   {"grad_norm", TTS_CLASS_BUFFERS, 1600, 4},
                   {"batch", TTS_CLASS_BATCH, 1664, 256},
                   {"squares", TTS_CLASS_BUFFERS, 2304, 4},
                   {"outbox", TTS_CLASS_COLLECTIVES, 2368, 256}};
  const size_t own = std::size(all) - (numSlots > 1 ? 0 : 2);
  for (size_t i = 0; i < own; ++i) {
    const auto &each = all[i];
    buffers.push_back({text(each.name), text("model.mlir"), each.klass,
                       TTS_NO_BUCKET, TTS_NO_BUCKET, 0, UINT32_MAX, 0,
                       each.offset, each.size});
  }
}

uint32_t SmallTable::beginProgram(const std::string &name, uint32_t kind,
                                  uint32_t bucket, uint32_t slot) {
  programs.push_back(
      {text(name), kind, bucket, uint32_t(entries.size()), 0, slot});
  return uint32_t(programs.size() - 1);
}

/// A buffer live at the entry that is added next, and at no other yet.
uint32_t SmallTable::addTransient(const std::string &name, uint32_t klass,
                                  uint64_t offset, uint64_t size) {
  const uint32_t program = uint32_t(programs.size() - 1);
  const uint32_t entry = programs.back().num_entries;
  buffers.push_back({text(name), text("model.mlir:7"), klass, program, program,
                     entry, entry, 0, offset, size});
  return uint32_t(buffers.size() - 1);
}

void SmallTable::addEntry(const std::string &function,
                          const std::vector<Use> &uses,
                          const std::vector<int64_t> &numbers) {
  const bool library = function.rfind("rt.", 0) == 0;
  auto known = functionIndex.find(function);
  if (known == functionIndex.end()) {
    known = functionIndex.insert({function, uint32_t(functions.size())}).first;
    functions.push_back(
        {text(function), library ? TTS_FUNCTION_LIBRARY : TTS_FUNCTION_KERNEL});
  }
  const uint32_t program = uint32_t(programs.size() - 1);
  const uint32_t index = programs.back().num_entries++;
  entries.push_back({known->second, text("op." + function),
                     text("model.mlir:9"), uint32_t(operands.size()),
                     uint32_t(uses.size()), uint32_t(scalars.size()),
                     uint32_t(numbers.size()), library ? 0u : 8u});
  scalars.insert(scalars.end(), numbers.begin(), numbers.end());
  for (const Use &use : uses) {
    TtsBuffer &buffer = buffers[use.buffer];
    const long place = &use - uses.data();
    const bool sends = function == "rt.send" || function == "rt.all_reduce";
    const bool scratch = library && place == (sends ? 1 : 3);
    operands.push_back({buffer.offset, use.size ? use.size : buffer.size,
                        use.access, use.buffer,
                        uint32_t(scratch ? TTS_BYTES : TTS_F32), 0});
    if (buffer.program != TTS_NO_BUCKET) {
      buffer.last_program = program;
      buffer.last_entry = index;
    }
  }
}

/// gradient[8x8] := beta·gradient + delta[8x1] · batch[1x8], 64 bytes of
/// scratch
static std::vector<int64_t> gemmNumbers(int64_t beta) {
  return {TTS_F32, 8, 8, 1, 1, 8, 8, 0, 0, beta, 1, 0, 0, 0, TTS_F32, 0, 64};
}

void SmallTable::addBucket(uint32_t bucket) {
  const uint64_t size = 128 * (bucket + 1);
  beginProgram("denominators", TTS_PROGRAM_DENOMINATORS, bucket);
  addEntry("count", {{buffer("batch"), TTS_READ, size},
                     {buffer("denominator.mel"), TTS_WRITE}});
  for (uint32_t slot = 0; slot < numSlots; ++slot)
    addForward(bucket, slot);
  for (uint32_t slot = 0; slot < numSlots; ++slot)
    addBackward(bucket, slot);
}

static std::string stashName(uint32_t bucket, uint32_t slot) {
  return (slot ? "later" : "stash") + std::to_string(bucket);
}

void SmallTable::addForward(uint32_t bucket, uint32_t slot) {
  const uint64_t size = 128 * (bucket + 1);
  const std::string suffix = std::to_string(bucket);
  const uint32_t w = buffer("w"), batch = buffer("batch"),
                 sum = buffer("loss_sum.mel");
  beginProgram("forward", TTS_PROGRAM_FORWARD, bucket, slot);
  const uint32_t stash = addTransient(
      stashName(bucket, slot), TTS_CLASS_ACTIVATIONS, slot ? 2624 : 1920, size);
  const uint32_t scratch =
      addTransient("forward.scratch", TTS_CLASS_WORKSPACE, 2176, 64);
  addEntry("mul" + suffix, {{w, TTS_READ},
                            {batch, TTS_READ, size},
                            {stash, TTS_WRITE},
                            {scratch, TTS_WRITE}});
  addEntry("loss" + suffix, {{stash, TTS_READ},
                             {batch, TTS_READ, size},
                             {scratch, TTS_READ},
                             {sum, TTS_WRITE}});
  if (numSlots > 1)
    addEntry("rt.send",
             {{stash, TTS_READ}, {buffer("outbox"), TTS_WRITE, size}},
             {1, 10 + bucket});
}

void SmallTable::addBackward(uint32_t bucket, uint32_t slot) {
  const std::string suffix = std::to_string(bucket);
  const uint32_t stash = buffer(stashName(bucket, slot)),
                 batch = buffer("batch");
  beginProgram("backward", TTS_PROGRAM_BACKWARD, bucket, slot);
  if (numSlots > 1)
    addEntry("rt.recv",
             {{addTransient("incoming", TTS_CLASS_ACTIVATIONS, 2240, 64),
               TTS_WRITE}},
             {1, 20 + bucket});
  const uint32_t delta = addTransient("delta", TTS_CLASS_ACTIVATIONS, 2176, 64);
  addEntry("lossgrad" + suffix, {{stash, TTS_READ},
                                 {buffer("loss_weight.mel"), TTS_READ},
                                 {delta, TTS_WRITE}});
  if (numBuckets == 1)
    return addUpdatingBackward();
  const uint32_t gemm =
      addTransient("gemm.scratch", TTS_CLASS_WORKSPACE, 2240, 64);
  addEntry("rt.gemm",
           {{delta, TTS_READ, 32},
            {batch, TTS_READ, 32},
            {buffer("w.gradient"), TTS_READ_WRITE},
            {gemm, TTS_WRITE}},
           gemmNumbers(1));
}

/// A first contribution to the gradient, a reader of w, a second one, the
/// update with what it gives, the norm, and an entry behind them.
void SmallTable::addUpdatingBackward() {
  const uint32_t delta = buffer("delta"), batch = buffer("batch");
  uint32_t gradient = 0;
  for (int64_t beta : {0, 1}) {
    if (beta == 0)
      gradient = addTransient("gradient", TTS_CLASS_ACTIVATIONS, 1920, 256);
    const uint32_t scratch =
        addTransient("gemm.scratch", TTS_CLASS_WORKSPACE, 2240, 64);
    addEntry("rt.gemm",
             {{delta, TTS_READ, 32},
              {batch, TTS_READ, 32},
              {gradient, beta ? TTS_READ_WRITE : TTS_WRITE},
              {scratch, TTS_WRITE}},
             gemmNumbers(beta));
    if (beta == 0)
      addEntry(
          "inputgrad",
          {{buffer("w"), TTS_READ},
           {delta, TTS_READ},
           {addTransient("dx", TTS_CLASS_ACTIVATIONS, 2240, 64), TTS_WRITE}});
  }
  addEntry("adamw", {{buffer("optimizer"), TTS_READ},
                     {gradient, TTS_READ},
                     {buffer("w"), TTS_READ_WRITE},
                     {buffer("w.moment1"), TTS_READ_WRITE},
                     {buffer("w.moment2"), TTS_READ_WRITE}});
  addEntry("ema", {{buffer("w"), TTS_READ}, {buffer("w.ema"), TTS_READ_WRITE}});
  addEntry("norm", {{gradient, TTS_READ}, {buffer("grad_norm"), TTS_WRITE}});
  addEntry("behind", {{delta, TTS_READ},
                      {addTransient("tail", TTS_CLASS_ACTIVATIONS, 2240, 64),
                       TTS_WRITE}});
}

/// gradient[8x8] := delta[8x1] * batch[1x8]
void SmallTable::makeConvolutions() {
  const uint32_t gemm = functionIndex.at("rt.gemm");
  functions[gemm].name = text("rt.conv1d");
  for (TtsEntry &entry : entries) {
    if (entry.function != gemm)
      continue;
    const int64_t numbers[] = {TTS_F32, 1, 8, 1, 8, 1, 0, 0, TTS_F32, 0, 0, 64};
    entry.num_scalars = TTS_CONV1D_NUM_SCALARS;
    std::copy(std::begin(numbers), std::end(numbers),
              scalars.begin() + entry.first_scalar);
  }
}

TtsEntry &SmallTable::makeAllReduce() {
  const uint32_t norm = functionIndex.at("norm");
  functions[norm] = {text("rt.all_reduce"), TTS_FUNCTION_LIBRARY};
  TtsEntry &entry =
      *std::find_if(entries.begin(), entries.end(),
                    [&](const TtsEntry &e) { return e.function == norm; });
  entry.range = 0;
  operands[entry.first_operand].access = TTS_READ_WRITE;
  const TtsBuffer &ema = buffers[buffer("w.ema")];
  operands[entry.first_operand + 1] = {ema.offset,      ema.size,  TTS_WRITE,
                                       buffer("w.ema"), TTS_BYTES, 0};
  return entry;
}

TtsEntry &SmallTable::makeShardCall(const std::string &function,
                                    const std::vector<int64_t> &numbers) {
  TtsEntry &entry = makeAllReduce();
  functions[entry.function].name = text(function);
  entry.first_scalar = uint32_t(scalars.size());
  entry.num_scalars = uint32_t(numbers.size());
  scalars.insert(scalars.end(), numbers.begin(), numbers.end());
  manifest["ranks"] = 2;
  return entry;
}

void SmallTable::addUpdate() {
  beginProgram("update", TTS_PROGRAM_UPDATE, TTS_NO_BUCKET);
  if (numSlots > 1)
    addEntry(
        "rt.all_reduce",
        {{buffer("squares"), TTS_READ_WRITE},
         {addTransient("room", TTS_CLASS_COLLECTIVES, 1920, 64), TTS_WRITE}},
        {TTS_AMONG_STAGES});
  addEntry("norm", {{buffer("w.gradient"), TTS_READ},
                    {buffer("grad_norm"), TTS_WRITE}});
  addEntry("adamw", {{buffer("optimizer"), TTS_READ},
                     {buffer("grad_norm"), TTS_READ},
                     {buffer("w.gradient"), TTS_READ},
                     {buffer("w"), TTS_READ_WRITE},
                     {buffer("w.moment1"), TTS_READ_WRITE},
                     {buffer("w.moment2"), TTS_READ_WRITE},
                     {buffer("w.ema"), TTS_READ_WRITE}});
}

void SmallTable::addPrograms() {
  if (numBuckets > 1) {
    beginProgram("zero", TTS_PROGRAM_ZERO, TTS_NO_BUCKET);
    addEntry("zero", {{buffer("w.gradient"), TTS_WRITE}});
  }
  for (uint32_t bucket = 0; bucket < numBuckets; ++bucket)
    addBucket(bucket);
  if (numBuckets > 1)
    addUpdate();
  for (uint32_t bucket = 0; bucket < numBuckets; ++bucket) {
    const uint64_t size = 128 * (bucket + 1);
    beginProgram("eval", TTS_PROGRAM_EVAL, bucket);
    const uint32_t mel = addTransient("mel" + std::to_string(bucket),
                                      TTS_CLASS_ACTIVATIONS, 1920, size);
    addEntry("predict" + std::to_string(bucket),
             {{buffer("w"), TTS_READ},
              {buffer("batch"), TTS_READ, size},
              {mel, TTS_WRITE}});
    addEntry("count", {{buffer("batch"), TTS_READ, size},
                       {buffer("denominator.mel"), TTS_WRITE}});
    addEntry("score" + std::to_string(bucket),
             {{mel, TTS_READ}, {buffer("loss_sum.mel"), TTS_WRITE}});
  }
}

void SmallTable::addInfer() {
  for (uint32_t bucket : {0u, 1u}) {
    const uint64_t size = 64 * (bucket + 1);
    const std::string suffix = std::to_string(bucket);
    beginProgram("infer", TTS_PROGRAM_INFER, bucket);
    const uint32_t hidden = addTransient("infer.hidden" + suffix,
                                         TTS_CLASS_ACTIVATIONS, 1984, size);
    addEntry("read" + suffix, {{buffer("w"), TTS_READ},
                               {buffer("batch"), TTS_READ, size},
                               {hidden, TTS_WRITE}});
    const uint32_t speech = addTransient(
        "speech" + suffix, TTS_CLASS_ACTIVATIONS, 1984 + size, size);
    addEntry("speak" + suffix, {{hidden, TTS_READ}, {speech, TTS_WRITE}});
    manifest["buckets"][bucket]["infer_inputs"] = {
        {{"name", "text"}, {"offset", 1664}, {"size", size}}};
    manifest["outputs"].push_back({{"name", "mel"},
                                   {"bucket", bucket},
                                   {"program", "infer"},
                                   {"offset", 1984 + size},
                                   {"size", size}});
  }
  listBuffers();
}

void SmallTable::addPrefetch() {
  for (uint32_t bucket : {0u, 1u}) {
    const std::string suffix = std::to_string(bucket);
    beginProgram("infer", TTS_PROGRAM_INFER, bucket);
    const uint32_t whole =
        addTransient("whole" + suffix, TTS_CLASS_ACTIVATIONS, 1984, 64);
    const uint32_t room =
        addTransient("room" + suffix, TTS_CLASS_COLLECTIVES, 2112, 64);
    addEntry(
        "rt.all_gather",
        {{buffer("w"), TTS_READ, 32}, {whole, TTS_WRITE}, {room, TTS_WRITE}},
        {2, 1});
    operands.back().dtype = TTS_BYTES;
    const uint32_t hidden =
        addTransient("hidden" + suffix, TTS_CLASS_ACTIVATIONS, 2048, 64);
    addEntry("read", {{buffer("batch"), TTS_READ, 64}, {hidden, TTS_WRITE}});
    buffers[room].last_entry = 1; // the link is at it
    const uint32_t speech =
        addTransient("speech" + suffix, TTS_CLASS_ACTIVATIONS, 2176, 64);
    addEntry("speak",
             {{whole, TTS_READ}, {hidden, TTS_READ}, {speech, TTS_WRITE}});
    manifest["buckets"][bucket]["infer_inputs"] = {
        {{"name", "text"}, {"offset", 1664}, {"size", 64}}};
    manifest["outputs"].push_back({{"name", "mel"},
                                   {"bucket", bucket},
                                   {"program", "infer"},
                                   {"offset", 2176},
                                   {"size", 64}});
  }
  manifest["ranks"] = 2;
  listBuffers();
}

void SmallTable::addOperand(uint32_t program, uint32_t entry, Use use) {
  TtsEntry &changed = entries[programs[program].first_entry + entry];
  const uint32_t index = changed.first_operand + changed.num_operands++;
  const TtsBuffer &buffer = buffers[use.buffer];
  operands.insert(
      operands.begin() + index,
      {buffer.offset, buffer.size, use.access, use.buffer, TTS_F32, 0});
  for (TtsEntry &other : entries)
    if (&other != &changed && other.first_operand >= index)
      ++other.first_operand;
}

void SmallTable::addState() {
  for (const auto &[name, klass] :
       {std::pair("mean", TTS_CLASS_PARAMETERS),
        std::pair("next:mean", TTS_CLASS_BUFFERS)}) {
    buffers.push_back({text(name), text("model.mlir"), uint32_t(klass),
                       TTS_NO_BUCKET, TTS_NO_BUCKET, 0, UINT32_MAX, 0,
                       arenaBytes, 64});
    arenaBytes += 64;
  }
  const uint32_t mean = buffer("mean"), next = buffer("next:mean");
  for (uint32_t bucket : {0u, 1u}) {
    addOperand(program("forward", bucket), 0, {mean, TTS_READ});
    addOperand(program("forward", bucket), 0, {next, TTS_WRITE});
  }
  const uint32_t update = program("update", TTS_NO_BUCKET);
  addOperand(update, 1, {next, TTS_READ});
  addOperand(update, 1, {mean, TTS_READ_WRITE});
  json state{{"name", "mean"}, {"size", 64}, {"frozen", false}};
  state["offset"] = buffers[mean].offset;
  state["next"] = {{"offset", buffers[next].offset}, {"size", 64}};
  manifest["parameters"].push_back(state);
  for (json *told : {&manifest, &certificate}) {
    (*told)["arena_bytes"] = arenaBytes;
    (*told)["peak_bytes"] = 3304 + 128;
  }
  certificate["lower_bound_bytes"] = 1920 + 128;
  certificate["classes"]["parameters"] = 256 + 64;
  certificate["classes"]["buffers"] = 64 + 64;
  listBuffers();
}

void SmallTable::addFolds() {
  buffers.push_back({text("w.partial"), text("model.mlir"), TTS_CLASS_GRADIENTS,
                     TTS_NO_BUCKET, TTS_NO_BUCKET, 0, UINT32_MAX, 0, arenaBytes,
                     256});
  arenaBytes += 256;
  const uint32_t gradient = buffer("w.gradient"), partial = buffer("w.partial");
  beginProgram("fold.0", TTS_PROGRAM_FOLD, TTS_NO_BUCKET);
  addEntry("aside", {{gradient, TTS_READ}, {partial, TTS_WRITE}});
  addEntry("clear", {{gradient, TTS_WRITE}});
  beginProgram("fold.1", TTS_PROGRAM_FOLD + 1, TTS_NO_BUCKET);
  addEntry("sum", {{partial, TTS_READ}, {gradient, TTS_READ_WRITE}});
  manifest["groups"] = 2;
  manifest["ranks"] = 1;
  for (json *told : {&manifest, &certificate}) {
    (*told)["arena_bytes"] = arenaBytes;
    (*told)["peak_bytes"] = 3304 + 256;
  }
  certificate["lower_bound_bytes"] = 1920 + 256;
  certificate["classes"]["gradients"] = 256 + 256;
  listBuffers();
}

void SmallTable::addManifest() {
  auto place = [&](const char *name) {
    const TtsBuffer &b = buffers[buffer(name)];
    return json{{"name", name}, {"offset", b.offset}, {"size", b.size}};
  };
  manifest = {{"version", 1},
              {"model_hash", "abc"},
              {"batch", 16},
              {"precision", "fp32"},
              {"arena_bytes", arenaBytes},
              {"peak_bytes", 3304},
              {"overhead_bytes", 1000},
              {"host_buffer_bytes", 500},
              {"budget_bytes", 4000}};
  json w = place("w");
  w["frozen"] = false;
  if (numBuckets > 1)
    w["gradient"] = place("w.gradient");
  w["moment1"] = place("w.moment1");
  w["moment2"] = place("w.moment2");
  w["ema"] = place("w.ema");
  manifest["parameters"] = {w};
  for (const char *name : {"draw", "loss_weight.mel", "loss_sum.mel",
                           "denominator.mel", "optimizer", "grad_norm"})
    manifest["scalars"].push_back(place(name));
  for (uint32_t bucket = 0; bucket < numBuckets; ++bucket) {
    const int64_t size = 128 * (bucket + 1);
    manifest["buckets"].push_back(
        {{"dims", {{"frames", 100 * (bucket + 1)}}},
         {"micro_batch", 4},
         {"inputs", {{{"name", "x"}, {"offset", 1664}, {"size", size}}}}});
    manifest["outputs"].push_back({{"name", "mel"},
                                   {"bucket", bucket},
                                   {"offset", 1920},
                                   {"size", size}});
  }
  certificate = {{"version", 1},
                 {"hashes", {{"executable", anyHash}, {"model", "abc"}}},
                 {"batch", 16},
                 {"precision", "fp32"},
                 {"arena_bytes", arenaBytes},
                 {"peak_bytes", 3304},
                 {"budget_bytes", 4000},
                 {"lower_bound_bytes", 1920},
                 {"buckets", json::array()}};
  for (const json &bucket : manifest["buckets"])
    certificate["buckets"].push_back(
        {{"dims", bucket["dims"]}, {"micro_batch", bucket["micro_batch"]}});
  // Most is live in forward[1] (stash 256, scratch 64), first of two moments
  // with as many bytes; backward[1] has them in activations alone.
  certificate["classes"] = {
      {"parameters", 256}, {"half_copies", 0}, {"gradients", 256},
      {"optimizer", 512},  {"ema", 256},       {"activations", 256},
      {"batch", 256},      {"workspace", 64},  {"collectives", 0},
      {"buffers", 64},     {"unused", 384},    {"overhead", 1000}};
}

/// Most is live at the first gemm: delta, gradient and scratch.
void SmallTable::tellUpdateInBackward() {
  for (json *told : {&manifest, &certificate}) {
    (*told)["update_in_backward"] = true;
    (*told)["buckets"][0]["micro_batch"] = 16;
  }
  certificate["lower_bound_bytes"] = 1728;
  certificate["classes"]["gradients"] = 0;
  certificate["classes"]["activations"] = 320;
  certificate["classes"]["unused"] = 576;
}

/// Most is live at the first entry of forward[1] in slot 1: both stashes and
/// the scratch.
void SmallTable::tellStage() {
  manifest["ranks"] = 2;
  manifest["stages"] = {{"count", 2}, {"index", 0}, {"slots", 2}};
  for (json *told : {&manifest, &certificate})
    (*told)["peak_bytes"] = 3880;
  certificate["lower_bound_bytes"] = 1600 + 260 + 576;
  certificate["classes"]["activations"] = 512;
  certificate["classes"]["collectives"] = 256;
  certificate["classes"]["buffers"] = 68;
  certificate["classes"]["unused"] = 444;
}

void SmallTable::listBuffers() {
  static const char *const classes[] = {
      "parameters",  "half_copies", "gradients", "optimizer",   "ema",
      "activations", "batch",       "workspace", "collectives", "buffers"};
  certificate["buffers"] = json::array();
  for (const TtsBuffer &b : buffers) {
    std::string program = "persistent";
    if (b.program != TTS_NO_BUCKET) {
      program = strings.c_str() + programs[b.program].name;
      if (programs[b.program].bucket != TTS_NO_BUCKET)
        program += "[" + std::to_string(programs[b.program].bucket) + "]";
      if (programs[b.program].slot)
        program += "." + std::to_string(programs[b.program].slot);
    }
    certificate["buffers"].push_back({{"name", strings.c_str() + b.name},
                                      {"loc", strings.c_str() + b.loc},
                                      {"class", classes[b.klass]},
                                      {"program", program},
                                      {"offset", b.offset},
                                      {"size", b.size}});
  }
}

uint32_t SmallTable::buffer(const std::string &name) const {
  for (uint32_t b = 0; b < buffers.size(); ++b)
    if (strings.c_str() + buffers[b].name == name)
      return b;
  return UINT32_MAX;
}

uint32_t SmallTable::program(const std::string &name, uint32_t bucket) const {
  for (uint32_t p = 0; p < programs.size(); ++p)
    if (strings.c_str() + programs[p].name == name &&
        programs[p].bucket == bucket)
      return p;
  return UINT32_MAX;
}

void SmallTable::removeOperand(uint32_t index) {
  operands.erase(operands.begin() + index);
  for (TtsEntry &entry : entries)
    if (entry.first_operand > index)
      --entry.first_operand;
    else if (entry.first_operand + entry.num_operands > index)
      --entry.num_operands;
}

void SmallTable::removeBuffer(uint32_t index) {
  buffers.erase(buffers.begin() + index);
  for (TtsOperand &operand : operands)
    if (operand.buffer == index)
      operand.buffer = 0; // whose bytes are others
    else if (operand.buffer > index)
      --operand.buffer;
  listBuffers();
}

tts::check::Bytes SmallTable::blob() const {
  tts::check::Bytes bytes(sizeof(TtsTableHeader));
  auto append = [&](const void *data, size_t count, size_t size) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    const TtsRange range = {bytes.size(), count};
    bytes.resize(bytes.size() + count * size);
    if (count > 0)
      std::memcpy(bytes.data() + range.offset, data, count * size);
    return range;
  };
  TtsTableHeader header = {};
  std::memcpy(header.magic, TTS_TABLE_MAGIC, sizeof(header.magic));
  header.version = TTS_TABLE_VERSION;
  header.header_bytes = sizeof(header);
  header.arena_bytes = arenaBytes;
  auto records = [&](const auto &all) {
    return append(all.data(), all.size(), sizeof(all[0]));
  };
  header.functions = records(functions);
  header.programs = records(programs);
  header.entries = records(entries);
  header.operands = records(operands);
  header.scalars = records(scalars);
  header.buffers = records(buffers);
  header.strings = records(strings);
  header.manifest = records(manifest.dump());
  header.total_bytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

tts::check::Report SmallTable::check() const {
  tts::check::Report report;
  tts::check::checkTable(blob(), certificate.dump(), anyHash, report);
  return report;
}
