import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';
import { SCANNERS, type Scanner } from '#domain/vocabulary.ts';
import { csvHeader, csvLine } from '#shared/export/csv.ts';
import { SARIF_HEAD, toResult, toRule } from '#shared/export/sarif.ts';
import { jsonLine } from '#shared/json/json-line.ts';
import type { ExportRecord } from '#store/exports.ts';

type FindingShown = z.input<typeof Finding>;

/** The findings of an export, of one scanner or of all, in the order of the list. */
export type ReadFindings = (scanner: Scanner | null) => AsyncIterable<FindingShown>;

/** The text of an export, part by part. */
export function writeFile(format: ExportRecord['format'], read: ReadFindings): AsyncIterable<string> {
  if (format === 'sarif') return writeSarif(read);
  return format === 'csv' ? writeCsv(read) : writeLines(read);
}

async function* writeLines(read: ReadFindings): AsyncIterable<string> {
  for await (const finding of read(null)) yield jsonLine(finding);
}

async function* writeCsv(read: ReadFindings): AsyncIterable<string> {
  yield csvHeader();
  for await (const finding of read(null)) yield csvLine(finding);
}

/** A run for each scanner that has any; its rules come after its results, once all of them are known. */
async function* writeSarif(read: ReadFindings): AsyncIterable<string> {
  yield `${JSON.stringify(SARIF_HEAD).slice(0, -1)},"runs":[`;
  let runs = 0;
  for (const scanner of SCANNERS) {
    const rules = new Map<string, { readonly index: number; readonly rule: unknown }>();
    let results = 0;
    for await (const finding of read(scanner)) {
      const known = rules.get(finding.rule_id) ?? { index: rules.size, rule: toRule(finding) };
      rules.set(finding.rule_id, known);
      if (results === 0) yield `${runs === 0 ? '' : ','}{"results":[`;
      yield `${results === 0 ? '' : ','}${JSON.stringify(toResult(finding, known.index))}`;
      results += 1;
    }
    if (results === 0) continue;
    const driver = { name: scanner, rules: [...rules.values()].map(({ rule }) => rule) };
    yield `],"tool":${JSON.stringify({ driver })}}`;
    runs += 1;
  }
  yield ']}';
}
