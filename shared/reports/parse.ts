import type { Scanner } from '#domain/vocabulary.ts';
import { GITLEAKS_SHAPE, gitleaksTop, parseGitleaks } from './gitleaks.ts';
import { GRYPE_SHAPE, grypeTop, parseGrype } from './grype.ts';
import type { ParsedReport } from './result.ts';
import { parseTop } from './result.ts';
import { parseSemgrep, SEMGREP_SHAPE, semgrepTop } from './semgrep.ts';
import { parseTrivy, TRIVY_SHAPE, trivyTop } from './trivy.ts';

export type { ParsedReport } from './result.ts';
export { InvalidReportError } from './result.ts';

const PARSERS: Readonly<Record<Scanner, (report: unknown) => ParsedReport>> = {
  semgrep: parseSemgrep,
  grype: parseGrype,
  trivy: parseTrivy,
  gitleaks: parseGitleaks,
};

/**
 * A scanner's own JSON as findings, each identity once, in an order that depends on the contents alone.
 * @throws InvalidReportError where it is not that scanner's report, or none of its results is readable.
 */
export function parseReport(scanner: Scanner, report: unknown): ParsedReport {
  return PARSERS[scanner](report);
}

/**
 * Whether this can be a report of that scanner: its outer shape alone, for who has not read the results yet.
 * @throws InvalidReportError
 */
export function recogniseReport(scanner: Scanner, report: unknown): void {
  switch (scanner) {
    case 'semgrep':
      parseTop(scanner, semgrepTop, report, SEMGREP_SHAPE);
      return;
    case 'grype':
      parseTop(scanner, grypeTop, report, GRYPE_SHAPE);
      return;
    case 'trivy':
      parseTop(scanner, trivyTop, report, TRIVY_SHAPE);
      return;
    case 'gitleaks':
      parseTop(scanner, gitleaksTop, report, GITLEAKS_SHAPE);
      return;
  }
}
