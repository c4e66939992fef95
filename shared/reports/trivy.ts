import * as z from 'zod';
import type { Severity } from '#domain/vocabulary.ts';
import {
  cveOf,
  cweIds,
  descriptionOf,
  highest,
  packageName,
  purlWithoutVersion,
  reportedPath,
  ruleId,
  titleOf,
  titleOfRule,
  told,
  upgradeTo,
} from './normalise.ts';
import type { ReportedFinding } from './reported-finding.ts';
import type { ParsedReport } from './result.ts';
import {
  compareText,
  fingerprintOf,
  numberOccurrences,
  parseTop,
  ResultReader,
  settle,
  unreadable,
  whichSecret,
} from './result.ts';

export const trivyTop = z.object({ SchemaVersion: z.number(), Results: z.array(z.unknown()).nullish() });
export const TRIVY_SHAPE = 'it has no "SchemaVersion".';

const target = z.object({
  Target: reportedPath,
  Packages: told.list,
  Vulnerabilities: z.unknown().optional(),
  Misconfigurations: z.unknown().optional(),
  Secrets: z.unknown().optional(),
});
type Target = z.output<typeof target>;

const lines = { StartLine: told.line, EndLine: told.line };
const identifier = z.object({ PURL: told.text, UID: told.text }).nullish().catch(null);

const packageLocation = z.object({
  Name: told.text,
  Version: told.text,
  Identifier: identifier,
  Locations: z.array(z.object(lines)).nullish().catch(null),
});

export const vulnerability = z.object({
  VulnerabilityID: ruleId,
  VendorIDs: told.texts,
  PkgName: packageName,
  PkgIdentifier: identifier,
  PkgPath: told.text,
  InstalledVersion: z.string().catch(''),
  FixedVersion: told.text,
  Title: told.text,
  Description: told.text,
  Severity: told.text,
  CweIDs: told.texts,
  CVSS: z
    .record(z.string(), z.object({ V3Score: told.number, V40Score: told.number }).catch({}))
    .nullish()
    .catch(null),
});
type Vulnerability = z.output<typeof vulnerability>;

const misconfiguration = z.object({
  ID: ruleId,
  Title: told.text,
  Description: told.text,
  Message: told.text,
  Resolution: told.text,
  Severity: told.text,
  Status: told.text,
  CauseMetadata: z
    .object({ ...lines, Resource: told.text })
    .nullish()
    .catch(null),
});
type Misconfiguration = z.output<typeof misconfiguration>;

const secret = z.object({
  RuleID: ruleId,
  Title: told.text,
  Category: told.text,
  Severity: told.text,
  ...lines,
  /** Added by the runner: see `sanitise.ts`. */
  secret_hmac: told.text,
  match_hmac: told.text,
});
type Secret = z.output<typeof secret>;

const SEVERITY: Readonly<Record<string, Severity>> = {
  CRITICAL: 'critical',
  HIGH: 'high',
  MEDIUM: 'medium',
  LOW: 'low',
  UNKNOWN: 'info',
};

/** What a finding of Trivy has only if its kind tells it. */
const NOT_TOLD = {
  scanner: 'trivy',
  cve_id: null,
  cwe: [],
  cvss_score: null,
  // Trivy knows neither EPSS nor KEV; enrichment joins them.
  epss_score: null,
  epss_percentile: null,
  kev: false,
  package: null,
  fix: null,
} as const;

/** Trivy's JSON: vulnerabilities, misconfigurations and secrets by target. Its own fingerprints change with every commit. */
export function parseTrivy(report: unknown): ParsedReport {
  const top = parseTop('trivy', trivyTop, report, TRIVY_SHAPE);
  const targets = new ResultReader('trivy');
  const reader = new ResultReader('trivy');
  const findings = targets
    .read(target, top.Results)
    .flatMap((one) => [
      ...reader.read(vulnerability, one.Vulnerabilities).map((item) => vulnerabilityFinding(one, item)),
      ...misconfigurationFindings(one, reader.read(misconfiguration, one.Misconfigurations)),
      ...secretFindings(one, reader.read(secret, one.Secrets)),
    ]);
  return {
    findings: settle(findings),
    warnings: [...targets.warnings(), ...reader.warnings()],
    incomplete: unreadable(targets, reader),
    unread: [],
  };
}

