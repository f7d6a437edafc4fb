/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// tiles.cpp: a service with a cache of 160 MiB of tiles; drawing took 48 MiB more, which are freed. Its group has 256 MiB.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unistd.h>
#include <vector>

using Tile = std::unique_ptr<char[]>;

__attribute__((noinline)) Tile cache_tile(std::size_t bytes) {
  Tile tile(new char[bytes]);
  std::memset(tile.get(), 1, bytes);
  return tile;
}

__attribute__((noinline)) Tile draw_layer(std::size_t bytes) {
  Tile layer(new char[bytes]);
  std::memset(layer.get(), 2, bytes);
  return layer;
}

int main() {
  std::vector<Tile> tiles;
  std::vector<Tile> layers;
  for (int i = 0; i < 160 * 64; i++) {
    tiles.push_back(cache_tile(16384));
    if (i % 10 < 3) layers.push_back(draw_layer(16384));
  }
  layers.clear();
  for (int i = 0; i < 200; i++) {
    draw_layer(16384);
    if (i == 80) std::fprintf(stderr, "truth: %zu bytes cached\n", tiles.size() * 16384);
    usleep(25000);
  }
  std::exit(0); // with the tiles
}
