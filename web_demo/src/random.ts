/**
 * The Mersenne Twister MT19937 with Python's seeding: the numbers of `random.Random(seed).random()`.
 *
 * M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998, with `init_by_array` of their 2002 revision
 * and 53-bit doubles. Python guarantees that `random()` keeps this sequence.
 */
export class Random {
  private readonly state = new Uint32Array(624);
  private at = 624;

  /** @param seed an integer from 0 to 2^53 - 1. */
  constructor(seed: number) {
    if (!Number.isSafeInteger(seed) || seed < 0) {
      throw new RangeError(`The seed must be an integer from 0 to 2^53 - 1, not ${seed}.`);
    }
    const high = Math.floor(seed / 2 ** 32);
    this.seedWith(high ? [seed >>> 0, high] : [seed >>> 0]);
  }

  /** Return a double in [0, 1) with 53 random bits. */
  random = (): number => {
    const high = this.next() >>> 5;
    const low = this.next() >>> 6;
    return (high * 0x4000000 + low) / 2 ** 53;
  };

  private seedWith(key: readonly number[]): void {
    const state = this.state;
    state[0] = 19650218;
    for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, this.mixed(i)) + i;
    let i = 1;
    for (let round = 0; round < 624; round++) {
      const j = round % key.length;
      state[i] = (value(state, i) ^ Math.imul(this.mixed(i), 1664525)) + (key[j] as number) + j;
      i = this.step(i);
    }
    for (let round = 0; round < 623; round++) {
      state[i] = (value(state, i) ^ Math.imul(this.mixed(i), 1566083941)) - i;
      i = this.step(i);
    }
    state[0] = 0x80000000;
  }

  private mixed(i: number): number {
    const before = value(this.state, i - 1);
    return before ^ (before >>> 30);
  }

  private step(i: number): number {
    if (i < 623) return i + 1;
    this.state[0] = value(this.state, 623);
    return 1;
  }

  private next(): number {
    if (this.at === 624) this.twist();
    let y = value(this.state, this.at++);
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  private twist(): void {
    const state = this.state;
    for (let i = 0; i < 624; i++) {
      const y = (value(state, i) & 0x80000000) | (value(state, (i + 1) % 624) & 0x7fffffff);
      state[i] = value(state, (i + 397) % 624) ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    this.at = 0;
  }
}

function value(state: Uint32Array, i: number): number {
  return state[i] as number;
}
