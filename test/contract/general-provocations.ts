import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { ErrorCode } from '#contract/errors.ts';
import type { Operation } from '#contract/operation.ts';
import { ID_PREFIXES, type IdKind, toOpaque } from '#domain/ids.ts';
import { PERMISSIONS, type PermissionScope } from '#domain/vocabulary.ts';
import { type RawAnswer, request } from '#test/harness/http.ts';
import { FROM_ADDRESS } from '#test/harness/second-door.ts';
import type { StoreFault } from '#test/harness/troubled-store.ts';
import { NEEDED_QUERY, VALID } from './provocations.ts';
import type { Stage } from './stage.ts';

/** An id that nobody has, in the form of the parameter. */
function strangeId(operation: Operation, name: string): string {
  if (operation.family === 'A') return randomUUID();
  const kind = (name === 'repo_id' ? 'asset' : name.replace(/_id$/, '')) as IdKind;
  return kind in ID_PREFIXES ? toOpaque(kind, randomUUID()) : randomUUID();
}

function pathOf(operation: Operation, orgId: string): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'org_id' ? orgId : name === 'version' ? '1' : strangeId(operation, name),
  );
}

interface Sent {
  readonly orgId: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly text?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

/** Asks for what nobody has, unless the path names nothing but the organization. */
export function ask(operation: Operation, { orgId, query = '', body, text, ...rest }: Sent) {
  const hasBody = operation.method !== 'GET';
  return request(operation.method, `${pathOf(operation, orgId)}${query}`, {
    ...rest,
    ...(hasBody && body !== undefined && { body }),
    ...(hasBody && text !== undefined && { text }),
  });
}

/** A body of which every field is an object: of the wrong type, whatever it should be. */
function wrongBody(operation: Operation): unknown {
  const schema = operation.body && z.toJSONSchema(operation.body, { io: 'input', unrepresentable: 'any' });
  const root = schema?.$ref ? schema.$defs?.[schema.$ref.replace('#/$defs/', '')] : schema;
  const alternatives = (root?.anyOf ?? root?.oneOf ?? [root]) as { properties?: object }[];
  const names = alternatives.flatMap((one) => Object.keys(one?.properties ?? {}));
  return Object.fromEntries(names.map((name) => [name, { wrong: { type: 1 } }]));
}

/** A value of a query parameter that its schema refuses; null where every text will do. */
export function wrongQuery(operation: Operation): string | null {
  const schema = operation.query;
  for (const name of Object.keys(schema?.shape ?? {})) {
    for (const value of ['§', '']) {
      const parsed = schema?.safeParse({ [name]: value });
      if (parsed?.error?.issues.some((issue) => issue.path[0] === name))
        return `?${name}=${encodeURIComponent(value)}`;
    }
  }
  return null;
}

/** What makes a request pass all that is checked before the store is asked. */
async function validParts(operation: Operation, stage: Stage) {
  const body =
    operation.body || operation.upload ? await (VALID[operation.id]?.(stage.org) ?? {}) : undefined;
  return {
    query: NEEDED_QUERY[operation.id]?.() ?? '',
    ...(body !== undefined && { body }),
    ...(operation.permission !== 'public' && { key: stage.org.accessToken }),
  };
}

const scopeOf = (operation: Operation) => operation.permission as PermissionScope;
const isTickets = (operation: Operation) => ['tickets:read', 'tickets:write'].includes(scopeOf(operation));

type General = (operation: Operation, stage: Stage) => Promise<RawAnswer> | null;

const withCredential =
  (credential: (stage: Stage) => { key?: string }): General =>
  (operation, stage) =>
    operation.permission === 'public'
      ? null
      : ask(operation, { orgId: stage.org.orgId, ...credential(stage) });

/** Codes that are caused the same way wherever they are declared; null: not of this operation. */
export const GENERAL: Partial<Record<ErrorCode, General>> = {
  unauthorized: withCredential(() => ({})),
  token_invalid: withCredential(() => ({ key: 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA' })),
  token_expired: withCredential(({ expiredToken }) => ({ key: expiredToken })),
  api_key_revoked: withCredential(({ keys }) => ({ key: keys.revoked })),
  api_key_expired: withCredential(({ keys }) => ({ key: keys.expired })),
  insufficient_permissions: (operation, { org, keys }) => {
    const lacking = isTickets(operation) ? keys.scansOnly : keys.ticketsOnly;
    return ask(operation, {
      orgId: org.orgId,
      key: PERMISSIONS.includes(scopeOf(operation)) ? lacking : keys.admin,
    });
  },
  // Whose path names nothing but the organization: another organization's.
  not_found: async (operation, stage) => {
    const own = /\{(?!org_id\})\w+\}/.test(operation.path);
    const orgId = own ? stage.org.orgId : randomUUID();
    return ask(operation, { ...(await validParts(operation, stage)), orgId });
  },
  invalid_parameter: (operation, { org }) => {
    const query = wrongQuery(operation);
    return query === null ? null : ask(operation, { orgId: org.orgId, key: org.accessToken, query });
  },
  invalid_json: (operation, { org }) =>
    ask(operation, { orgId: org.orgId, key: org.accessToken, text: '{"a":' }),
  missing_field: (operation, { org }) => ask(operation, { orgId: org.orgId, key: org.accessToken, body: {} }),
  validation_error: (operation, { org }) =>
    ask(operation, { orgId: org.orgId, key: org.accessToken, body: wrongBody(operation) }),
  payload_too_large: (operation, { org }) => {
    const size = operation.upload ? 4_200_000 : 1_100_000;
    return ask(operation, {
      orgId: org.orgId,
      key: org.accessToken,
      text: `{"pad":"${'x'.repeat(size)}"}`,
    });
  },
  // Callers without an organization are counted by their address: one of their own, as other tests share ours.
  rate_limited: (operation, { crowded, crowdedAddress, door }) =>
    ask(operation, {
      orgId: crowded.orgId,
      ...(operation.permission === 'public'
        ? { url: door.url, headers: { [FROM_ADDRESS]: crowdedAddress } }
        : { key: crowded.accessToken }),
    }),
};

/** What the store answers to everything, for codes that no caller can cause. */
export const STORE_FAULTS: Partial<Record<ErrorCode, StoreFault>> = {
  internal_error: { status: 400, name: 'ResourceNotFoundException' },
  service_unavailable: { status: 500, name: 'InternalServerError' },
};

/** Requests at once under a fault: the client's own tries take their time. */
const AT_ONCE = 16;

/** Answers of every operation to a valid request while the store answers nothing but a fault. */
export async function askUnderFault(
  operations: readonly Operation[],
  fault: StoreFault,
  stage: Stage,
): Promise<ReadonlyMap<string, RawAnswer>> {
  // Made while the store is well: some need a session or a key.
  const prepared = await Promise.all(
    operations.map(async (operation) => ({ operation, parts: await validParts(operation, stage) })),
  );
  const answers = new Map<string, RawAnswer>();
  const work = async () => {
    for (let next = prepared.shift(); next; next = prepared.shift()) {
      const sent = { ...next.parts, orgId: stage.org.orgId, url: stage.door.url };
      answers.set(next.operation.id, await ask(next.operation, sent));
    }
  };
  await stage.door.store.during(
    async () => fault,
    () => Promise.all(Array.from({ length: AT_ONCE }, work)),
  );
  return answers;
}
