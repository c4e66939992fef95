import { createGunzip } from 'node:zlib';
import { JsonRefused } from '#shared/json/refused.ts';
import type { ReportLimits } from './report-limits.ts';

const PIECE = 64 * 1024;

/**
 * The report's bytes piece by piece, unpacked where they are gzip.
 * @throws JsonRefused, where it is damaged or unpacks to more than it may
 */
export async function* unpacked(bytes: Uint8Array, limits: ReportLimits): AsyncIterable<Uint8Array> {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    yield* gunzipped(bytes, limits);
    return;
  }
  if (bytes.length > limits.unpacked) throw tooLarge(limits);
  for (let start = 0; start < bytes.length; start += PIECE) yield bytes.subarray(start, start + PIECE);
}

async function* gunzipped(bytes: Uint8Array, limits: ReportLimits): AsyncIterable<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: PIECE });
  gunzip.end(bytes);
  let size = 0;
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > limits.unpacked) throw tooLarge(limits);
      // Against all that was sent: how much of it was read by now is zlib's own affair.
      if (size > limits.unsuspicious && size > bytes.length * limits.ratio)
        throw new JsonRefused('too_large', `unpacks to more than ${limits.ratio} times its size`);
      yield piece;
    }
  } catch (cause) {
    if (cause instanceof JsonRefused) throw cause;
    // A gateway that takes the type for text has replaced bytes by then: nothing of it can be saved.
    throw new JsonRefused(
      'syntax',
      'begins like gzip but can not be unpacked: it is damaged, or was sent without Content-Type: application/gzip',
    );
  } finally {
    gunzip.destroy();
  }
}

function tooLarge({ unpacked: most }: ReportLimits): JsonRefused {
  return new JsonRefused('too_large', `unpacks to more than ${most / 1024 / 1024} MB`);
}
