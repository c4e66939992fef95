import * as z from 'zod';
import { declareGroup } from '../operation.ts';
import { opaqueId, opaqueIdInput, Timestamp } from '../schemas/common.ts';
import { FindingSelection } from '../schemas/finding-selection.ts';

const EXPORT_FORMATS = ['sarif', 'csv', 'jsonl'] as const;

const FindingExport = z
  .object({
    id: opaqueId('export'),
    format: z.enum(EXPORT_FORMATS),
    status: z.enum(['queued', 'running', 'completed', 'failed']),
    /** Findings in the file, once it is there. */
    count: z.int().min(0).nullable(),
    /** Where the file is, gzipped; made anew each time it is asked for. */
    url: z.string().nullable(),
    /** Until when that address is good. */
    expires_at: Timestamp.nullable(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    created_by: z.string(),
    created_at: Timestamp,
    finished_at: Timestamp.nullable(),
  })
  .meta({ id: 'FindingExport' });

export const exports_ = declareGroup('exports', {
  exportFindings: {
    family: 'B',
    method: 'POST',
    path: '/api/findings/export',
    summary: 'All findings that a filter matches as one file: SARIF, CSV or JSON Lines',
    permission: 'findings:read',
    addition: true,
    body: z
      .object({ format: z.enum(EXPORT_FORMATS), filter: FindingSelection.default({}) })
      .meta({ id: 'FindingExportRequest' }),
    response: { status: 202, schema: FindingExport },
    errors: [],
  },
  getFindingExport: {
    family: 'B',
    method: 'GET',
    path: '/api/findings/exports/{export_id}',
    summary: 'An export, with the address of its file once that is there',
    permission: 'findings:read',
    addition: true,
    params: z.object({ export_id: opaqueIdInput('export') }),
    response: { status: 200, schema: FindingExport },
    errors: [],
  },
});
