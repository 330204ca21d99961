// Layouts are valid, as low as known, the same every time, and refused when
// they are wrong.
#include "tts/Transforms/Memory/Packing.h"

#include <gtest/gtest.h>

#include <random>

using namespace tts::packing;

namespace {

std::vector<Item> randomItems(uint32_t seed, int count, int64_t span,
                              bool mixedAlignment) {
  std::mt19937 generator(seed); // its sequence is fixed by the standard
  auto draw = [&](int64_t bound) { return int64_t(generator() % bound); };
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    Item item;
    item.begin = draw(span);
    item.end = item.begin + 1 + draw(draw(4) == 0 ? span : span / 8 + 1);
    item.size = 1 + draw(draw(3) == 0 ? 100'000 : 1'000);
    item.alignment = mixedAlignment && draw(4) == 0 ? 4096 : 64;
    items.push_back(item);
  }
  return items;
}

/// A layout of height `height` with no gap: a rectangle cut at random by
/// full-height or full-width cuts, so that the optimum is known.
void cut(std::mt19937 &generator, Item whole, int64_t bottom, int depth,
         std::vector<Item> &items) {
  auto draw = [&](int64_t bound) { return int64_t(generator() % bound); };
  const bool inTime = draw(2) == 0;
  if (depth == 0 || (inTime ? whole.end - whole.begin : whole.size / 64) < 2) {
    items.push_back(whole);
    return;
  }
  Item first = whole, second = whole;
  if (inTime) {
    first.end = second.begin =
        whole.begin + 1 + draw(whole.end - whole.begin - 1);
  } else {
    first.size = 64 * (1 + draw(whole.size / 64 - 1));
    second.size = whole.size - first.size;
  }
  cut(generator, first, bottom, depth - 1, items);
  cut(generator, second, bottom + first.size, depth - 1, items);
}

/// A training step: what forward keeps is live until backward comes by, both
/// have short scratch, gradients stay to the end, and at the turn a few large
/// buffers overlap.
std::vector<Item> trainingStep(uint32_t seed, int layers) {
  std::mt19937 generator(seed);
  auto draw = [&](int64_t bound) { return int64_t(generator() % bound); };
  std::vector<Item> items;
  const int64_t last = 8 * layers, turn = 4 * layers;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const int64_t forward = 4 * layer, backward = last - forward - 4;
    for (int64_t k = 0; k < 4; ++k)
      items.push_back({forward + k, backward + 4 - draw(4),
                       64 * (1 + draw(4)) * (k == 0 ? 8 : 1)});
    for (int64_t k = 0; k < 3; ++k) {
      const int64_t begin = forward + k, again = backward + k;
      items.push_back({begin, begin + 2 + draw(4), 64 * (4 + draw(30))});
      items.push_back({again, again + 1 + draw(4), 64 * (4 + draw(40))});
    }
    items.push_back({backward + draw(4), last + 8, 64 * (1 + draw(12))});
  }
  for (int64_t k = 0; k < 4; ++k)
    items.push_back({turn - 2 + k / 2, turn + 1 + k, 128 * layers});
  return items;
}

std::vector<Item> unaligned(std::vector<Item> items) {
  for (Item &item : items)
    item.alignment = 1;
  return items;
}

#define EXPECT_VALID(items, layout)                                            \
  do {                                                                         \
    auto fault = findFault(items, layout);                                     \
    EXPECT_FALSE(fault) << *fault;                                             \
  } while (false)

TEST(Packing, NothingTakesNothing) {
  Layout layout = pack({});
  EXPECT_EQ(layout.height, 0);
  EXPECT_EQ(maxLive({}), 0);
  layout = pack({{0, 0, 64}, {3, 9, 0}});
  EXPECT_EQ(layout.height, 0);
  EXPECT_EQ(layout.offsets.size(), 2u);
}

TEST(Packing, MaxLiveIsOfHalfOpenIntervals) {
  EXPECT_EQ(maxLive({{0, 2, 10}, {2, 4, 20}}), 20);
  EXPECT_EQ(maxLive({{0, 3, 10}, {2, 4, 20}}), 30);
}

TEST(Packing, ReadmeExampleOfMiniMalloc) {
  const std::vector<Item> items =
      unaligned({{0, 3, 4}, {3, 9, 4}, {0, 9, 4}, {9, 21, 4}, {0, 21, 4}});
  const Layout layout = pack(items);
  EXPECT_VALID(items, layout);
  EXPECT_EQ(layout.height, 12);
}

