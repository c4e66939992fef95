import * as z from 'zod';
import { FINDING_STATUSES, SCANNERS, SEVERITIES, SUPPRESSION_REASONS } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import {
  commaSeparated,
  commaSeparatedIds,
  cursorListOf,
  opaqueId,
  opaqueIdInput,
  pageQuery,
  queryBoolean,
  queryInteger,
  text,
} from '../schemas/common.ts';
import { CveId, FindingSelection } from '../schemas/finding-selection.ts';
import { Finding, FindingSummary } from '../schemas/records.ts';

const filters = {
  severity: commaSeparated(SEVERITIES).optional(),
  status: commaSeparated(FINDING_STATUSES).optional(),
  scanner: commaSeparated(SCANNERS).optional(),
  cve_id: CveId.optional(),
  age_min: queryInteger(0, 100_000).optional(),
  age_max: queryInteger(0, 100_000).optional(),
};

const sort = z.enum(['severity', '-severity', 'created_at', '-created_at']).default('-severity');

const scopeFilters = {
  project_id: opaqueIdInput('project').optional(),
  sub_project_id: opaqueIdInput('project').optional(),
  asset_id: opaqueIdInput('asset').optional(),
};

/** Additions to the specification's parameters: due dates, and going on where the last page ended. */
const additions = {
  overdue: queryBoolean().optional(),
  cursor: z
    .string()
    .min(1)
    .max(300)
    .meta({ description: '`pagination.next_cursor` of the page before, in place of `page`' })
    .optional(),
};

const findingParams = z.object({ finding_id: opaqueIdInput('finding') });

/** Long enough for a write-up, short enough for an item of the table. */
const Notes = text(10_000);

const FindingUpdate = z
  .object({
    status: z.enum(FINDING_STATUSES).optional(),
    /** A member's id or e-mail; null clears it. */
    assignee: z
      .union([opaqueIdInput('user'), z.email()], {
        error: 'must be the id or the e-mail address of a member',
      })
      .nullish(),
    notes: Notes.nullish(),
  })
  .meta({ id: 'FindingUpdate' });

const FindingSuppression = z
  .object({
    reason: z.enum(SUPPRESSION_REASONS),
    comment: text(2000).nullish(),
    expires_at: z.iso.datetime({ offset: true }).nullish(),
  })
  .meta({ id: 'FindingSuppression' });

/** Findings of one bulk update; a filter that matches more goes on by `next_cursor`. */
export const BULK_FINDINGS = 500;

const BulkUpdate = z
  .object({
    finding_ids: z.array(opaqueIdInput('finding')).min(1).max(BULK_FINDINGS).optional(),
    filter: FindingSelection.optional(),
    cursor: z.string().min(1).max(300).optional(),
    update: z.object({ ...FindingUpdate.shape, suppression: FindingSuppression.optional() }),
  })
  .superRefine(({ finding_ids, filter }, context) => {
    if ((finding_ids === undefined) === (filter === undefined))
      context.addIssue({
        code: 'custom',
        path: ['finding_ids'],
        message: 'is required unless there is a filter, and excludes one',
      });
  })
  .superRefine(({ update }, context) => {
    if (update.suppression && (update.status ?? 'suppressed') !== 'suppressed')
      context.addIssue({
        code: 'custom',
        path: ['update', 'status'],
        message: 'must be suppressed where there is a suppression',
      });
  })
  .meta({ id: 'FindingBulkUpdate' });

const BulkResult = z
  .object({
    results: z.array(
      z.object({
        id: opaqueId('finding'),
        outcome: z.enum(['updated', 'unchanged', 'not_found', 'conflict']),
      }),
    ),
    updated: z.int().min(0),
    unchanged: z.int().min(0),
    failed: z.int().min(0),
    /** Findings that the filter matched before the update; the number of ids where these were sent. */
    total: z.int().min(0),
    /** To go on with a filter that matches more; null: this was the last part. */
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'FindingBulkResult' });

export const findings = declareGroup('findings', {
  listFindings: {
    family: 'B',
    method: 'GET',
    path: '/api/findings',
    summary: 'Findings of the organization, filtered',
    permission: 'findings:read',
    // The specification's parameters in its order, then ours.
    query: z.object({
      ...pageQuery,
      ...filters,
      ...scopeFilters,
      sort,
      id: commaSeparatedIds('finding').optional(),
      ...additions,
    }),
    response: { status: 200, schema: cursorListOf(Finding) },
    errors: [],
  },
  listAssetFindings: {
    family: 'B',
    method: 'GET',
    path: '/api/assets/{asset_id}/findings',
    summary: 'Findings of one asset, filtered',
    permission: 'projects:read',
    params: z.object({ asset_id: opaqueIdInput('asset') }),
    query: z.object({ ...pageQuery, ...filters, sort, ...additions }),
    response: { status: 200, schema: cursorListOf(Finding) },
    errors: [],
  },
  getFindingSummary: {
    family: 'B',
    method: 'GET',
    path: '/api/findings/summary',
    summary: 'Counts of findings by severity, status and scanner',
    permission: 'findings:read',
    query: z.object(scopeFilters),
    response: { status: 200, schema: FindingSummary },
    errors: [],
  },
  getFinding: {
    family: 'B',
    method: 'GET',
    path: '/api/findings/{finding_id}',
    summary: 'One finding',
    permission: 'findings:read',
    params: findingParams,
    response: { status: 200, schema: Finding },
    errors: [],
  },
  updateFinding: {
    family: 'B',
    method: 'PATCH',
    path: '/api/findings/{finding_id}',
    summary: 'Set status, assignee or notes',
    permission: 'findings:write',
    params: findingParams,
    body: FindingUpdate,
    response: { status: 200, schema: Finding },
    errors: ['conflict'],
  },
  suppressFinding: {
    family: 'B',
    method: 'POST',
    path: '/api/findings/{finding_id}/suppress',
    summary: 'Suppress a finding, for a reason and perhaps until a time',
    permission: 'findings:write',
    params: findingParams,
    body: FindingSuppression,
    bodyOptional: true,
    response: { status: 200, schema: Finding },
    errors: ['conflict'],
  },
  bulkUpdateFindings: {
    family: 'B',
    method: 'POST',
    path: '/api/findings/bulk',
    summary: 'The same update for up to 500 findings, or for all that a filter matches',
    permission: 'findings:write',
    addition: true,
    body: BulkUpdate,
    response: { status: 200, schema: BulkResult },
    errors: ['not_found'],
  },
  reopenFinding: {
    family: 'B',
    method: 'POST',
    path: '/api/findings/{finding_id}/reopen',
    summary: 'Reopen a suppressed finding',
    permission: 'findings:write',
    params: findingParams,
    response: { status: 200, schema: Finding },
    errors: ['conflict'],
  },
});
