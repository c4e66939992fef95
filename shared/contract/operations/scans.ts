import * as z from 'zod';
import { fromOpaque, ID_PREFIXES } from '#domain/ids.ts';
import { SCAN_STATUSES, SCANNERS, SCOPES, type Scope, SEVERITIES } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import {
  BranchName,
  commaSeparated,
  deletedOf,
  listOf,
  opaqueIdInput,
  pageQuery,
} from '../schemas/common.ts';
import { Finding, FindingSummary, Scan, ScanRun } from '../schemas/records.ts';

/** The UUID of a scan's target, which is of the kind that its scope says; null for an organization's. */
function readTarget(scope: Scope, targetId: string | null): string | null | { readonly problem: string } {
  if (scope === 'organization')
    return targetId === null ? null : { problem: 'must be absent for the scope organization' };
  if (targetId === null) return { problem: `is required for the scope ${scope}` };
  const problem = `must be an identifier of the shape ${ID_PREFIXES[scope]}_<id>`;
  return fromOpaque(scope, targetId) ?? { problem };
}

const scanParams = z.object({ scan_id: opaqueIdInput('scan') });

export const scans = declareGroup('scans', {
  createScan: {
    family: 'B',
    method: 'POST',
    path: '/api/scans',
    summary: 'Trigger a scan of the organization, a project or an asset',
    permission: 'scans:write',
    body: z
      .object({
        scope: z.enum(SCOPES),
        target_id: z.string().nullish(),
        scanners: z.array(z.enum(SCANNERS)).min(1),
        branch: BranchName.nullish(),
      })
      .transform(({ target_id, ...body }, context) => {
        const id = readTarget(body.scope, target_id ?? null);
        if (typeof id !== 'object' || id === null) return { ...body, target_id: id };
        context.issues.push({ code: 'custom', path: ['target_id'], input: target_id, message: id.problem });
        return z.NEVER;
      }),
    response: { status: 202, schema: Scan },
    errors: ['scan_already_running', 'scan_limit_exceeded', 'not_found', 'conflict'],
  },
  listScans: {
    family: 'B',
    method: 'GET',
    path: '/api/scans',
    summary: 'Scans of the organization, newest first',
    permission: 'scans:read',
    query: z.object({
      ...pageQuery,
      sort: z.enum(['created_at', '-created_at']).default('-created_at'),
      status: commaSeparated(SCAN_STATUSES).optional(),
      scope: z.enum(SCOPES).optional(),
    }),
    response: { status: 200, schema: listOf(Scan) },
    errors: [],
  },
  getScan: {
    family: 'B',
    method: 'GET',
    path: '/api/scans/{scan_id}',
    summary: 'One scan',
    permission: 'scans:read',
    params: scanParams,
    response: { status: 200, schema: Scan },
    errors: [],
  },
  getScanSummary: {
    family: 'B',
    method: 'GET',
    path: '/api/scans/{scan_id}/summary',
    summary: 'Counts of what the scan found',
    permission: 'scans:read',
    params: scanParams,
    response: { status: 200, schema: FindingSummary },
    errors: [],
  },
  listScanFindings: {
    family: 'B',
    method: 'GET',
    path: '/api/scans/{scan_id}/findings',
    summary: 'Findings that the scan reported',
    permission: 'scans:read',
    params: scanParams,
    query: z.object({
      ...pageQuery,
      sort: z.enum(['severity', '-severity', 'created_at', '-created_at']).default('-severity'),
      severity: commaSeparated(SEVERITIES).optional(),
      scanner: commaSeparated(SCANNERS).optional(),
    }),
    response: { status: 200, schema: listOf(Finding) },
    errors: [],
  },
  listScanRuns: {
    family: 'B',
    method: 'GET',
    path: '/api/scans/{scan_id}/runs',
    summary: 'Progress of the scan for each asset and scanner',
    permission: 'scans:read',
    addition: true,
    params: scanParams,
    query: z.object(pageQuery),
    response: { status: 200, schema: listOf(ScanRun) },
    errors: [],
  },
  deleteScan: {
    family: 'B',
    method: 'DELETE',
    path: '/api/scans/{scan_id}',
    summary: 'Delete a scan that has ended, with its reports; findings stay, being the asset’s',
    permission: 'scans:write',
    params: scanParams,
    response: { status: 200, schema: deletedOf('scan') },
    errors: ['conflict'],
  },
  cancelScan: {
    family: 'B',
    method: 'POST',
    path: '/api/scans/{scan_id}/cancel',
    summary: 'Cancel a queued or running scan',
    permission: 'scans:write',
    params: scanParams,
    response: { status: 200, schema: Scan },
    errors: ['conflict'],
  },
});
