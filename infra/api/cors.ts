import * as z from 'zod';
import type { Method } from '#contract/operation.ts';
import { isOfThisMachine } from '#shared/config.ts';

/** What pages of other origins may do, as the deployed gateway and the embedded one have it (docs/decisions.md). */
export interface CorsPolicy {
  readonly origins: readonly string[];
  readonly methods: readonly Method[];
  /** Headers that callers send. */
  readonly allowHeaders: readonly string[];
  /** Headers of answers that a page may read, beside those that every page may. */
  readonly exposeHeaders: readonly string[];
  /** How long a browser may remember the answer to a preflight; two hours are the most that Chromium does. */
  readonly maxAgeSeconds: number;
}

/** Any origin. */
export const ANY_ORIGIN = '*';

/** As a browser writes it in `Origin`: compared letter by letter, so that another spelling would never fit. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  // To API Gateway, `https://*` would be everybody with TLS.
  if (url === null || url.origin !== text || text.includes('*')) return false;
  return url.protocol === 'https:' || isOfThisMachine(text);
}

/** Origins from text, separated by commas: https, or http on this very machine; `*` alone is all of them. */
export const CorsOrigins = z
  .string()
  .transform((text) => text.split(',').flatMap((origin) => origin.trim() || []))
  .refine(
    (origins) => (origins.length === 1 && origins[0] === ANY_ORIGIN) || origins.every(isOrigin),
    'must be * alone, or origins such as https://app.example.com, separated by commas, without a path',
  );

export function corsPolicy(origins: readonly string[]): CorsPolicy {
  return {
    origins,
    methods: ['DELETE', 'GET', 'PATCH', 'POST'],
    allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'x-api-key', 'x-org-api-key'],
    exposeHeaders: [
      'allow',
      'retry-after',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'x-request-id',
    ],
    maxAgeSeconds: 7200,
  };
}
