import type { Tier } from '#domain/vocabulary.ts';

/** Limits of a tier: both tables of the specification ("Limits") apply, each to its own thing (design 4). */
export interface TierLimits {
  readonly requestsPerMinute: number;
  readonly requestsPerHour: number;
  /** Scans of the organization that run at once. */
  readonly concurrentScans: number;
  /** Scanner processes of the organization that run at once, over all its scans. */
  readonly concurrentScanners: number;
  /** Scans that may wait. */
  readonly scanQueue: number;
  /** A scan is ended after this long. */
  readonly maxScanMinutes: number;
}

export const TIER_LIMITS: Record<Tier, TierLimits> = {
  free: {
    requestsPerMinute: 60,
    requestsPerHour: 1000,
    concurrentScans: 1,
    concurrentScanners: 5,
    scanQueue: 100,
    maxScanMinutes: 30,
  },
  pro: {
    requestsPerMinute: 300,
    requestsPerHour: 10_000,
    concurrentScans: 5,
    concurrentScanners: 15,
    scanQueue: 300,
    maxScanMinutes: 60,
  },
  enterprise: {
    requestsPerMinute: 1000,
    requestsPerHour: 50_000,
    concurrentScans: 20,
    concurrentScanners: 100,
    scanQueue: 1000,
    maxScanMinutes: 600,
  },
};

/** Callers without an organization are counted by address. Spec silent: design 4. */
export const ADDRESS_REQUESTS_PER_MINUTE = 600;

/** Login: by address and e-mail together (the specification's 10 a minute), and by address alone. */
export const LOGIN_LIMITS = { perAddressAndEmail: 10, perAddress: 100 } as const;

interface EndpointLimit {
  readonly method: string;
  readonly path: string;
  /** Short name of the counter; part of the stored attribute. */
  readonly counter: string;
  readonly window: 'minute' | 'hour';
  readonly limit: Record<Tier, number>;
}

/** Limits of single operations, on top of the tier's ("Endpoint-specific limits"); login has its own above. */
export const ENDPOINT_LIMITS: readonly EndpointLimit[] = [
  {
    method: 'POST',
    path: '/api/scans',
    counter: 'scans',
    window: 'hour',
    limit: { free: 10, pro: 50, enterprise: 200 },
  },
  {
    method: 'POST',
    path: '/api/tickets/generate',
    counter: 'tickets',
    window: 'hour',
    limit: { free: 20, pro: 20, enterprise: 20 },
  },
  {
    method: 'POST',
    path: '/api/policies/evaluate',
    counter: 'evaluate',
    window: 'minute',
    limit: { free: 120, pro: 120, enterprise: 120 },
  },
];

export const TOKEN_LIFETIMES = { accessSeconds: 3600, refreshSeconds: 7 * 24 * 3600 } as const;
