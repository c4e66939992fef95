import * as z from 'zod';
import { INTEGRATION_CONFIGS } from '#contract/schemas/integrations.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestampAfter } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { redactUrl } from '#domain/redacted-url.ts';
import { auditWrite } from './audit.ts';
import { integrationKey, integrationNameKey, integrationSecretsKey, integrationsPartition } from './keys.ts';
import type { Table, Write } from './table.ts';

const shared = {
  id: z.string(),
  name: z.string(),
  status: z.literal('active'),
  created_at: z.string(),
  updated_at: z.string(),
};
const IntegrationRecord = z.discriminatedUnion('type', [
  z.object({ ...shared, type: z.literal('github'), config: INTEGRATION_CONFIGS.github }),
  z.object({ ...shared, type: z.literal('jira'), config: INTEGRATION_CONFIGS.jira }),
  z.object({ ...shared, type: z.literal('webhook'), config: INTEGRATION_CONFIGS.webhook }),
]);
export type IntegrationRecord = z.infer<typeof IntegrationRecord>;

/**
 * A record as it may be seen. The whole URL of a webhook is sealed with its secrets, as `url`; records
 * from before that hold it themselves.
 */
export function withoutSecrets(record: IntegrationRecord): IntegrationRecord {
  if (record.type !== 'webhook') return record;
  return { ...record, config: { ...record.config, url: redactUrl(record.config.url) } };
}

interface IntegrationChange {
  readonly name?: string | undefined;
  /** Fields to replace; those of another type fall away. */
  readonly config?: object | undefined;
  /** All its secrets anew, sealed. */
  readonly sealed?: string | undefined;
}

export type IntegrationStore = ReturnType<typeof createIntegrationStore>;

/** Integrations. Their secrets come sealed, and are an item of their own, which no list reads. */
export function createIntegrationStore(table: Table) {
  return {
    /** @throws ServiceError not_found */
    async require(orgId: string, integrationId: string): Promise<IntegrationRecord> {
      const item = await table.get(integrationKey(orgId, integrationId));
      if (!item) throw notFound('integration');
      return IntegrationRecord.parse(item);
    },

    /** Every integration of the organization, the oldest first. */
    async list(orgId: string): Promise<IntegrationRecord[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': integrationsPartition(orgId) },
        ConsistentRead: true,
      });
      return items.map((item) => IntegrationRecord.parse(item));
    },

    /** Its secrets, sealed; null where it has none. */
    async readSealed(orgId: string, integrationId: string): Promise<string | null> {
      const item = await table.get(integrationSecretsKey(orgId, integrationId));
      return item && z.object({ sealed: z.string() }).parse(item).sealed;
    },

    /** @throws ServiceError already_exists */
    async create(
      orgId: string,
      record: IntegrationRecord,
      sealed: string | null,
      attribution: Attribution,
    ): Promise<void> {
      await table.transact([
        nameWrite(orgId, record),
        {
          Put: {
            Item: { ...integrationKey(orgId, record.id), ...record },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        ...(sealed === null ? [] : [secretsWrite(orgId, record.id, sealed)]),
        auditWrite(orgId, attribution, {
          action: 'integration.create',
          target: { type: 'integration', id: record.id },
          changes: {
            name: { after: record.name },
            type: { after: record.type },
            config: { after: withoutSecrets(record).config },
            ...(sealed !== null && { secrets: { after: 'set' } }),
          },
        }),
      ]);
    },

    /** @throws ServiceError already_exists, conflict (changed by someone else meanwhile) */
    async update(
      orgId: string,
      held: IntegrationRecord,
      change: IntegrationChange,
      attribution: Attribution,
    ): Promise<IntegrationRecord> {
      const next = IntegrationRecord.parse({
        ...held,
        name: change.name ?? held.name,
        config: { ...held.config, ...change.config },
        updated_at: timestampAfter(held.updated_at, attribution.at),
      });
      const changed = (['name', 'config'] as const).filter(
        (field) => JSON.stringify(next[field]) !== JSON.stringify(held[field]),
      );
      if (changed.length === 0 && change.sealed === undefined) return held;
      const [before, after] = [withoutSecrets(held), withoutSecrets(next)];
      await table.transact([
        ...renameWrites(orgId, held, next),
        {
          Put: {
            Item: { ...integrationKey(orgId, next.id), ...next },
            ConditionExpression: 'updated_at = :held',
            ExpressionAttributeValues: { ':held': held.updated_at },
          },
          otherwise: changedMeanwhile,
        },
        ...(change.sealed === undefined ? [] : [secretsWrite(orgId, held.id, change.sealed)]),
        auditWrite(orgId, attribution, {
          action: 'integration.update',
          target: { type: 'integration', id: held.id },
          changes: {
            ...Object.fromEntries(
              changed.map((field) => [field, { before: before[field], after: after[field] }]),
            ),
            ...(change.sealed !== undefined && { secrets: { after: 'set' } }),
          },
        }),
      ]);
      return next;
    },

    /** With its secrets. @throws ServiceError conflict (changed by someone else meanwhile) */
    async delete(orgId: string, held: IntegrationRecord, attribution: Attribution): Promise<void> {
      await table.transact([
        {
          Delete: {
            Key: integrationKey(orgId, held.id),
            ConditionExpression: 'updated_at = :held',
            ExpressionAttributeValues: { ':held': held.updated_at },
          },
          otherwise: changedMeanwhile,
        },
        { Delete: { Key: integrationNameKey(orgId, held.name) } },
        { Delete: { Key: integrationSecretsKey(orgId, held.id) } },
        auditWrite(orgId, attribution, {
          action: 'integration.delete',
          target: { type: 'integration', id: held.id },
          changes: { name: { before: held.name }, type: { before: held.type } },
        }),
      ]);
    },
  };
}

function changedMeanwhile(): ServiceError {
  return new ServiceError('conflict', 'The integration was changed by someone else meanwhile');
}

function secretsWrite(orgId: string, integrationId: string, sealed: string): Write {
  return { Put: { Item: { ...integrationSecretsKey(orgId, integrationId), sealed } } };
}

function nameWrite(orgId: string, record: IntegrationRecord): Write {
  return {
    Put: {
      Item: { ...integrationNameKey(orgId, record.name), id: record.id },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
    otherwise: () => new ServiceError('already_exists', `An integration with the name ${record.name} exists`),
  };
}

/** A change of case alone keeps the key, which holds nothing but the id. */
function renameWrites(orgId: string, held: IntegrationRecord, next: IntegrationRecord): Write[] {
  const from = integrationNameKey(orgId, held.name);
  if (from.sk === integrationNameKey(orgId, next.name).sk) return [];
  return [{ Delete: { Key: from } }, nameWrite(orgId, next)];
}
