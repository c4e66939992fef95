import type * as z from 'zod';
import type { integrations } from '#contract/operations/integrations.ts';
import type { IntegrationCreate, IntegrationUpdate } from '#contract/schemas/integrations.ts';
import { type Clock, timestamp } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import { redactUrl } from '#domain/redacted-url.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { sortEntries, wholeOrPage } from '#http/paging.ts';
import type { HostCheck } from '#shared/network/named-hosts.ts';
import { type IntegrationSecrets, makeWebhookSecret, type Vault } from '#shared/security/vault.ts';
import { type IntegrationRecord, type IntegrationStore, withoutSecrets } from '#store/integrations.ts';
import { checkChange, checkCreation } from './check-configuration.ts';

export interface IntegrationDependencies {
  readonly integrations: IntegrationStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly mayUseHost: HostCheck;
}

export const integrationOperations: Implementations<typeof integrations.operations, IntegrationDependencies> =
  {
    async listIntegrations({ caller, query }, { integrations }) {
      const sorted = sortEntries(await integrations.list(caller.orgId), 'name');
      return wholeOrPage(sorted, query).map(withoutSecrets);
    },

    async createIntegration(input, dependencies) {
      const { caller, body } = input;
      const { integrations, vault, clock, ids } = dependencies;
      await checkCreation(body, dependencies.mayUseHost);
      const attribution = attributionOf(input, clock);
      const now = timestamp(attribution.at);
      const { own, secrets } = partsOf(body);
      const record: IntegrationRecord = {
        id: ids.next(),
        name: body.name,
        status: 'active',
        ...own,
        created_at: now,
        updated_at: now,
      };
      const sealed = secrets && (await vault.seal(caller.orgId, record.id, secrets));
      await integrations.create(caller.orgId, record, sealed, attribution);
      return record.type === 'webhook' ? { ...record, secret: secrets?.secret ?? '' } : record;
    },

    async getIntegration({ caller, params }, { integrations }) {
      return withoutSecrets(await integrations.require(caller.orgId, params.integration_id));
    },

    async updateIntegration(input, dependencies) {
      const { caller, params, body } = input;
      const { integrations, clock } = dependencies;
      const held = await integrations.require(caller.orgId, params.integration_id);
      await checkChange(held, body, dependencies.mayUseHost);
      const change = {
        name: body.name,
        ...(held.type === 'webhook'
          ? await readWebhookChange(caller.orgId, held, body, dependencies)
          : {
              config: body.config,
              sealed: await sealChange(caller.orgId, held, body.secrets ?? {}, dependencies),
            }),
      };
      return withoutSecrets(
        await integrations.update(caller.orgId, held, change, attributionOf(input, clock)),
      );
    },

    async deleteIntegration(input, { integrations, clock }) {
      const { caller, params } = input;
      const held = await integrations.require(caller.orgId, params.integration_id);
      await integrations.delete(caller.orgId, held, attributionOf(input, clock));
      return { id: held.id, deleted: true };
    },
  };

/** What of a new integration is kept as it is, and what is sealed. */
function partsOf(body: z.output<typeof IntegrationCreate>) {
  switch (body.type) {
    case 'github':
      return { own: { type: body.type, config: body.config }, secrets: null };
    case 'jira':
      return { own: { type: body.type, config: body.config }, secrets: withoutNulls(body.secrets) };
    case 'webhook': {
      const { url } = body.config;
      return {
        own: { type: body.type, config: { ...body.config, url: redactUrl(url) } },
        secrets: { secret: makeWebhookSecret(), url },
      };
    }
  }
}

type Update = z.output<typeof IntegrationUpdate>;

/** The URL of a webhook counts as changed where it is neither the one that is kept, nor how that is shown. */
async function readWebhookChange(
  orgId: string,
  held: IntegrationRecord & { readonly type: 'webhook' },
  { config = {} }: Update,
  dependencies: IntegrationDependencies,
) {
  const { url, ...others } = config;
  if (url === undefined || url === redactUrl(held.config.url)) return { config: others };
  const kept = await openSecrets(orgId, held.id, dependencies);
  if (url === kept.url) return { config: others };
  return {
    config: { ...others, url: redactUrl(url) },
    sealed: await dependencies.vault.seal(orgId, held.id, { ...kept, url }),
  };
}

/** The secrets that a change leaves, sealed; undefined where it is about none. */
async function sealChange(
  orgId: string,
  held: IntegrationRecord,
  change: NonNullable<Update['secrets']>,
  dependencies: IntegrationDependencies,
): Promise<string | undefined> {
  if (Object.keys(change).length === 0) return undefined;
  const kept = await openSecrets(orgId, held.id, dependencies);
  return dependencies.vault.seal(orgId, held.id, withoutNulls({ ...kept, ...change }));
}

async function openSecrets(
  orgId: string,
  integrationId: string,
  { integrations, vault }: IntegrationDependencies,
): Promise<IntegrationSecrets> {
  const sealed = await integrations.readSealed(orgId, integrationId);
  return sealed === null ? {} : vault.open(orgId, integrationId, sealed);
}

function withoutNulls(secrets: Readonly<Record<string, string | null | undefined>>): IntegrationSecrets {
  return Object.fromEntries(
    Object.entries(secrets).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
