import * as z from 'zod';
import { SCANNERS } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import { BranchName, opaqueIdInput } from '../schemas/common.ts';
import { Scan } from '../schemas/records.ts';

const MEGABYTE = 1024 * 1024;

const importQuery = z.object({
  scanner: z
    .enum(SCANNERS)
    .optional()
    .meta({ description: 'Required where a SARIF driver is none of the four; its name is kept as `tool`' }),
  branch: BranchName.optional(),
});

export const imports = declareGroup('imports', {
  importFindings: {
    family: 'B',
    method: 'POST',
    path: '/api/assets/{asset_id}/findings/import',
    summary: 'Import a report as a complete run: SARIF 2.1.0, or the JSON of one of the scanners',
    permission: 'scans:write',
    addition: true,
    params: z.object({ asset_id: opaqueIdInput('asset') }),
    query: importQuery,
    upload: {
      description:
        'The report as it is; gzip as application/gzip. At most 4 MB as sent and 25,000 results a run.',
      maximumBytes: 4 * MEGABYTE,
      contentTypes: ['application/json', 'application/sarif+json', 'application/gzip'],
      wayOut: 'send it as gzip with Content-Type: application/gzip',
    },
    response: { status: 202, schema: Scan },
    errors: ['conflict'],
  },
});
