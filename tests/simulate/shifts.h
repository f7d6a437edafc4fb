/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* shifts.h: four generated programs that change; the same events on every machine.
 *
 * what      A site allocates a block of its size, holds and frees the block, and allocates again after a wait; all
 *           sites equally often. A unit of time is about the break-even time of the default price, 0.4 s. Phases are
 *           known:
 *
 *             sizes       the sites change to sizes whose blocks wait for long instead of shortly
 *             lifetimes   of the two sites of each size, the site with short waits gets long waits, and back
 *             drift       waits grow from a twentieth of a unit to five, by as much with each
 *             nights      by day short waits and some longer ones; by night bursts with long waits between them
 * owner     The object.
 */
#ifndef HAK_TESTS_SHIFTS_H
#define HAK_TESTS_SHIFTS_H

#include <cmath>
#include <functional>
#include <queue>
#include <string>

#include "made.h"

/* xorshift; no distribution of the C++ library, which may differ. */
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u | 1) {}
  uint64_t draw() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Du;
  }
  unsigned percent() { return static_cast<unsigned>((draw() >> 32) * 100 >> 32); }
  /* Exponential, of this mean, to a thousandth. */
  double wait(double mean) { return mean * -std::log((static_cast<double>(draw() >> 43) + 1) / (1 << 21)); }

 private:
  uint64_t state_;
};

struct Shifts {
  static constexpr double kUnitNs = 4e8, kCycle = 8; /* a site allocates about every kCycle units */
  static constexpr uint64_t kKiB = 1 << 10;

  std::string name;
  Made made;
  std::vector<uint64_t> start; /* of the phases */

  struct Site {
    uint32_t site;
    uint64_t size;
    double wait; /* units, until the next allocation */
  };
  using Asks = std::function<Site(uint32_t worker, double progress, Chance &chance)>;

  /* `rounds` of each of `workers`; progress is from 0 to `phases`. */
  Shifts(std::string what, uint32_t workers, uint32_t rounds, uint32_t phases, const Asks &asks) : name(what) {
    const double length = rounds * kCycle;
    for (uint32_t phase = 0; phase < phases; phase++) start.push_back(ns(phase * length / phases));
    struct Turn {
      uint64_t at;
      uint32_t worker, block;
      double wait;
      bool operator<(const Turn &other) const { return at != other.at ? at > other.at : worker > other.worker; }
    };
    std::priority_queue<Turn> turns;
    for (uint32_t worker = 0; worker < workers; worker++) turns.push({ns(worker * kCycle / workers), worker, 0, 0});
    Chance chance(workers + rounds);
    for (uint64_t end = ns(length); !turns.empty();) {
      const Turn turn = turns.top();
      turns.pop();
      if (turn.block != 0) {
        made.put(turn.at, turn.block);
        turns.push({turn.at + ns(turn.wait), turn.worker, 0, 0});
      } else if (turn.at < end) {
        const double progress = static_cast<double>(turn.at) / static_cast<double>(end) * phases;
        const Site site = asks(turn.worker, progress, chance);
        const double hold = std::max(kCycle - site.wait, 0.05);
        turns.push({turn.at + ns(hold), turn.worker, made.get(turn.at, site.size, site.site), site.wait});
      }
    }
  }

  static uint64_t ns(double units) { return static_cast<uint64_t>(std::llround(units * kUnitNs)); }
};

inline Shifts shift_of_sizes() {
  static constexpr uint64_t sizes[2][4] = {{100, 400, 1500, 6000}, {200, 800, 3000, 12000}};
  return {"sizes", 4, 6000, 2, [](uint32_t worker, double progress, Chance &chance) {
            const bool after = progress >= 1;
            return Shifts::Site{worker + 1, sizes[after][worker] * Shifts::kKiB, chance.wait(after ? 3 : 0.05)};
          }};
}

inline Shifts shift_of_lifetimes() {
  return {"lifetimes", 8, 6000, 3, [](uint32_t worker, double progress, Chance &chance) {
            const bool longer = (worker + static_cast<uint32_t>(progress)) % 2 == 0;
            const uint64_t size = 100 * Shifts::kKiB << (worker / 2);
            return Shifts::Site{worker + 1, size, chance.wait(longer ? 3 : 0.05)};
          }};
}

inline Shifts drift() {
  return {"drift", 4, 12000, 8, [](uint32_t worker, double progress, Chance &chance) {
            const uint64_t size = 100 * Shifts::kKiB << worker;
            return Shifts::Site{worker + 1, size, chance.wait(0.05 * std::pow(100, progress / 8))};
          }};
}

inline Shifts days_and_nights() {
  return {"nights", 6, 8000, 4, [](uint32_t worker, double progress, Chance &chance) {
            const bool night = static_cast<uint32_t>(progress) % 2 == 1;
            const uint64_t size = 100 * Shifts::kKiB << (worker / 2);
            const bool seldom = chance.percent() < (night ? 60 : 5);
            return Shifts::Site{worker + 1, size, seldom ? chance.wait(night ? 4 : 2) : chance.wait(0.03)};
          }};
}

#endif
