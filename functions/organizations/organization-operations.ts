import type { organizations } from '#contract/operations/organizations.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { readId, toOpaque } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import { passwordOf, type UserCaller } from '#http/caller.ts';
import type { Implementations } from '#http/chain.ts';
import { logError } from '#shared/log.ts';
import { presentAuditEntry } from '#shared/presenters/audit-entry.ts';
import type { OrganizationRecord } from '#store/organizations.ts';
import type { OrganizationDependencies } from './dependencies.ts';

type Operations = Pick<
  typeof organizations.operations,
  | 'createOrganization'
  | 'deleteOrganization'
  | 'getOrganization'
  | 'updateOrganization'
  | 'getOwnOrganization'
  | 'listAuditLog'
>;

export const organizationOperations: Implementations<Operations, OrganizationDependencies> = {
  async createOrganization(input, { organizations, clock, ids, defaultTier, creation }) {
    const { caller, body } = input;
    refuseCreation(caller, creation.by);
    const id = ids.next();
    return organizations.createOrganization(
      { id, name: body.name, slug: body.slug ?? slugOf(body.name, id), tier: defaultTier },
      { userId: caller.id, password: passwordOf(caller), most: creation.most },
      attributionOf(input, clock),
    );
  },

  async getOrganization({ caller }, dependencies) {
    return requireOrganization(caller.orgId, dependencies);
  },

  async updateOrganization(input, dependencies) {
    const { caller, body } = input;
    const held = await requireOrganization(caller.orgId, dependencies);
    const { sla_days, ...settings } = body.settings ?? {};
    const change = {
      name: body.name ?? held.name,
      settings: {
        ...held.settings,
        ...definedOf(settings),
        sla_days: { ...held.settings.sla_days, ...definedOf(sla_days ?? {}) },
      },
    };
    return dependencies.organizations.updateOrganization(
      held,
      change,
      attributionOf(input, dependencies.clock),
    );
  },

  /** Accepted at once; where the message is lost, the sweep sends it again. */
  async deleteOrganization(input, dependencies) {
    const { caller } = input;
    const { purge, deletions, clock } = dependencies;
    const held = await requireOrganization(caller.orgId, dependencies);
    await purge.begin(held.id, held.slug, attributionOf(input, clock));
    await deletions.send({ kind: 'organization', org_id: held.id }).catch((error: unknown) => {
      logError('deletion not sent; the sweep will', error, { org_id: held.id });
    });
    return { id: held.id, deleted: true };
  },

  async getOwnOrganization({ caller }, dependencies) {
    const organization = await requireOrganization(caller.orgId, dependencies);
    return { ...organization, id: toOpaque('organization', organization.id) };
  },

  async listAuditLog({ caller, query }, { auditLog }) {
    const skip = (query.page - 1) * query.per_page;
    const { entries, total } = await auditLog.list(
      caller.orgId,
      {
        actor: query.actor === undefined ? undefined : { id: idOf(query.actor), name: query.actor },
        action: query.action,
        targetId: query.target_id === undefined ? undefined : idOf(query.target_id),
        from: query.from === undefined ? undefined : Date.parse(query.from),
        to: query.to === undefined ? undefined : Date.parse(query.to),
      },
      query.sort.startsWith('-'),
      skip,
      query.per_page,
    );
    const pagination = { page: query.page, per_page: query.per_page, total };
    return { data: entries.map(presentAuditEntry), pagination };
  },
};

/** @throws ServiceError insufficient_permissions */
function refuseCreation(caller: UserCaller, by: OrganizationDependencies['creation']['by']): void {
  const refused = (why: string) => new ServiceError('insufficient_permissions', why);
  if (by === 'operator') throw refused('Only the operator of the service makes organizations');
  if (by === 'admins' && caller.role !== 'Admin') throw refused('Only admins of an organization make others');
  // It would be open to nobody: the provider does not speak for it.
  if (caller.reach) throw refused('Your identity provider speaks for other organizations only');
}

/** Entries keep UUIDs; a filter names one in either family's form. */
function idOf(text: string): string {
  return readId(text) ?? text;
}

async function requireOrganization(
  orgId: string,
  { organizations }: OrganizationDependencies,
): Promise<OrganizationRecord> {
  const organization = await organizations.getOrganization(orgId);
  if (!organization) throw notFound('organization');
  return organization;
}

/** A slug from the name; the id's last digits make it unlikely to be taken. */
function slugOf(name: string, id: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return `${words.slice(0, 40) || 'org'}-${id.slice(-8)}`.replaceAll(/-{2,}/g, '-');
}

/** What was sent: an absent setting stays as it is. */
function definedOf<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
