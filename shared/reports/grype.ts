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
  told,
  upgradeTo,
} from './normalise.ts';
import type { ReportedFinding } from './reported-finding.ts';
import type { ParsedReport } from './result.ts';
import { compareText, fingerprintOf, parseTop, ResultReader, settle, unreadable } from './result.ts';

export const grypeTop = z.object({ matches: z.array(z.unknown()) });
export const GRYPE_SHAPE = 'it has no "matches" list.';

function list<S extends z.ZodType>(item: S) {
  return z.array(item).nullish().catch(null);
}

/** What the matched advisory and those related to it both tell; the related one is often the CVE itself. */
const advisory = z.object({
  id: ruleId,
  severity: told.text,
  description: told.text,
  cvss: list(
    z.object({ version: told.text, metrics: z.object({ baseScore: told.number }).nullish().catch(null) }),
  ),
  epss: list(z.object({ epss: told.number, percentile: told.number })),
  knownExploited: told.list,
  cwes: list(z.object({ cwe: told.text })),
});

export const match = z.object({
  vulnerability: advisory.extend({
    fix: z.object({ versions: told.texts, state: told.text }).nullish().catch(null),
  }),
  relatedVulnerabilities: list(advisory),
  matchDetails: list(z.object({ fix: z.object({ suggestedVersion: told.text }).nullish().catch(null) })),
  artifact: z.object({
    name: packageName,
    version: z.string().catch(''),
    type: told.text,
    purl: told.text,
    locations: list(
      z.object({
        path: reportedPath,
        annotations: z.object({ evidence: told.text }).nullish().catch(null),
      }),
    ),
  }),
});
type Match = z.output<typeof match>;

const SEVERITY: Readonly<Record<string, Severity>> = {
  critical: 'critical',
  high: 'high',
  medium: 'medium',
  low: 'low',
  negligible: 'info',
  unknown: 'info',
};

/** Grype's JSON. An advisory that is matched by several names (GHSA and CVE) is one finding. */
export function parseGrype(report: unknown): ParsedReport {
  const top = parseTop('grype', grypeTop, report, GRYPE_SHAPE);
  const reader = new ResultReader('grype');
  const findings = reader.read(match, top.matches).map(findingOf);
  return {
    findings: settle(findings),
    warnings: reader.warnings(),
    incomplete: unreadable(reader),
    unread: [],
  };
}

function findingOf({
  vulnerability,
  relatedVulnerabilities,
  matchDetails,
  artifact,
}: Match): ReportedFinding {
  const advisories = [vulnerability, ...(relatedVulnerabilities ?? [])];
  const cve = cveOf([vulnerability.id]) ?? cveOf(advisories.map(({ id }) => id));
  const path = pathOf(artifact);
  const fixed = fixedVersion(vulnerability, matchDetails);
  const description = vulnerability.description ?? advisories.find((one) => one.description)?.description;
  const likelihood = advisories
    .flatMap(({ epss }) => epss ?? [])
    .sort((a, b) => (b.epss ?? 0) - (a.epss ?? 0) || (b.percentile ?? 0) - (a.percentile ?? 0))[0];
  return {
    scanner: 'grype',
    rule_id: vulnerability.id,
    title: titleOf(`${cve ?? vulnerability.id}${description ? `: ${description}` : ` in ${artifact.name}`}`),
    description: descriptionOf(description ?? `${vulnerability.id} in ${artifact.name} ${artifact.version}`),
    severity: SEVERITY[(vulnerability.severity ?? 'unknown').toLowerCase()] ?? 'info',
    category: 'vulnerability',
    cve_id: cve,
    cwe: cweIds(...advisories.flatMap(({ cwes }) => (cwes ?? []).map(({ cwe }) => cwe))),
    cvss_score: highest(advisories.flatMap(modernScores), 10),
    epss_score: highest([likelihood?.epss], 1),
    epss_percentile: highest([likelihood?.percentile], 1),
    kev: advisories.some(({ knownExploited }) => (knownExploited ?? []).length > 0),
    package: {
      name: artifact.name,
      version: artifact.version,
      fixed_version: fixed,
      purl: artifact.purl || null,
    },
    location: { path, start_line: null, end_line: null },
    fix: upgradeTo(artifact.name, fixed),
    fingerprint: fingerprintOf('grype', cve ?? vulnerability.id, packageOf(artifact), path),
  };
}

function packageOf({ purl, type, name }: Match['artifact']): string {
  return purl ? purlWithoutVersion(purl) : `${type ?? 'unknown'}/${name}`;
}

/** The file that proves the package; of several the first by name, so that their order does not matter. */
function pathOf({ locations, name }: Match['artifact']): string {
  const primary = (one: { annotations?: { evidence?: string | null | undefined } | null | undefined }) =>
    one.annotations?.evidence === 'primary' ? 0 : 1;
  const sorted = [...(locations ?? [])].sort(
    (a, b) => primary(a) - primary(b) || compareText(a.path, b.path),
  );
  return sorted[0]?.path ?? name;
}

function fixedVersion({ fix }: Match['vulnerability'], details: Match['matchDetails']): string | null {
  const suggested = details?.map((detail) => detail.fix?.suggestedVersion).find((version) => version);
  if (suggested) return suggested;
  const versions = fix?.state === 'fixed' ? (fix.versions ?? []) : [];
  return versions.length === 0 ? null : versions.join(', ');
}

/** CVSS 2 is another scale. */
function modernScores({ cvss }: z.output<typeof advisory>): (number | null | undefined)[] {
  return (cvss ?? [])
    .filter(({ version }) => /^[34]/.test(version ?? ''))
    .map(({ metrics }) => metrics?.baseScore);
}
