import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { HidingKind, Scanner } from '#domain/vocabulary.ts';
import { type HiddenFinding, hiddenBy } from '#shared/reports/hidden.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import type { SourceLines } from './source-lines.ts';
import type { TrackedFile } from './tracked-files.ts';

/** What a repository has for a scanner to honour. */
export interface RepositoryFiles {
  readonly checkout: string;
  readonly files: readonly TrackedFile[];
  /** Files with Trivy's comments. */
  readonly commented: readonly string[];
  readonly readLines: SourceLines;
}

const TRIVY_FILES = ['.trivyignore', '.trivyignore.yaml', '.trivyignore.yml', 'trivy-secret.yaml'];
const NOSEMGREP = /\bnosem(?:grep)?\b/i;

/** Whether a second run, with what the repository excludes, could show less than the first one did. */
export async function mayHide(
  scanner: Scanner,
  found: readonly ReportedFinding[],
  repository: RepositoryFiles,
): Promise<boolean> {
  const { files, commented } = repository;
  if (found.length === 0) return false;
  switch (scanner) {
    // Comments in its history count too, and a run takes a third of a second.
    case 'gitleaks':
      return true;
    case 'trivy':
      return commented.length > 0 || files.some(({ path }) => TRIVY_FILES.includes(path));
    case 'semgrep':
      if (files.some(({ path }) => basename(path) === '.semgrepignore')) return true;
      for (const finding of found) if (await hasComment(finding, NOSEMGREP, repository)) return true;
      return false;
    // Its exclusions are part of its configuration, which is never the repository's.
    case 'grype':
      return false;
  }
}

/** Those of the findings that a run with the repository's exclusions and comments does not show, and why. */
export async function hiddenOf(
  scanner: Scanner,
  found: readonly ReportedFinding[],
  shown: readonly ReportedFinding[],
  repository: RepositoryFiles,
): Promise<HiddenFinding[]> {
  const nameOf = scanner === 'semgrep' ? placeOf : ({ fingerprint }: ReportedFinding) => fingerprint;
  const names = new Set(shown.map(nameOf));
  const hidden: HiddenFinding[] = [];
  for (const finding of found) {
    if (names.has(nameOf(finding))) continue;
    hidden.push(hiddenBy(await kindOf(scanner, finding, repository), finding));
  }
  return hidden;
}

/** Equal code is told apart by its order, which changes with what is shown: by its place it is the same. */
function placeOf({ rule_id, location }: ReportedFinding): string {
  return JSON.stringify([rule_id, location]);
}

async function kindOf(
  scanner: Scanner,
  finding: ReportedFinding,
  repository: RepositoryFiles,
): Promise<HidingKind> {
  if (scanner === 'semgrep')
    return (await hasComment(finding, NOSEMGREP, repository)) ? 'nosemgrep' : 'semgrepignore';
  return scanner === 'gitleaks' ? kindOfLeak(finding, repository) : kindOfTrivy(finding, repository);
}

async function kindOfLeak(finding: ReportedFinding, repository: RepositoryFiles): Promise<HidingKind> {
  const { rule_id, location } = finding;
  if (await hasComment(finding, /gitleaks:allow/, repository)) return 'gitleaks_allow';
  const ignored = await contentsOf('.gitleaksignore', repository);
  if (ignored?.includes(`${location.path}:${rule_id}:`)) return 'gitleaksignore';
  if ((await contentsOf('.gitleaks.toml', repository)) !== null) return 'gitleaks_config';
  return 'gitleaks_allow';
}

async function kindOfTrivy(finding: ReportedFinding, repository: RepositoryFiles): Promise<HidingKind> {
  const names = [finding.rule_id, finding.cve_id].filter((name) => name !== null);
  for (const file of TRIVY_FILES) {
    const contents = await contentsOf(file, repository);
    if (contents === null || !names.some((name) => contents.includes(name))) continue;
    return file === 'trivy-secret.yaml' ? 'trivy_secret_config' : 'trivyignore';
  }
  return finding.category === 'secret' ? 'trivy_secret_config' : 'trivy_comment';
}

/** On its lines, or on the one before. */
async function hasComment(
  { location }: ReportedFinding,
  comment: RegExp,
  { readLines }: RepositoryFiles,
): Promise<boolean> {
  const { path, start_line: start, end_line: end } = location;
  if (start === null) return false;
  const lines = await readLines(path, Math.max(1, start - 1), end ?? start);
  return lines?.some((line) => comment.test(line)) === true;
}

async function contentsOf(path: string, { checkout }: RepositoryFiles): Promise<string | null> {
  return readFile(join(checkout, path), 'utf8').catch(() => null);
}
