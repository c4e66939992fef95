import type { JsonLimits } from '#shared/json/filter.ts';

/** What a report may cost whoever reads it. */
export interface ReportLimits extends JsonLimits {
  /** Bytes of a report that was unpacked. */
  readonly unpacked: number;
  /** Bytes that each byte of gzip may unpack to, once there are more than `unsuspicious` of them. */
  readonly ratio: number;
  readonly unsuspicious: number;
  /** Results, whatever runs they are of. */
  readonly results: number;
}

const MEGABYTE = 1024 * 1024;

/**
 * Real reports stay far below: a result takes 600 bytes to 2 KB of what is read, and 20 to 60 names and values, so that
 * 25,000 are 50 MB and a million and a half; gzip packs the most repetitive ones 100 to 1.
 */
export const REPORT_LIMITS: ReportLimits = {
  unpacked: 200 * MEGABYTE,
  ratio: 300,
  unsuspicious: 16 * MEGABYTE,
  results: 100_000,
  tokens: 20_000_000,
  depth: 200,
  text: 64 * 1024,
  item: 24 * MEGABYTE,
  kept: 64 * MEGABYTE,
};
