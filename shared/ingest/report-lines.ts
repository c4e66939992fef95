import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import { linesOf, type ReportAtHand } from './report-source.ts';

/** Lines that are put together before they are packed. */
const BATCH = 256;

/** What `openReport` reads line by line, gzipped; never there as one text. */
export async function zipLines(report: ReportAtHand): Promise<Uint8Array<ArrayBuffer>> {
  const gzip = createGzip({ level: 1 });
  const packed: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => packed.push(piece));
  const ended = once(gzip, 'end');
  let text = '';
  let lines = 0;
  for (const line of linesOf(report)) {
    text += line;
    lines += 1;
    if (lines % BATCH !== 0) continue;
    if (!gzip.write(text)) await once(gzip, 'drain');
    text = '';
  }
  gzip.end(text);
  await ended;
  return new Uint8Array(Buffer.concat(packed));
}
