import { randomUUID } from 'node:crypto';
import { timestamp } from '#domain/clock.ts';
import type { AssetRecord } from '#store/assets.ts';
import type { FindingRecord } from '#store/finding-record.ts';

/** Attribution of what tests write below the API. */
export const testAttribution = (at = Date.now()) => ({
  actor: { type: 'system' as const, id: null, name: 'test' },
  requestId: null,
  ip: null,
  at,
});

export function sampleAsset(change: Partial<AssetRecord> = {}): AssetRecord {
  const id = change.id ?? randomUUID();
  return {
    id,
    name: `asset ${id}`,
    full_name: 'team/asset',
    type: 'repository',
    provider: 'manual',
    clone_url: `https://git.example.com/${id}.git`,
    default_branch: 'main',
    project_id: null,
    sub_project_id: null,
    integration_id: null,
    criticality: 'medium',
    tags: [],
    last_scan_at: null,
    created_at: timestamp(Date.now()),
    updated_at: timestamp(Date.now()),
    ...change,
  };
}

export function sampleFinding(
  orgId: string,
  assetId: string,
  change: Partial<FindingRecord> = {},
): FindingRecord {
  const now = timestamp(Date.now());
  return {
    id: randomUUID(),
    org_id: orgId,
    asset_id: assetId,
    scanner: 'semgrep',
    severity: 'high',
    status: 'open',
    suppressed_in_repository: null,
    title: 'SQL injection',
    description: 'User input reaches a query.',
    rule_id: 'python-sql-built-string',
    category: 'code',
    cve_id: null,
    cwe: ['CWE-89'],
    cvss_score: null,
    epss_score: null,
    epss_percentile: null,
    kev: false,
    package: null,
    location: { path: 'app/db.py', start_line: 3, end_line: 3 },
    fix: null,
    fingerprint: randomUUID(),
    tool: null,
    revision: 1,
    reported: true,
    status_set_by: 'scanner',
    status_without_policy: null,
    first_seen_scan_id: randomUUID(),
    last_seen_scan_id: randomUUID(),
    resolved_by_scan_id: null,
    created_at: now,
    updated_at: now,
    resolved_at: null,
    assignee: null,
    notes: null,
    suppression: null,
    priority: null,
    owner: null,
    routed_to: null,
    policy_results: [],
    ...change,
  };
}