function vulnerabilityFinding(one: Target, item: Vulnerability): ReportedFinding {
  const cve = cveOf([item.VulnerabilityID]) ?? cveOf(item.VendorIDs ?? []);
  const purl = item.PkgIdentifier?.PURL || null;
  const fixed = item.FixedVersion || null;
  const scores = Object.values(item.CVSS ?? {}).flatMap(({ V3Score, V40Score }) => [V3Score, V40Score]);
  // A package found inside an installed tree has a path of its own under a collective target.
  const path = item.PkgPath ? reportedPath.parse(item.PkgPath) : one.Target;
  return {
    ...NOT_TOLD,
    rule_id: item.VulnerabilityID,
    title: titleOf(item.Title || `${item.VulnerabilityID} in ${item.PkgName}`),
    description: descriptionOf(
      item.Description || item.Title || `${item.VulnerabilityID} in ${item.PkgName}`,
    ),
    severity: severityOf(item.Severity),
    category: 'vulnerability',
    cve_id: cve,
    cwe: cweIds(item.CweIDs ?? []),
    cvss_score: highest(scores, 10),
    package: { name: item.PkgName, version: item.InstalledVersion, fixed_version: fixed, purl },
    location: { path, ...packageLines(one, item) },
    fix: upgradeTo(item.PkgName, fixed),
    fingerprint: fingerprintOf(
      'trivy',
      'vulnerability',
      cve ?? item.VulnerabilityID,
      purl === null ? item.PkgName : purlWithoutVersion(purl),
      path,
    ),
  };
}

/** The line of the lockfile that names the package, told beside the vulnerabilities. */
function packageLines(one: Target, item: Vulnerability) {
  for (const raw of one.Packages ?? []) {
    const parsed = packageLocation.safeParse(raw);
    if (!parsed.success) continue;
    const { Name, Version, Identifier, Locations } = parsed.data;
    const uid = item.PkgIdentifier?.UID;
    const same = uid ? Identifier?.UID === uid : Name === item.PkgName && Version === item.InstalledVersion;
    if (same) return placeOf(Locations?.[0]);
  }
  return placeOf(null);
}

function misconfigurationFindings(one: Target, items: readonly Misconfiguration[]): ReportedFinding[] {
  // With its non-failures included, Trivy lists the checks that passed too.
  const failed = items.filter(({ Status }) => Status === null || Status === undefined || Status === 'FAIL');
  const distinct = [...new Map(failed.map((item) => [JSON.stringify(item), item])).values()];
  const resource = (item: Misconfiguration) => item.CauseMetadata?.Resource || null;
  const numbered = numberOccurrences(
    distinct,
    (item) => JSON.stringify([item.ID, resource(item)]),
    (a, b) => byLine(a.CauseMetadata, b.CauseMetadata) || compareText(a.Message ?? '', b.Message ?? ''),
  );
  return numbered.map(({ item, occurrence }) => ({
    ...NOT_TOLD,
    rule_id: item.ID,
    title: titleOf(item.Title || titleOfRule(item.ID)),
    description: descriptionOf(item.Message, item.Description),
    severity: severityOf(item.Severity),
    category: 'misconfiguration',
    location: { path: one.Target, ...placeOf(item.CauseMetadata) },
    fix: item.Resolution ? descriptionOf(item.Resolution) : null,
    fingerprint: fingerprintOf('trivy', 'misconfiguration', item.ID, one.Target, resource(item), occurrence),
  }));
}

/** Without a checkout secrets are told apart by the line that they stand in, and only equal lines by their order. */
function secretFindings(one: Target, items: readonly Secret[]): ReportedFinding[] {
  const numbered = numberOccurrences(
    items,
    (item) => JSON.stringify([item.RuleID, item.match_hmac ?? null]),
    byLine,
  );
  return numbered.map(({ item, occurrence }) => ({
    ...NOT_TOLD,
    rule_id: item.RuleID,
    title: titleOf(item.Title || titleOfRule(item.RuleID)),
    description: descriptionOf(`${item.Title || titleOfRule(item.RuleID)} in ${one.Target}`),
    severity: severityOf(item.Severity),
    category: 'secret',
    cwe: ['CWE-798'],
    location: { path: one.Target, ...placeOf(item) },
    fix: 'Revoke the secret, then remove it from the history',
    fingerprint: fingerprintOf('trivy', 'secret', item.RuleID, one.Target, ...whichSecret(item, occurrence)),
  }));
}

function severityOf(severity: string | null | undefined): Severity {
  return SEVERITY[(severity ?? 'UNKNOWN').toUpperCase()] ?? 'info';
}

type Lines =
  | { StartLine?: number | null | undefined; EndLine?: number | null | undefined }
  | null
  | undefined;

function placeOf(place: Lines) {
  return { start_line: place?.StartLine ?? null, end_line: place?.EndLine ?? place?.StartLine ?? null };
}

function byLine(a: Lines, b: Lines): number {
  return (a?.StartLine ?? 0) - (b?.StartLine ?? 0) || (a?.EndLine ?? 0) - (b?.EndLine ?? 0);
}
