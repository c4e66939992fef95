import { gzipSync } from 'node:zlib';

/** Gzip of a text so many times, between two others: members one after the other, so that it costs nothing to make. */
export function gzipOf(before: string, unit: string, times: number, after = ''): Uint8Array<ArrayBuffer> {
  const perMember = Math.min(times, 1_000_000);
  const member = gzipSync(unit.repeat(perMember), { level: 9 });
  const members = Array.from({ length: Math.floor(times / perMember) }, () => member);
  return new Uint8Array(Buffer.concat([gzipSync(before), ...members, gzipSync(after)]));
}

/** A SARIF log in pieces: what stands before its results, and behind them. */
export const SARIF_START = '{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Semgrep"}},"results":[';
export const SARIF_END = ']}]}';
