import * as z from 'zod';
import { REPOSITORY_EXCLUSIONS, SCANNERS } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';

/**
 * What the scanner runner asks of the service. It holds no role over the account: it trades the
 * one-time claim from its task's environment for a token that is good for its own run alone.
 */
export const runnerGate = declareGroup('runner-gate', {
  claimRun: {
    family: 'B',
    method: 'POST',
    path: '/api/runner/claim',
    summary: 'Trade a one-time claim for the job and a token for it',
    permission: 'public',
    internal: true,
    addition: true,
    body: z.object({ org_id: z.uuid(), run_id: z.uuid(), claim: z.string().min(20).max(200) }),
    response: {
      status: 200,
      schema: z.object({
        token: z.string(),
        clone_url: z.string(),
        branch: z.string().nullable(),
        scanners: z.array(z.enum(SCANNERS)),
        fingerprint_key: z.string(),
        deadline: z.string(),
        allow_local: z.boolean(),
        /** Which private networks may be reached: none, all, or those in CIDR notation. */
        reachable: z.union([z.enum(['public', 'all']), z.array(z.string())]),
        repository_exclusions: z.enum(REPOSITORY_EXCLUSIONS),
        /** The request that asked for the scan: the runner's log lines carry it. */
        request_id: z.string().nullish(),
        /** For the log lines too. */
        scan_id: z.uuid().optional(),
        /** Addresses of the scanners' databases; at either there may be none. */
        databases: z.object({ grype: z.url().optional(), trivy: z.url().optional() }).optional(),
      }),
    },
    errors: ['unauthorized'],
  },
  reportProgress: {
    family: 'B',
    method: 'POST',
    path: '/api/runner/progress',
    summary: 'Record that the checkout or a scanner started or ended; answers whether to go on',
    permission: 'public',
    internal: true,
    addition: true,
    body: z.object({
      token: z.string().min(1).max(4096),
      event: z.discriminatedUnion('type', [
        z.object({ type: z.literal('heartbeat') }),
        z.object({
          type: z.literal('checkout'),
          commit: z.string().max(100),
          branch: z.string().max(255).nullable(),
          head_branch: z.string().max(255).nullable(),
        }),
        z.object({ type: z.literal('clone_failed'), message: z.string().max(2000) }),
        z.object({ type: z.literal('started'), scanner: z.enum(SCANNERS) }),
        z.object({
          type: z.literal('reported'),
          scanner: z.enum(SCANNERS),
          finding_count: z.int().min(0),
          duration_ms: z.number().min(0),
        }),
        z.object({
          type: z.literal('failed'),
          scanner: z.enum(SCANNERS),
          code: z.string().max(60),
          message: z.string().max(2000),
          duration_ms: z.number().min(0),
        }),
      ]),
    }),
    response: { status: 200, schema: z.object({ cancelled: z.boolean() }) },
    errors: ['token_invalid', 'token_expired'],
  },
  createReportUpload: {
    family: 'B',
    method: 'POST',
    path: '/api/runner/uploads',
    summary: 'A presigned address for one gzipped report of exactly the given size',
    permission: 'public',
    internal: true,
    addition: true,
    body: z.object({
      token: z.string().min(1).max(4096),
      scanner: z.enum(SCANNERS),
      bytes: z
        .int()
        .min(1)
        .max(100 * 1024 * 1024),
    }),
    response: {
      status: 200,
      schema: z.object({ url: z.string(), headers: z.record(z.string(), z.string()) }),
    },
    errors: ['token_invalid', 'token_expired', 'conflict'],
  },
});
