import * as z from 'zod';
import { FINDING_STATUSES, SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import {
  commaSeparated,
  commaSeparatedIds,
  listOf,
  opaqueIdInput,
  pageQuery,
  queryInteger,
} from '../schemas/common.ts';
import { Finding, FindingSummary } from '../schemas/records.ts';

const filters = {
  severity: commaSeparated(SEVERITIES).optional(),
  status: commaSeparated(FINDING_STATUSES).optional(),
  scanner: commaSeparated(SCANNERS).optional(),
  cve_id: z
    .string()
    .trim()
    .toUpperCase()
    .regex(/^CVE-\d{4}-\d{4,}$/, 'must be a CVE identifier such as CVE-2020-7471')
    .optional(),
  age_min: queryInteger(0, 100_000).optional(),
  age_max: queryInteger(0, 100_000).optional(),
};

const sort = z.enum(['severity', '-severity', 'created_at', '-created_at']).default('-severity');

const scopeFilters = {
  project_id: opaqueIdInput('project').optional(),
  sub_project_id: opaqueIdInput('project').optional(),
  asset_id: opaqueIdInput('asset').optional(),
};

/** The parameters of `GET /api/findings`, in the specification's order. */
const findingListQuery = z.object({
  ...pageQuery,
  ...filters,
  ...scopeFilters,
  sort,
  id: commaSeparatedIds('finding').optional(),
});

export const findings = declareGroup('findings', {
  listFindings: {
    family: 'B',
    method: 'GET',
    path: '/api/findings',
    summary: 'Findings of the organization, filtered',
    permission: 'findings:read',
    query: findingListQuery,
    response: { status: 200, schema: listOf(Finding) },
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
    params: z.object({ finding_id: opaqueIdInput('finding') }),
    response: { status: 200, schema: Finding },
    errors: [],
  },
});
