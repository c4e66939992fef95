import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { Source } from './source.ts';
import { Counts } from './usage.ts';

export const PRICE_NAMES = [
  'tableReads',
  'tableWrites',
  'tableStorage',
  'tableBackup',
  'lambdaRequests',
  'lambdaTime',
  'gateway',
  'transitions',
  'queues',
  'fargateCpu',
  'fargateMemory',
  'fargateDisk',
  'publicAddress',
  'bucketWrites',
  'bucketReads',
  'bucketStorage',
  'logIngestion',
  'logStorage',
  'alarms',
  'metrics',
  'keys',
  'keyRequests',
  'secrets',
  'secretRequests',
  'imageStorage',
  'notifications',
  'transferOut',
] as const;
export type PriceName = (typeof PRICE_NAMES)[number];

const Prices = z.strictObject({
  region: z.string(),
  lookedUpOn: z.iso.date(),
  terms: z.string(),
  prices: z.record(
    z.enum(PRICE_NAMES),
    z.strictObject({
      service: z.string(),
      usd: z.number().positive(),
      per: z.number().positive(),
      unit: z.string(),
      source: Source,
    }),
  ),
});
export type Prices = z.output<typeof Prices>;

export const COUNTS_FILE = fileURLToPath(new URL('counts.json', import.meta.url));

/** What `npm run measure` counted last. */
export function readCounts(): Counts {
  return Counts.parse(JSON.parse(readFileSync(COUNTS_FILE, 'utf8')));
}

/** List prices, their units, and where each was read. */
export function readPrices(): Prices {
  return Prices.parse(
    JSON.parse(readFileSync(fileURLToPath(new URL('prices.json', import.meta.url)), 'utf8')),
  );
}
