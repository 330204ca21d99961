//===- HardwareTest.cpp - the table of machines --------------------------===//

#include "tts/Transforms/Plan/Hardware.h"

#include "gtest/gtest.h"
#include <fstream>

using namespace tts::plan;

namespace {

std::string write(const std::string &text) {
  std::string path = testing::TempDir() + "/machine.json";
  std::ofstream(path) << text;
  return path;
}

std::string errorOf(llvm::Expected<Hardware> hardware) {
  return hardware ? "" : llvm::toString(hardware.takeError());
}

TEST(Hardware, EveryNameHasADescription) {
  for (llvm::StringRef name : hardwareNames()) {
    auto hardware = findHardware(name);
    ASSERT_TRUE(bool(hardware)) << name.str();
    EXPECT_EQ(hardware->name, name.str());
    EXPECT_GT(hardware->offeredBytes, 0);
    EXPECT_LE(hardware->offeredBytes, hardware->memoryBytes);
    EXPECT_GT(hardware->flopsPerSecond("fp32", 1), 0);
    EXPECT_EQ(hardware->isGpu, name != "host");
    EXPECT_FALSE(hardware->source.empty());
  }
}

TEST(Hardware, AnA100Offers79GiB) {
  auto a100 = findHardware("a100-80g");
  ASSERT_TRUE(bool(a100));
  EXPECT_EQ(a100->offeredBytes, int64_t(79.25 * (1 << 30)));
}

TEST(Hardware, ThreadsCountOnACpuOnly) {
  Hardware host = describeHost();
  EXPECT_EQ(host.flopsPerSecond("fp32", 2), 2 * host.fp32.reached());
  auto gpu = findHardware("l4-24g");
  ASSERT_TRUE(bool(gpu));
  EXPECT_EQ(gpu->flopsPerSecond("bf16", 8), gpu->bf16.reached());
}

TEST(Hardware, EveryPrecisionHasARateOfItsOwn) {
  auto a100 = findHardware("a100-80g");
  ASSERT_TRUE(bool(a100));
  EXPECT_EQ(a100->flopsPerSecond("fp32", 1), 0.9 * 19.5e12);
  EXPECT_EQ(a100->flopsPerSecond("fp64", 1), 0.9 * 9.7e12);
  EXPECT_EQ(a100->flopsPerSecond("bf16", 1), 0.87 * 312e12);
  EXPECT_EQ(a100->flopsPerSecond("fp16", 1), a100->flopsPerSecond("bf16", 1));
  EXPECT_EQ(a100->bytesPerSecond(1), 0.88 * 2039e9);
}

TEST(Hardware, EveryFigureHasASource) {
  for (llvm::StringRef name : hardwareNames()) {
    auto hardware = findHardware(name);
    ASSERT_TRUE(bool(hardware));
    for (const char *key :
         {"memory", "rates", "bandwidth", "links", "collectives", "process"})
      EXPECT_FALSE(hardware->sources[key].empty()) << name.str() << " " << key;
    for (const Rate &rate : {hardware->fp32, hardware->tf32, hardware->bf16,
                             hardware->fp16, hardware->fp64}) {
      EXPECT_GT(rate.peak, 0);
      EXPECT_GT(rate.fraction, 0);
      EXPECT_LE(rate.fraction, 1);
    }
  }
}

TEST(Hardware, ARingSendsTwiceAllButOneShare) {
  EXPECT_EQ(allReduceBytes(1000, 1), 0);
  EXPECT_EQ(allReduceBytes(1000, 2), 1000);
  EXPECT_EQ(allReduceBytes(1000, 4), 1500);
  EXPECT_EQ(allReduceBytes(1000, 3), 1334); // 1333.3, whole bytes
}

TEST(Hardware, TheNearestLinkThatHoldsAllRanksCarriesTheSum) {
  auto a100 = findHardware("a100-80g");
  ASSERT_TRUE(bool(a100));
  EXPECT_EQ(a100->linkOf(8), &a100->links[0]);
  EXPECT_EQ(a100->linkOf(9), &a100->links[1]);
  EXPECT_EQ(a100->allReduceSeconds(1 << 30, 1), 0);
  EXPECT_DOUBLE_EQ(a100->allReduceSeconds(4'000'000'000, 4),
                   6e9 / 200e9 + 4 * 3.4e-6);
  EXPECT_DOUBLE_EQ(a100->allReduceSeconds(3'000'000'000, 3),
                   4e9 / 200e9 + 4 * 3.4e-6);
  EXPECT_GT(a100->allReduceSeconds(1 << 30, 16),
            a100->allReduceSeconds(1 << 30, 8));
  a100->links.pop_back();
  EXPECT_EQ(a100->linkOf(9), nullptr);
}

TEST(Hardware, TheCollectiveLibraryTakesMoreFromSomeRanksOn) {
  auto a100 = findHardware("a100-80g");
  ASSERT_TRUE(bool(a100));
  EXPECT_EQ(a100->collectiveBytes(1), 0);
  EXPECT_EQ(a100->collectiveBytes(2), int64_t(544) << 20);
  EXPECT_EQ(a100->collectiveBytes(4), int64_t(688) << 20);
  EXPECT_GT(a100->collectiveBytes(16), a100->collectiveBytes(8));
}

TEST(Hardware, BuiltInDescriptionsRoundTripThroughFiles) {
  for (const Hardware &device : knownDevices()) {
    auto again = parseHardware(device.json(), "again");
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(again->json(), device.json());
  }
}

TEST(Hardware, AFileIsReadAndRoundTrips) {
  auto file = findHardware(write(
      R"({"name": "box", "memory_bytes": 1000000, "process_bytes": 5, "bandwidth": 2e9})"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->name, "box");
  EXPECT_EQ(file->offeredBytes, 1000000);
  EXPECT_EQ(file->processBytes, 5);
  auto again = findHardware(write(file->json()));
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(again->json(), file->json());
  EXPECT_EQ(again->hash(), file->hash());
  EXPECT_EQ(file->hash().size(), 64u);
}

TEST(Hardware, AFileSaysWhichWayConvolutionsGo) {
  const char *row =
      R"({"name": "box", "memory_bytes": 1000000, "conv1d": [{"direction":
      "input_gradient", "rows": 8, "in": 4, "out": 2, "taps": 3,
      "products_ns": 20, "library_ns": 10}]})";
  auto file = findHardware(write(row));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->convTimes.size(), 1u);
  EXPECT_TRUE(file->convTimes[0].transpose);
  EXPECT_EQ(file->convTimes[0].libraryNs, 10);
  EXPECT_NE(file->json().find("products_ns"), std::string::npos);
  EXPECT_FALSE(describeHost().convTimes.empty());
  auto gpu = findHardware("a100-80g");
  ASSERT_TRUE(bool(gpu));
  EXPECT_TRUE(gpu->convTimes.empty());
  std::string lacks = row;
  lacks.replace(lacks.find("\"taps\": 3"), 9, "\"tips\": 3");
  EXPECT_NE(errorOf(findHardware(write(lacks))).find("conv1d"),
            std::string::npos);
}