TEST(Packing, GreedyAloneIsNotEnoughHere) {
  // Found by random trial: no greedy order reaches the bound, the search does.
  int solved = 0, beyondGreedy = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 generator(seed);
    std::vector<Item> items;
    cut(generator, {0, 1000, 64 * 1000}, 0, 6, items);
    Options greedy;
    greedy.searchWork = 0;
    greedy.squeakyRounds = 0;
    const Layout low = pack(items, greedy), layout = pack(items);
    EXPECT_VALID(items, low);
    EXPECT_VALID(items, layout);
    EXPECT_LE(layout.height, low.height);
    solved += layout.height == 64 * 1000;
    beyondGreedy += low.height > 64 * 1000;
  }
  EXPECT_EQ(solved, 40);
  EXPECT_GE(beyondGreedy, 10);
}

TEST(Packing, TheFullestSectionsFirstReachTheBoundOfTrainingSteps) {
  Options greedy;
  greedy.searchWork = 0;
  greedy.squeakyRounds = 0;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const std::vector<Item> items = trainingStep(seed, 100);
    const Layout layout = pack(items, greedy);
    EXPECT_VALID(items, layout);
    EXPECT_EQ(layout.height, maxLive(items)) << "seed " << seed;
  }
}

TEST(Packing, RandomLayoutsAreValidAndRepeatable) {
  Options quick;
  quick.searchWork = 500'000;
  quick.squeakyRounds = 4;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<Item> items =
        randomItems(seed, 1 + int(seed) * 7, 5 + seed * 3, seed % 2 == 1);
    const Layout layout = pack(items, quick);
    EXPECT_VALID(items, layout);
    EXPECT_GE(layout.height, maxLive(items));
    EXPECT_EQ(layout.offsets, pack(items, quick).offsets);
  }
}

TEST(Packing, MixedAlignmentIsSearchedToo) {
  // 64 then 4096 would waste; the other way round is exact.
  const std::vector<Item> items = {
      {0, 4, 64, 64}, {0, 4, 4096, 4096}, {1, 3, 4096, 4096}, {2, 5, 64, 64}};
  const Layout layout = pack(items);
  EXPECT_VALID(items, layout);
  EXPECT_EQ(layout.height, 2 * 4096 + 2 * 64);
}

TEST(Packing, FixedOffsetsAreKept) {
  std::vector<Item> items = randomItems(7, 80, 50, true);
  for (Item &item : items)
    item.alignment = 64;
  items[0] = {0, 200, 640, 64, 6400};
  items[1] = {0, 200, 64, 64, 0};
  const Layout layout = pack(items);
  EXPECT_VALID(items, layout);
  EXPECT_EQ(layout.offsets[0], 6400);
  EXPECT_EQ(layout.offsets[1], 0);
}

TEST(Packing, SizesAreRoundedToTheAlignment) {
  const std::vector<Item> items = {{0, 2, 4}, {0, 2, 4}, {0, 2, 4}};
  const Layout layout = pack(items);
  EXPECT_VALID(items, layout);
  EXPECT_EQ(layout.height, 2 * 64 + 4);
}

TEST(Packing, TargetStopsEarly) {
  std::vector<Item> items = randomItems(3, 200, 100, false);
  Options easy;
  easy.target = INT64_MAX / 4;
  EXPECT_VALID(items, pack(items, easy));
}

TEST(Packing, ManyShortItemsAreFast) {
  std::vector<Item> items = randomItems(11, 20'000, 100'000, false);
  for (Item &item : items)
    item.end = std::min(item.end, item.begin + 300);
  Options quick;
  quick.squeakyRounds = 0;
  const Layout layout = pack(items, quick);
  EXPECT_VALID(items, layout);
  EXPECT_LE(double(layout.height), 1.2 * double(maxLive(items)));
}

TEST(FindFault, SeesEveryFault) {
  const std::vector<Item> items = {{0, 4, 100}, {2, 6, 100}, {4, 8, 100}};
  EXPECT_FALSE(findFault(items, {{0, 128, 0}, 228}));
  EXPECT_TRUE(findFault(items, {{0, 64, 0}, 228}));  // overlap in time
  EXPECT_TRUE(findFault(items, {{0, 130, 0}, 300})); // misaligned
  EXPECT_TRUE(findFault(items, {{0, 128, 0}, 227})); // above the height
  EXPECT_TRUE(findFault(items, {{0, 128}, 228}));    // one is missing
  EXPECT_TRUE(findFault(items, {{0, -64, 0}, 228})); // below zero
  std::vector<Item> fixed = items;
  fixed[0].fixedOffset = 64;
  EXPECT_TRUE(findFault(fixed, {{0, 128, 0}, 228})); // not where it must be
}

} // namespace
