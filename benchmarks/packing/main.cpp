// Packs instance files and prints a row for each: instance, buffers, lower
// bound, height over it, CPU seconds of its one thread, and where the name has
// a capacity (NAME.CAPACITY.csv) whether it is met: then no lower height is
// tried.
#include "tts/Transforms/Memory/Packing.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

using namespace tts::packing;

/// Lines `id,lower,upper,size` after a heading.
static bool read(const char *path, std::vector<Item> &items) {
  FILE *file = std::fopen(path, "r");
  if (!file)
    return false;
  char line[256];
  while (std::fgets(line, sizeof(line), file)) {
    Item item;
    item.alignment = 1;
    if (std::sscanf(line, "%*[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64,
                    &item.begin, &item.end, &item.size) == 3)
      items.push_back(item);
  }
  std::fclose(file);
  return !items.empty();
}

/// The capacity in the name of a file, or -1.
static int64_t capacityOf(const char *name) {
  long long capacity = 0;
  int length = 0;
  const bool named =
      std::sscanf(name, "%*[^.].%lld.csv%n", &capacity, &length) == 1;
  return named && length == int(std::strlen(name)) ? int64_t(capacity) : -1;
}

int main(int argc, char **argv) {
  Options options;
  int status = argc > 1 ? 0 : 2;
  std::printf("%-22s %8s %16s %10s %9s\n", "instance", "buffers", "LB",
              "height/LB", "CPU s");
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--work=", 7) == 0) {
      options.searchWork = std::atoll(argv[i] + 7);
      continue;
    }
    std::vector<Item> items;
    if (!read(argv[i], items)) {
      std::fprintf(stderr,
                   "error: %s: no buffers; give a CSV id,lower,upper,size\n",
                   argv[i]);
      return 1;
    }
    const char *slash = std::strrchr(argv[i], '/');
    const char *name = slash ? slash + 1 : argv[i];
    options.target = capacityOf(name);
    const std::clock_t start = std::clock();
    const Layout layout = pack(items, options);
    const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    const auto fault = findFault(items, layout);
    const int64_t bound = maxLive(items);
    const char *fits = options.target < 0                ? ""
                       : layout.height <= options.target ? " fits"
                                                         : " does not fit";
    std::printf("%-22s %8zu %16" PRId64 " %10.6f %9.3f%s%s%s\n", name,
                items.size(), bound, double(layout.height) / double(bound),
                seconds, fits, fault ? " FAULT: " : "",
                fault ? fault->c_str() : "");
    std::fflush(stdout);
    status |= fault ? 1 : 0;
  }
  return status;
}
