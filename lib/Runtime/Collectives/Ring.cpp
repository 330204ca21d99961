//===- Ring.cpp - sums over ranks in a ring -------------------------------===//

#include "Runtime/Collectives/Ring.h"
#include "Runtime/Abi/Error.h"
#include <algorithm>
#include <cstring>
#include <string>

namespace tts::rt {

namespace {

template <typename T> void addTo(void *to, const void *from, uint64_t count) {
  T *a = static_cast<T *>(to);
  const T *b = static_cast<const T *>(from);
  for (uint64_t i = 0; i < count; ++i)
    a[i] += b[i];
}

} // namespace

Pieces::Pieces(std::vector<Piece> list, TtsDType dtype)
    : pieces(std::move(list)), dtype(dtype), size(dtypeSize(dtype)) {
  if (dtype == TTS_I32 || dtype == TTS_I64)
    throw Error(Exit::Refused, "collective",
                std::string(dtypeName(dtype)) + " is not sent to other ranks",
                "recompile the model with this version of tts-compile");
  starts.push_back(0);
  for (const Piece &piece : pieces)
    starts.push_back(starts.back() + piece.elements);
}

/// Calls visit(address, offset in the dense memory, elements) piece by piece.
template <typename Visit>
void Pieces::visit(uint64_t first, uint64_t count, Visit visit) const {
  size_t at = size_t(std::upper_bound(starts.begin(), starts.end(), first) -
                     starts.begin()) -
              1;
  for (uint64_t done = 0; done < count; ++at) {
    uint64_t inside = first + done - starts[at];
    uint64_t part = std::min(count - done, pieces[at].elements - inside);
    visit(static_cast<char *>(pieces[at].data) + inside * size, done * size,
          part);
    done += part;
  }
}

void Pieces::copyOut(uint64_t first, uint64_t count, void *out) const {
  visit(first, count, [&](void *data, uint64_t offset, uint64_t part) {
    std::memcpy(static_cast<char *>(out) + offset, data, part * size);
  });
}

void Pieces::copyIn(uint64_t first, uint64_t count, const void *in) const {
  visit(first, count, [&](void *data, uint64_t offset, uint64_t part) {
    std::memcpy(data, static_cast<const char *>(in) + offset, part * size);
  });
}

void Pieces::add(uint64_t first, uint64_t count, const void *in) const {
  visit(first, count, [&](void *data, uint64_t offset, uint64_t part) {
    const char *from = static_cast<const char *>(in) + offset;
    dtype == TTS_F32 ? addTo<float>(data, from, part)
                     : addTo<double>(data, from, part);
  });
}

Ring::Ring(Transport &transport, Pieces all, void *staging,
           uint64_t stagingBytes, std::vector<uint64_t> given)
    : transport(transport), pieces(std::move(all)), bounds(std::move(given)),
      staging(static_cast<char *>(staging)),
      messageElements(stagingBytes / 4 / pieces.elementBytes()) {
  if (messageElements == 0)
    throw Error(Exit::Refused, "collective", "it has no room for messages",
                "recompile the model with this version of tts-compile");
  uint64_t n = uint64_t(transport.ranks());
  if (bounds.empty())
    for (uint64_t r = 0; r <= n; ++r)
      bounds.push_back(pieces.elements() * r / n);
}

Ring::Span Ring::chunk(int64_t index) const {
  uint64_t n = uint64_t(transport.ranks());
  uint64_t c = uint64_t((index % int64_t(n) + int64_t(n)) % int64_t(n));
  return {bounds[c], bounds[c + 1]};
}

/// Sends a span to one rank and takes one from another, message by message; the
/// next one is under way while one is taken.
template <typename Take>
void Ring::pass(int to, Span out, int from, Span in, Take take) const {
  uint64_t bytes = pieces.elementBytes(), most = messageElements;
  uint64_t count = (std::max(out.size(), in.size()) + most - 1) / most;
  auto part = [&](Span span, uint64_t k) {
    uint64_t first = std::min(span.first + k * most, span.end);
    return Span{first, std::min(first + most, span.end)};
  };
  auto buffer = [&](uint64_t k, int side) {
    return staging + (2 * (k % 2) + uint64_t(side)) * most * bytes;
  };
  for (uint64_t k = 0; k <= count; ++k) {
    if (k < count) {
      Span sent = part(out, k), taken = part(in, k);
      pieces.copyOut(sent.first, sent.size(), buffer(k, 0));
      transport.start(int(k % 2), {to, buffer(k, 0), sent.size() * bytes, from,
                                   buffer(k, 1), taken.size() * bytes});
    }
    if (k > 0) {
      transport.wait(int((k - 1) % 2));
      Span taken = part(in, k - 1);
      take(taken.first, taken.size(), buffer(k - 1, 1));
    }
  }
}

/// A chunk begins behind its rank and ends there, after all others.
void Ring::reduceScatter() const {
  int n = transport.ranks(), rank = transport.rank();
  for (int step = 0; step + 1 < n; ++step)
    pass((rank + 1) % n, chunk(rank - step - 1), (rank + n - 1) % n,
         chunk(rank - step - 2),
         [&](uint64_t first, uint64_t count, const void *in) {
           pieces.add(first, count, in);
         });
}

void Ring::allGather() const {
  int n = transport.ranks(), rank = transport.rank();
  for (int step = 0; step + 1 < n; ++step)
    pass((rank + 1) % n, chunk(rank - step), (rank + n - 1) % n,
         chunk(rank - step - 1),
         [&](uint64_t first, uint64_t count, const void *in) {
           pieces.copyIn(first, count, in);
         });
}

void Ring::allReduce() const {
  int n = transport.ranks();
  if ((n & (n - 1)) == 0)
    return allReduceByHalves();
  reduceScatter();
  allGather();
}

void Ring::allReduceByHalves() const {
  int n = transport.ranks(), rank = transport.rank();
  // The chunks [first, first + 2 · away) are this rank's and its partner's.
  auto halves = [&](int away) {
    int first = rank / (2 * away) * (2 * away), middle = first + away;
    Span low{chunk(first).first, chunk(middle - 1).end},
        high{chunk(middle).first, chunk(middle + away - 1).end};
    return rank < middle ? std::pair(low, high) : std::pair(high, low);
  };
  for (int away = n / 2; away > 0; away /= 2) {
    auto [own, others] = halves(away);
    pass(rank ^ away, others, rank ^ away, own,
         [&](uint64_t first, uint64_t count, const void *in) {
           pieces.add(first, count, in);
         });
  }
  for (int away = 1; away < n; away *= 2) {
    auto [own, others] = halves(away);
    pass(rank ^ away, own, rank ^ away, others,
         [&](uint64_t first, uint64_t count, const void *in) {
           pieces.copyIn(first, count, in);
         });
  }
}

} // namespace tts::rt
