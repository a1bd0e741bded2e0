/** Return the median time of a call in milliseconds; the first `warmUp` calls do not count. */
export async function medianLatency(call: () => Promise<unknown>, runs = 50, warmUp = 5): Promise<number> {
  const times: number[] = [];
  for (let run = -warmUp; run < runs; run++) {
    const start = performance.now();
    await call();
    if (run >= 0) times.push(performance.now() - start);
  }
  times.sort((one, other) => one - other);
  const middle = runs >> 1;
  return runs % 2 ? (times[middle] as number) : ((times[middle - 1] as number) + (times[middle] as number)) / 2;
}
