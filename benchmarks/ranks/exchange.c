/* Seconds in which every rank exchanges bytes with the one beside it, both ways
 * at once, by size: what simulated.py reads a link's bandwidth and latency off.
 * Messages are the runtime's, of 1 MiB and two under way
 * (lib/Runtime/Collectives/Ring.cpp), and so is how it waits (Mpi.cpp). Of
 * several times the one in the middle. */

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { message = 1 << 20, most = 16 << 20, times = 9 };
static MPI_Request requests[2][2];

static void start(int slot, int peer, char *out, char *in, int bytes) {
  MPI_Irecv(in, bytes, MPI_BYTE, peer, slot, MPI_COMM_WORLD,
            &requests[slot][0]);
  MPI_Isend(out, bytes, MPI_BYTE, peer, slot, MPI_COMM_WORLD,
            &requests[slot][1]);
}

static void wait(int slot) {
  for (int tries = 0, done = 0;; ++tries) {
    MPI_Testall(2, requests[slot], &done, MPI_STATUSES_IGNORE);
    if (done)
      return;
    if (tries > 200)
      usleep(100);
    else if (tries > 100)
      sched_yield();
  }
}

static double exchange(int peer, char *out, char *in, int bytes) {
  double begin = MPI_Wtime();
  int first = bytes < message ? bytes : message;
  start(0, peer, out, in, first);
  for (int at = first, slot = 1; at < bytes; at += message, slot ^= 1) {
    start(slot, peer, out + at, in + at, message);
    wait(slot ^ 1);
  }
  wait((bytes - 1) / message % 2);
  return MPI_Wtime() - begin;
}

static int isLess(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) -
         (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static const int sizes[] = {4 << 10, 2 << 20, most};
  char *out = calloc(most, 1), *in = calloc(most, 1);
  for (int i = 0; i < 3; ++i) {
    double seconds[times];
    for (int time = 0; time < times; ++time) {
      MPI_Barrier(MPI_COMM_WORLD);
      seconds[time] = exchange(rank ^ 1, out, in, sizes[i]);
    }
    qsort(seconds, times, sizeof *seconds, isLess);
    if (rank == 0)
      printf("%d %.9f\n", sizes[i], seconds[times / 2]);
  }
  MPI_Finalize();
  return 0;
}
