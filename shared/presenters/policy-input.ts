import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';
import { toOpaque } from '#domain/ids.ts';
import { SEVERITIES } from '#domain/vocabulary.ts';
import type { AssetRecord } from '#store/assets.ts';
import type { OrganizationRecord } from '#store/organizations.ts';
import type { ProjectRecord } from '#store/projects.ts';
import type { ScanRecord } from '#store/scans.ts';

type ShownFinding = z.input<typeof Finding>;

/** What a policy is told besides the finding; null: there is none, or it is not known any more. */
export interface PolicyInputContext {
  readonly asset: AssetRecord | null;
  readonly project: ProjectRecord | null;
  readonly organization: OrganizationRecord | null;
  /** The one that saw the finding last. */
  readonly scan: Omit<ScanRecord, 'counts'> | null;
}

/**
 * The input of an evaluation (design 6): the finding as Family B shows it, but numbers are never null and it
 * lacks `updated_at`; and what surrounds it, without what changes while scans run (counts, progress), so that the same finding is
 * judged alike whenever it is.
 */
export function policyInput(
  finding: ShownFinding,
  { asset, project, organization, scan }: PolicyInputContext,
) {
  return {
    finding: withNumbers(finding),
    asset: asset && {
      id: toOpaque('asset', asset.id),
      name: asset.name,
      full_name: asset.full_name,
      type: asset.type,
      provider: asset.provider,
      clone_url: asset.clone_url,
      default_branch: asset.default_branch,
      criticality: asset.criticality,
      tags: asset.tags,
      project_id: asset.project_id && toOpaque('project', asset.project_id),
      sub_project_id: asset.sub_project_id && toOpaque('project', asset.sub_project_id),
    },
    project: project && {
      id: toOpaque('project', project.id),
      name: project.name,
      description: project.description,
      team_id: project.team_id && toOpaque('team', project.team_id),
    },
    organization: organization && {
      id: toOpaque('organization', organization.id),
      name: organization.name,
      slug: organization.slug,
      tier: organization.tier,
    },
    scan: scan && {
      id: toOpaque('scan', scan.id),
      scope: scan.scope,
      branch: scan.branch,
      commit: scan.commit,
      trigger: scan.trigger,
      created_at: scan.created_at,
    },
  };
}

/**
 * 0 where a number is unknown: `finding.epss_score < 0.1` is then true, not undefined. Without `updated_at`, which
 * moves with what policies decide: one that looks at it would never come to rest. Nor with what hides it in the
 * repository: that is no word of the organization's.
 */
function withNumbers({ updated_at: _, suppressed_in_repository: __, ...finding }: ShownFinding) {
  const { location } = finding;
  return {
    ...finding,
    cvss_score: finding.cvss_score ?? 0,
    epss_score: finding.epss_score ?? 0,
    epss_percentile: finding.epss_percentile ?? 0,
    location: {
      ...location,
      start_line: location.start_line ?? 0,
      end_line: location.end_line ?? 0,
    },
  };
}

const ID = '0199c0de-5eed-7000-a000-0000000000aa';
const AT = '2026-01-31T12:00:00.000Z';

/** Inputs that a save evaluates to find conflicts: one for each severity. */
export const SAMPLE_INPUTS = SEVERITIES.map((severity, index) =>
  policyInput(
    {
      id: toOpaque('finding', ID),
      title: 'Prototype pollution in lodash',
      description: 'A key of a merged object can change the prototype of all objects.',
      severity,
      status: 'open',
      scanner: index % 2 === 0 ? 'grype' : 'semgrep',
      tool: null,
      rule_id: 'CVE-2020-8203',
      category: index % 2 === 0 ? 'vulnerability' : 'code',
      cve_id: index % 2 === 0 ? 'CVE-2020-8203' : null,
      cwe: ['CWE-1321'],
      cvss_score: 10 - 2.2 * index,
      epss_score: 0.9 / (index + 1),
      epss_percentile: 0.99 / (index + 1),
      kev: index === 0,
      package:
        index % 2 === 0
          ? { name: 'lodash', version: '4.17.15', fixed_version: '4.17.19', purl: 'pkg:npm/lodash@4.17.15' }
          : null,
      location: { path: 'src/index.ts', start_line: 7, end_line: 7 },
      fix: null,
      project_id: toOpaque('project', ID),
      sub_project_id: null,
      asset_id: toOpaque('asset', ID),
      first_seen_scan_id: toOpaque('scan', ID),
      last_seen_scan_id: toOpaque('scan', ID),
      created_at: AT,
      updated_at: AT,
      age_days: index * 30,
      resolved_at: null,
      sla_due_at: null,
      assignee: null,
      notes: null,
      suppression: null,
      suppressed_in_repository: null,
      priority: null,
      owner: null,
      policy_results: [],
      fingerprint: 'sample',
    },
    {
      asset: {
        id: ID,
        name: 'service',
        full_name: 'team/service',
        type: 'repository',
        provider: 'github',
        clone_url: 'https://git.example.com/team/service.git',
        default_branch: 'main',
        project_id: ID,
        sub_project_id: null,
        integration_id: null,
        criticality: 'high',
        tags: ['internet'],
        last_scan_at: AT,
        created_at: AT,
        updated_at: AT,
      },
      project: {
        id: ID,
        name: 'payments',
        description: null,
        parent_id: null,
        team_id: null,
        asset_count: 1,
        sub_project_count: 0,
        created_at: AT,
        updated_at: AT,
      },
      organization: {
        id: ID,
        name: 'Example',
        slug: 'example',
        tier: 'pro',
        settings: {
          sla_days: { critical: 7, high: 30, medium: 90, low: 180, info: null },
          scan_schedule: null,
          auto_resolve: true,
          repository_exclusions: 'overrule',
        },
        created_at: AT,
        updated_at: AT,
      },
      scan: null,
    },
  ),
);
