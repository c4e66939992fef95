import * as z from 'zod';
import { SCANNERS } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import { BranchName, opaqueIdInput, Timestamp } from '../schemas/common.ts';
import { Scan } from '../schemas/records.ts';

const MEGABYTE = 1024 * 1024;

const importQuery = z.object({
  scanner: z
    .enum(SCANNERS)
    .optional()
    .meta({ description: 'Required where a SARIF driver is none of the four; its name is kept as `tool`' }),
  branch: BranchName.optional(),
});

/** What a presigned upload may hold (design 5). */
const MAX_UPLOAD = 100 * MEGABYTE;

const UPLOAD_TYPES = ['application/gzip', 'application/json', 'application/sarif+json'] as const;

const ImportUpload = z
  .object({
    /** Where the report goes, with exactly these headers; the import starts by itself then. */
    upload: z.object({
      method: z.literal('PUT'),
      url: z.string(),
      headers: z.record(z.string(), z.string()),
      expires_at: Timestamp,
    }),
    /** To follow: queued until the report has arrived. */
    scan: Scan,
  })
  .meta({ id: 'ImportUpload' });

const EXAMPLE = {
  version: '2.1.0',
  runs: [
    {
      tool: { driver: { name: 'Semgrep' } },
      results: [
        {
          ruleId: 'sql-injection',
          level: 'error',
          message: { text: 'User input reaches a query' },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: 'src/db.ts' },
                region: { startLine: 12 },
              },
            },
          ],
        },
      ],
    },
  ],
};

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
        'The report as it is; gzip as application/gzip. At most 4 MB as sent, 200 MB unpacked, 25,000 results a run and 64 MB of what is kept of them; it is read within 18 seconds.',
      maximumBytes: 4 * MEGABYTE,
      example: EXAMPLE,
      contentTypes: ['application/json', 'application/sarif+json', 'application/gzip'],
      wayOut:
        'send it as gzip with Content-Type: application/gzip, or by POST /api/assets/{asset_id}/findings/import-url',
    },
    response: { status: 202, schema: Scan },
    errors: ['conflict'],
  },
  createImportUrl: {
    family: 'B',
    method: 'POST',
    path: '/api/assets/{asset_id}/findings/import-url',
    summary:
      'A presigned upload for a larger report, up to 100 MB (200 MB unpacked), which starts the same import',
    permission: 'scans:write',
    addition: true,
    params: z.object({ asset_id: opaqueIdInput('asset') }),
    body: z
      .object({
        /** Of the file as it will be sent: the address takes exactly so many. */
        bytes: z.int().min(1).max(MAX_UPLOAD),
        content_type: z.enum(UPLOAD_TYPES).default('application/gzip'),
        scanner: z.enum(SCANNERS).optional(),
        branch: BranchName.optional(),
      })
      .meta({ id: 'ImportUploadRequest' }),
    response: { status: 202, schema: ImportUpload },
    errors: [],
  },
});
