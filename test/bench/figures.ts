/** Minimum, median and maximum of several runs, as one line. */
export function spread(values: readonly number[], unit: string, digits = 0): string {
  const sorted = values.toSorted((a, b) => a - b);
  const show = (value: number | undefined) => (value ?? Number.NaN).toFixed(digits);
  return `median ${show(median(sorted))} ${unit} (${show(sorted[0])} to ${show(sorted.at(-1))}, ${sorted.length} runs)`;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
