import { JsonFilter } from '#shared/json/filter.ts';
import { JsonRefused } from '#shared/json/refused.ts';
import type { ReportLimits } from './report-limits.ts';
import { REPORT_SHAPE, RESULT_LISTS } from './report-shape.ts';
import { unpacked } from './unpack.ts';

/**
 * A report as far as it is read: of SARIF and of the scanners' JSON what their parsers look at, texts cut, and
 * never more of it in memory than that.
 * @throws JsonRefused
 */
export async function readPruned(
  bytes: Uint8Array,
  limits: ReportLimits,
  shape = REPORT_SHAPE,
): Promise<unknown> {
  if (bytes.length === 0) throw new JsonRefused('syntax', 'is empty: send the report as it is');
  const report = new PrunedReport(limits);
  const filter = new JsonFilter(shape, limits, (name, json) => report.take(name, json));
  let start = true;
  for await (const piece of unpacked(bytes, limits)) {
    filter.write(start ? withoutMark(piece) : piece);
    start = false;
  }
  return report.complete(filter.end());
}

/** Tools on Windows write a byte order mark; Windows' own shell writes UTF-16, which JSON is not. */
function withoutMark(piece: Uint8Array): Uint8Array {
  const [first, second, third] = piece;
  if (first === 0x1f && second === 0x8b) throw new JsonRefused('syntax', 'is gzip within gzip');
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || second === 0)
    throw new JsonRefused('syntax', 'is UTF-16: JSON is sent as UTF-8');
  return first === 0xef && second === 0xbb && third === 0xbf ? piece.subarray(3) : piece;
}

/** Puts what was handed over into the lists that it came from. */
class PrunedReport {
  readonly #limits: ReportLimits;
  /** By list, as `REPORT_SHAPE` names it. */
  readonly #taken = new Map<string, unknown[]>();
  #results = 0;

  constructor(limits: ReportLimits) {
    this.#limits = limits;
  }

  take(list: string, json: string): void {
    if (RESULT_LISTS.has(list)) this.#results += 1;
    if (this.#results > this.#limits.results)
      throw new JsonRefused(
        'too_many',
        `holds more than ${this.#limits.results} results; at most ${this.#limits.results} are taken`,
      );
    const element = parsed(json);
    if (list === 'runs' || list === 'Results') this.#fill(element, `${list}.`);
    const held = this.#taken.get(list);
    if (held) held.push(element);
    else this.#taken.set(list, [element]);
  }

  complete(json: string): unknown {
    const report = this.#restored(parsed(json));
    // Only within an envelope is there another report.
    if (typeof report === 'object' && report !== null && 'report' in report)
      report.report = this.#restored(report.report);
    return report;
  }

  #restored(report: unknown): unknown {
    if (Array.isArray(report)) return this.#taken.get('leaks') ?? [];
    this.#fill(report, '');
    return report;
  }

  #fill(element: unknown, prefix: string): void {
    if (typeof element !== 'object' || element === null) return;
    for (const [name, list] of Object.entries(element)) {
      const taken = Array.isArray(list) ? this.#taken.get(prefix + name) : undefined;
      if (!taken) continue;
      this.#taken.delete(prefix + name);
      Object.assign(element, { [name]: taken });
    }
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    throw new JsonRefused('syntax', 'is not valid JSON');
  }
}