TEST(Hardware, AFileTellsWhatWasMeasured) {
  auto file = parseHardware(R"({"name": "box",
      "products": [{"precision": "bf16", "transpose_b": true, "m": 8, "n": 4,
                    "k": 2, "taps": 3, "flops": 5e9}],
      "caches": [{"bytes": 100, "bandwidth": 2e9}],
      "operation_seconds": {"tts.exp": 1e-9}})",
                            "f");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->products.size(), 1u);
  EXPECT_TRUE(file->products[0].shape.transposeB);
  EXPECT_FALSE(file->products[0].shape.transposeA);
  EXPECT_EQ(file->products[0].shape.taps, 3);
  EXPECT_EQ(file->caches[0].bandwidth, 2e9);
  EXPECT_EQ(file->operationSeconds["tts.exp"], 1e-9);
  // Of a CPU, the memory is this machine's.
  EXPECT_EQ(file->memoryBytes, describeHost().memoryBytes);
  auto again = parseHardware(file->json(), "again");
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(again->json(), file->json());
}

TEST(Hardware, FaultsOfWhatWasMeasuredAreNamed) {
  auto fault = [](const std::string &more) {
    return errorOf(parseHardware(R"({"name": "x", )" + more + "}", "f"));
  };
  const char *row = R"({"precision": "fp32", "m": 8, "n": 4, "k": 2)";
  EXPECT_NE(fault(R"("products": [)" + std::string(row) + "}]").find("flops"),
            std::string::npos);
  EXPECT_EQ(fault(R"("products": [)" + std::string(row) + R"(, "flops": 1}])"),
            "");
  EXPECT_NE(fault(R"("products": [8])").find("products"), std::string::npos);
  EXPECT_NE(fault(R"("caches": [{"bytes": 8, "bandwidth": 1},
                                {"bytes": 8, "bandwidth": 1}])")
                .find("ascending"),
            std::string::npos);
  EXPECT_NE(fault(R"("caches": [{"bytes": 8}])").find("bandwidth"),
            std::string::npos);
  EXPECT_NE(fault(R"("operation_seconds": {"tts.exp": -1})").find("negative"),
            std::string::npos);
  EXPECT_NE(errorOf(parseHardware(R"({"name": "x", "device": "gpu"})", "f"))
                .find("memory_bytes"),
            std::string::npos);
}

TEST(Hardware, FaultsOfAFileAreNamed) {
  EXPECT_NE(errorOf(findHardware("b200")).find("is no known hardware"),
            std::string::npos);
  EXPECT_NE(errorOf(findHardware("/nowhere/x.json")).find("No such file"),
            std::string::npos);
  EXPECT_NE(errorOf(findHardware(write("{}"))).find("lacks"),
            std::string::npos);
  EXPECT_NE(errorOf(findHardware(write("{"))).find("machine.json"),
            std::string::npos);
  EXPECT_NE(errorOf(findHardware(write(R"({"name": "x", "memory_bytes": -1})")))
                .find("not positive"),
            std::string::npos);
  EXPECT_NE(errorOf(findHardware(write(
                        R"({"name": "x", "memory_bytes": 1, "bandwidth": 0})")))
                .find("rate"),
            std::string::npos);
  auto fault = [](const std::string &more) {
    return errorOf(parseHardware(
        R"({"name": "x", "memory_bytes": 1, )" + more + "}", "f"));
  };
  EXPECT_NE(fault(R"("bf16_fraction": 1.5)").find("bf16_flops"),
            std::string::npos);
  EXPECT_NE(fault(R"("links": [{"name": "wire"}])").find("bandwidth"),
            std::string::npos);
  EXPECT_NE(fault(R"("links": [{"ranks": 8, "bandwidth": 1},
                               {"ranks": 2, "bandwidth": 1}])")
                .find("ascend"),
            std::string::npos);
  EXPECT_NE(
      fault(R"("links": [{"bandwidth": 1}, {"bandwidth": 2}])").find("ascend"),
      std::string::npos);
  EXPECT_NE(
      fault(R"("collectives": [{"ranks": 1, "bytes": 5}])").find("collectives"),
      std::string::npos);
}

} // namespace
