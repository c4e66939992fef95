import { stripVTControlCharacters } from 'node:util';
import * as z from 'zod';
import type { Scanner } from '#domain/vocabulary.ts';
import type { ProcessOutcome } from './process.ts';

/** As much of a scanner's own words as a person reads. */
const TAIL_LENGTH = 500;

/** Failures that a person can do something about, and what. */
const ADVICE: Readonly<Partial<Record<Scanner, readonly (readonly [RegExp, string])[]>>> = {
  trivy: [
    [
      /cannot be specified on the first run|failed to download vulnerability DB|DB error/i,
      'Trivy has no vulnerability database, so nothing was checked. Let it download one (without ASPM_SCANNERS_OFFLINE, with network), or set TRIVY_CACHE_DIR to a folder that holds one.',
    ],
  ],
  grype: [
    [
      /max allowed age/i,
      'Grype refuses its vulnerability database because it is too old. Let it download a new one (with network), or set GRYPE_DB_VALIDATE_AGE=false to use the old one.',
    ],
    [
      /database does not exist|failed to load vulnerability db|unable to (?:download|update)|error updating db/i,
      'Grype has no vulnerability database, so nothing was checked. Let it download one (without ASPM_SCANNERS_OFFLINE, with network), or set GRYPE_DB_CACHE_DIR to a folder that holds one.',
    ],
  ],
};

/** Semgrep is silent on its standard error and tells in its report why it could not run. */
const semgrepErrors = z.object({ errors: z.array(z.object({ message: z.string() })).min(1) });

export function explainFailure(scanner: Scanner, outcome: ProcessOutcome, report: unknown): string {
  const { startError, stderr, endedBy, exitCode } = outcome;
  if (startError !== null) return `${scanner} could not be started (${startError}).`;
  const advice = ADVICE[scanner]?.find(([pattern]) => pattern.test(stderr));
  if (advice !== undefined) return advice[1];
  const errors = semgrepErrors.safeParse(report);
  const told = tailOf(errors.success ? errors.data.errors.map(({ message }) => message).join('\n') : stderr);
  const killed = endedBy === 'SIGKILL' ? `${endedBy}: perhaps the machine ran out of memory` : endedBy;
  const how = endedBy === null ? `exit code ${exitCode}` : `signal ${killed}`;
  return `${scanner} failed (${how})${told === '' ? '.' : `: ${told}`}`;
}

/** The end of a scanner's output without colours, credentials in addresses, and anything that looks like a token. */
export function tailOf(output: string): string {
  const plain = stripVTControlCharacters(output.slice(-8 * TAIL_LENGTH))
    .replace(/\/\/[^/@\s]*@/g, '//')
    .replace(/[A-Za-z0-9+_=-]{20,}/g, (word) =>
      /\d/.test(word) && /[A-Za-z]/.test(word) ? 'REDACTED' : word,
    )
    .replace(/\s+/g, ' ')
    .trim();
  return plain.length <= TAIL_LENGTH ? plain : `…${plain.slice(-TAIL_LENGTH)}`;
}
