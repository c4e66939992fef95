import * as z from 'zod';
import { TIERS, type Tier } from '#domain/vocabulary.ts';
import { orgKey, rateKey } from './keys.ts';
import type { Table } from './table.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;

export interface RateCounts {
  readonly minute: number;
  readonly hour: number;
  /** Count of the endpoint's own window, where the request has one. */
  readonly endpoint: number | null;
  /** Tier of the organization; null for an address, or where the organization is gone. */
  readonly tier: Tier | null;
}

interface Endpoint {
  readonly counter: string;
  readonly window: 'minute' | 'hour';
}

export type RateCounterStore = ReturnType<typeof createRateCounterStore>;

/**
 * Fixed windows, aligned to the clock. One item holds an hour of a pool: the hour's count, one count
 * for each minute, those of endpoints, and the organization's tier. So one update counts and answers
 * everything; the hour's first request reads the tier in addition.
 */
export function createRateCounterStore(table: Table) {
  async function add(pool: string, now: number, endpoint: Endpoint | null) {
    const names = counterNames(now, endpoint);
    const item = await table.update({
      Key: rateKey(pool, Math.floor(now / HOUR)),
      UpdateExpression: `ADD #hour :one, #minute :one${endpoint ? ', #endpoint :one' : ''} SET expires_at = :ttl, tier = if_not_exists(tier, :none)`,
      ExpressionAttributeNames: {
        '#hour': names.hour,
        '#minute': names.minute,
        ...(endpoint && { '#endpoint': names.endpoint }),
      },
      ExpressionAttributeValues: { ':one': 1, ':ttl': Math.ceil(now / 1000) + 2 * 3600, ':none': '' },
      ReturnValues: 'UPDATED_NEW',
    });
    return z
      .object({ hour: z.number(), minute: z.number(), endpoint: z.number().nullable(), tier: z.string() })
      .parse({
        hour: item?.[names.hour],
        minute: item?.[names.minute],
        endpoint: endpoint ? item?.[names.endpoint] : null,
        tier: item?.tier,
      });
  }

  return {
    /** Counts one request of an organization. */
    async countOrganization(orgId: string, now: number, endpoint: Endpoint | null): Promise<RateCounts> {
      const counted = await add(orgId, now, endpoint);
      const known = z.enum(TIERS).safeParse(counted.tier);
      if (known.success) return { ...counted, tier: known.data };
      const organization = await table.get(orgKey(orgId));
      const tier = z
        .enum(TIERS)
        .nullable()
        .parse(organization?.deleted_at === undefined ? (organization?.tier ?? null) : null);
      if (tier) await this.setTier(orgId, tier, now);
      return { ...counted, tier };
    },

    /** Counts one request of an address, or of an address and e-mail together (as `pool`). */
    async countAddress(pool: string, now: number): Promise<RateCounts> {
      return { ...(await add(`ADDRESS#${pool}`, now, null)), tier: null };
    },

    /** Makes a tier count from the running hour on. */
    async setTier(orgId: string, tier: Tier, now: number): Promise<void> {
      await table.update({
        Key: rateKey(orgId, Math.floor(now / HOUR)),
        UpdateExpression: 'SET tier = :tier',
        ExpressionAttributeValues: { ':tier': tier },
      });
    },
  };
}

function counterNames(now: number, endpoint: Endpoint | null) {
  const minute = `m${Math.floor((now % HOUR) / MINUTE)}`;
  return {
    hour: 'h',
    minute,
    endpoint: endpoint ? `e_${endpoint.counter}${endpoint.window === 'minute' ? `_${minute}` : ''}` : '',
  };
}
