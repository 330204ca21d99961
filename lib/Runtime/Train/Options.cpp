//===- Options.cpp - the command line, by CLI11 --------------------------===//
//
// Optimizer updates are the only unit of steps; every wrong flag ends with
// exit 2 before anything is read.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Options.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/LossScale.h"
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

namespace tts::rt {

namespace {

[[noreturn]] void usage(const std::string &flag, const std::string &wrong) {
  throw Error(Exit::BadUsage, flag, wrong, "see --help");
}

void addTraining(CLI::App &app, Options &o) {
  app.add_option("--data", o.data, "corpus directory (not for --infer)");
  app.add_option("--steps", o.steps, "optimizer updates in all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", o.seed, "of first values, order and draws (0)");
  app.add_option("--lr", o.lr, "peak learning rate")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--warmup", o.warmup, "updates of linear warm-up")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--schedule", o.schedule, "of the rate after warm-up")
      ->capture_default_str()
      ->check(CLI::IsMember({"constant", "noam", "cosine"}));
  app.add_option("--weight-decay", o.weightDecay, "decoupled (AdamW)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--init-from", o.initFrom,
                 "weights (safetensors) to start at");
  app.add_option("--loss-scale", o.lossScale,
                 "fp16: first loss scale, a power of two")
      ->capture_default_str()
      ->check(CLI::Range(LossScale::floor, LossScale::most));
  app.add_option("--loss-scale-interval", o.lossScaleInterval,
                 "fp16: updates without overflow that double it")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  std::map<std::string, double> units{{"s", 1}, {"m", 60}, {"h", 3600}};
  app.add_option("--max-time", o.maxSeconds,
                 "end after the update that passes it; 90, 90s, 5m, 2h")
      ->transform(CLI::AsNumberWithUnit(units))
      ->check(CLI::NonNegativeNumber);
}

CLI::Option *addFiles(CLI::App &app, Options &o) {
  app.add_option("--checkpoint-dir", o.checkpointDir, "where checkpoints go");
  app.add_option("--checkpoint-every", o.checkpointEvery,
                 "updates between checkpoints (0: only the last)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--keep", o.keep, "checkpoints to keep")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--save-best", o.saveBest, "also keep the best by this")
      ->check(CLI::IsMember({"val_loss"}));
  CLI::Option *resume =
      app.add_option("--resume", o.resumeFrom,
                     "go on from a checkpoint, or the latest of a directory "
                     "(default: --checkpoint-dir)")
          ->expected(0, 1);
  app.add_option("--eval-every", o.evalEvery,
                 "updates between validations (0: none)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--log-dir", o.logDir,
                 "where metrics.jsonl and TensorBoard's events go");
  app.add_flag("!--no-tensorboard", o.tensorBoard, "metrics.jsonl alone");
  app.add_flag("--evaluate", o.evaluate,
               "no training: the validation split once");
  app.add_option("--split", o.split, "with --evaluate: which split")
      ->capture_default_str()
      ->check(CLI::IsMember({"validation", "test"}));
  app.add_option("--dump-outputs", o.dumpOutputs,
                 "with --evaluate or --infer: outputs into this safetensors "
                 "file");
  app.add_option("--dump-utterances", o.dumpUtterances,
                 "whose outputs (default: the whole validation split)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter(',');
  app.add_option("--dump-order", o.dumpOrder,
                 "no training: utterances of every update into this file");
  app.add_option("--infer", o.infer,
                 "no training: speaks the requests of this safetensors file");
  return resume;
}

void checkTogether(const Options &o) {
  bool infers = !o.infer.empty();
  bool trains = !o.evaluate && o.dumpOrder.empty() && !infers;
  int exponent = 0;
  if (std::frexp(o.lossScale, &exponent) != 0.5)
    usage("--loss-scale", "is no power of two");
  if (!infers && o.data.empty())
    usage("--data", "is missing");
  if (infers && (o.evaluate || !o.dumpOrder.empty()))
    usage("--infer", "cannot be together with --evaluate or --dump-order");
  if (infers && o.dumpOutputs.empty())
    usage("--infer", "needs --dump-outputs, where its results go");
  if (infers && o.initFrom.empty() && !o.resume)
    usage("--infer", "needs weights: --init-from or --resume");
  if (!o.evaluate && !infers && !o.dumpOutputs.empty())
    usage("--dump-outputs", "needs --evaluate or --infer");
  if (!o.evaluate && !o.dumpUtterances.empty())
    usage("--dump-utterances", "needs --evaluate");
  if (!o.dumpUtterances.empty() && o.dumpOutputs.empty())
    usage("--dump-utterances", "needs --dump-outputs");
  if (!o.evaluate && o.split != "validation")
    usage("--split", "needs --evaluate: nothing is trained by the test split");
  if (o.evaluate && o.initFrom.empty() && !o.resume)
    usage("--evaluate", "needs weights: --init-from or --resume");
  if (!o.initFrom.empty() && o.resume)
    usage("--init-from", "cannot be together with --resume");
  if (o.resume && o.resumeFrom.empty() && o.checkpointDir.empty())
    usage("--resume",
          "has no directory: give --checkpoint-dir or --resume=DIR");
  if (o.checkpointEvery && o.checkpointDir.empty())
    usage("--checkpoint-every", "needs --checkpoint-dir");
  if (!o.saveBest.empty() && (o.checkpointDir.empty() || !o.evalEvery))
    usage("--save-best", "needs --checkpoint-dir and --eval-every");
  if (trains && o.steps == 0 && o.maxSeconds == 0 && o.checkpointDir.empty())
    usage("--steps", "is missing");
}

} // namespace

bool parseOptions(int argc, char **argv, const Defaults &defaults,
                  Options &options) {
  options.lr = defaults.lr;
  options.weightDecay = defaults.weightDecay;
  options.warmup = defaults.warmup;
  options.schedule = defaults.schedule;
  CLI::App app(
      "Trains the compiled model; allocates nothing large after start.",
      "train");
  // A script's common flags first, its own after them: the last one counts.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  addTraining(app, options);
  CLI::Option *resume = addFiles(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help() << std::flush;
    return false;
  } catch (const CLI::ParseError &e) {
    std::string text = e.what();
    for (char &c : text)
      c = c == '\n' ? ' ' : c;
    usage("command line", text);
  }
  options.resume = resume->count() > 0;
  checkTogether(options);
  return true;
}

} // namespace tts::rt
